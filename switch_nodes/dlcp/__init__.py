"""The switch program of DLCP: sums of the contributions that came in time, on their way to the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from switch_nodes.dlcp.program import DlcpProgram

__all__ = [
    "DlcpProgram",
]

__getattr__ = lazily(__name__, dict.fromkeys(__all__, ".program"))
