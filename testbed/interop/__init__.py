"""Unmodified RoCE endpoints: the stock Linux rdma_rxe stack in a virtual machine, its wires on our switch node."""
