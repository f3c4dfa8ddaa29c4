"""A lab of remote hosts and FPGA cards, reached by SSH: what it is (inventory), how it is reached (ssh), who may use it
(leases, at the agents), and one that this machine stands in for (emulated)."""
