"""A lab of remote hosts and FPGA cards, reached by SSH: its inventory, connections and leases (at the agents). Also an
emulated lab on this machine."""
