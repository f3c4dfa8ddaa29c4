"""A node dies, and perhaps restarts with empty state."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.faults.base import NodeFault, Window
from testbed.faults.kind import Dice, Drawn, FaultKind

__all__ = ["KIND", "Kill"]


@dataclass(frozen=True, slots=True)
class Kill(NodeFault):
    """The node dies at window.start_ns and, when window.stop_ns is set, restarts with empty state then."""


def _draw(dice: Dice, name: str) -> Kill:
    start = dice.draw.randrange(8 * dice.travel)
    back = None if dice.draw.random() < 0.4 else start + 1 + dice.draw.randrange(2 * max(1, dice.rto))
    return Kill(name, dice.node(), Window(start, back))


KIND = FaultKind(
    word="kill",
    value=Kill,
    meaning="a node dies, and perhaps restarts with empty state",
    page="the node dies at `from`; with `until` it restarts then, with empty memory",
    healing="the node restarts with empty state",
    drawn=Drawn(_draw, roce=3, datagrams=3, grid=5, once=True),
)
