"""Each packet whose number is a multiple of some number is lost, when it first comes by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from testbed.faults.base import PacketFault
from testbed.faults.copies import Copies, Copy, Seen
from testbed.faults.identity import NOT_ROCE
from testbed.faults.kind import Dice, Drawn, FaultKind
from testbed.reading.fields import whole
from testbed.reading.sections import NO_KEY

__all__ = ["KIND", "Every"]


@dataclass(frozen=True, slots=True)
class Every(PacketFault):
    """Lose each packet whose PSN is a multiple of `number`; its repetition passes."""

    rate: Annotated[float, NO_KEY] = 1.0
    number: Annotated[int, whole(2, 1_000_000)] = 16
    """packets whose PSN is a multiple of it are lost"""


def _act(fault: Every, stream: int, seen: Seen, copy: Copy, _: int) -> Copies:
    passes = seen.identity.opcode == NOT_ROCE or seen.occurrence > 1 or seen.identity.psn % fault.number
    return None if passes else ()


def _draw(dice: Dice, name: str) -> Every:
    return Every(name, *dice.where(), dice.window(), dice.match(), number=dice.draw.randint(4, 64))


KIND = FaultKind(
    word="every",
    value=Every,
    meaning="each packet whose PSN is a multiple of a number is lost once",
    healing="frames pass again; RC resends what was lost",
    act=_act,
    takes_away=True,
    drawn=Drawn(_draw, roce=10),
)
