"""Program `esa`, one of the policies of `switch_nodes.aggregators`."""
