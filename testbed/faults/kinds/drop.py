"""What matches is lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from testbed.faults.base import Match, MatchType, PacketFault
from testbed.faults.kind import Drawn, FaultKind
from testbed.faults.kinds.loss import lose
from testbed.reading.sections import Key

__all__ = ["KIND", "Drop"]


@dataclass(frozen=True, slots=True)
class Drop(PacketFault):
    """Drop what matches (rate 1 unless given)."""

    match: Annotated[Match, MatchType(), Key(required=True)] = Match()
    """which packets; `{}` is all of them"""

    def left_out(self) -> tuple[str, ...]:
        return ()


KIND = FaultKind(
    word="drop",
    value=Drop,
    meaning="what matches is lost",
    page="what matches is lost; `match` is required",
    healing="frames pass again; RC resends what was lost",
    act=lose,
    native=3,
    why_not_in_kernel=lambda fault: None,
    one_figure=True,
    takes_away=True,
    drawn=Drawn(roce=16, datagrams=14, grid=15),
)
