"""Program `atp`, one of the policies of `switch_nodes.aggregators`."""
