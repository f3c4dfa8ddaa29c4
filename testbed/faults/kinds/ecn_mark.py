"""Congestion experienced (CE) is set in the IP header."""

from __future__ import annotations

from dataclasses import dataclass, replace

from testbed.faults.base import PacketFault
from testbed.faults.copies import Copies, Copy, Seen, strikes
from testbed.faults.identity import NOT_ROCE
from testbed.faults.kind import Dice, Drawn, FaultKind
from workloads.wire.ecn import mark_ce

__all__ = ["KIND", "EcnMark"]


@dataclass(frozen=True, slots=True)
class EcnMark(PacketFault):
    """Set CE in the IP header of an ECN-capable packet."""


def _act(fault: EcnMark, stream: int, seen: Seen, copy: Copy, _: int) -> Copies:
    if seen.identity.opcode == NOT_ROCE or not strikes(fault, stream, seen, copy):
        return None
    marked = mark_ce(copy.frame)
    return None if marked is None else (replace(copy, frame=marked),)


def _draw(dice: Dice, name: str) -> EcnMark:
    return EcnMark(name, *dice.where(), dice.maybe(), dice.match(), dice.rate(0.05, 1.0))


KIND = FaultKind(
    word="ecn_mark",
    value=EcnMark,
    meaning="CE is set in the IP header",
    page='"congestion experienced" is set',
    healing="frames keep their ECN field",
    act=_act,
    native=8,
    why_not_in_kernel=lambda fault: None,
    drawn=Drawn(_draw, roce=4),
)
