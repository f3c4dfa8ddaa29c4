"""What the explanation of a stall asks of a protocol (`Protocol.waits`)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NodeWait"]


@dataclass(frozen=True, slots=True)
class NodeWait:
    """One thing that a node waits for."""

    node: str
    what: str
    """words that follow `waits for`, as `the result of block 3`"""
    of: str
    """the node that must act; the node itself where only its own timer can"""
    timer_ns: int | None = None
    """when the node acts if nothing comes, in ns since the start of the traffic; None: it has no timer for this"""
