"""A link has another rate for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from testbed.faults.base import LinkFault
from testbed.faults.kind import Dice, Drawn, FaultKind
from testbed.reading.fields import BandwidthKey
from testbed.reading.sections import Key

__all__ = ["KIND", "RateChange"]


@dataclass(frozen=True, slots=True)
class RateChange(LinkFault):
    """The links' rate during the window."""

    rate_bps: Annotated[BandwidthKey, Key(required=True)] = 0
    """the rate"""


def _draw(dice: Dice, name: str) -> RateChange:
    links, directions = dice.where()
    rate = dice.slowest_bps(links)
    return RateChange(name, links, directions, dice.window(), max(1_000_000, rate // dice.draw.choice((2, 2, 4))))


KIND = FaultKind(
    word="rate_change",
    value=RateChange,
    meaning="the link has another rate for a while",
    page="the link has another rate",
    healing="the link gets its own rate back",
    one_figure=True,
    drawn=Drawn(_draw, roce=4, datagrams=4, grid=4, once=True),
)
