"""Each matching packet is lost with a probability, independent of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from testbed.faults.base import PacketFault
from testbed.faults.copies import Copies, Copy, Seen, strikes
from testbed.faults.kind import Dice, Drawn, FaultKind
from testbed.reading.fields import ProbabilityKey
from testbed.reading.sections import Key
from testbed.reading.units import format_probability

__all__ = ["KIND", "Loss", "lose"]


@dataclass(frozen=True, slots=True)
class Loss(PacketFault):
    """Independent loss at `rate`."""

    rate: Annotated[ProbabilityKey, Key(required=True, title="Packet loss rate")] = 1.0
    """probability that a matching packet is lost"""


def lose(fault: PacketFault, stream: int, seen: Seen, copy: Copy, _: int) -> Copies:
    return () if strikes(fault, stream, seen, copy) else None


def _draw(dice: Dice, name: str) -> Loss:
    return Loss(name, *dice.where(), dice.window(), dice.match(), dice.rate(0.02, 0.7))


KIND = FaultKind(
    word="loss",
    value=Loss,
    meaning="each matching packet is lost with a probability",
    page="each matching packet is lost with probability `rate`",
    healing="frames pass again; RC resends what was lost",
    act=lose,
    native=1,
    why_not_in_kernel=lambda fault: None,
    one_figure=True,
    describe=lambda fault: format_probability(fault.rate),
    takes_away=True,
    drawn=Drawn(_draw, roce=16, datagrams=20, grid=20, once=True),
)
