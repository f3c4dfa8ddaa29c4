"""How many frames the kernel keeps for the end of a link, and whether it serves layer classes there."""

from __future__ import annotations

from topologies import Link, Node, Role

__all__ = ["room", "serves_classes"]

_NEVER_FULL = 1_000
"""of a node that releases frames at the rate of the link by itself"""


def room(node: Node, link: Link, *, lossless: bool) -> int:
    """Frames that may wait at an end of a link. The queue of a switch that trims has its reserve behind it. A queue
    that knows classes keeps the limit itself, so that the kernel has none to fall below by a frame."""
    if lossless:
        return _NEVER_FULL
    if node.role is not Role.SWITCH:
        return link.shape.queue_packets
    return (2 if link.shape.knows_classes else 1) * link.shape.queue_packets + link.shape.reserve_packets


def serves_classes(node: Node, link: Link, *, lossless: bool) -> bool:
    """Whether the kernel has a queue for each layer class."""
    return not lossless and node.role is Role.SWITCH and link.shape.serves_classes
