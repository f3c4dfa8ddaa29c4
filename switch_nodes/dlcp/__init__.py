"""The switch program beside DLCP: sums of whoever came in time, on their way to the server."""

from switch_nodes.dlcp.program import DlcpProgram

__all__ = ["DlcpProgram"]
