"""L2 forwarding: the program, the same in C, and the queue of frames that both fill."""

from switch_nodes.forwarding.program import ForwardProgram, MacTable, is_link_local

__all__ = ["ForwardProgram", "MacTable", "is_link_local"]
