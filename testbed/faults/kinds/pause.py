"""A node stands still for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from testbed.faults.base import NodeFault, Window
from testbed.faults.kind import Dice, Drawn, FaultKind
from testbed.reading.sections import Key

__all__ = ["KIND", "Pause"]


@dataclass(frozen=True, slots=True)
class Pause(NodeFault):
    """The node stands still during the window."""

    window: Annotated[Window, Key(flat=True, needs=("until",))] = Window()


def _draw(dice: Dice, name: str) -> Pause:
    return Pause(name, dice.node(), dice.window())


KIND = FaultKind(
    word="pause",
    value=Pause,
    meaning="a node stands still for a while",
    page="the node stands still from `from` to `until` (required)",
    healing="the node goes on where it stood",
    drawn=Drawn(_draw, roce=6, datagrams=8, grid=6, once=True),
)
