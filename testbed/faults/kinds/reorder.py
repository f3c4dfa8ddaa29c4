"""A packet is held back, and others overtake it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from testbed.faults.base import PacketFault
from testbed.faults.copies import Copies, Copy, Seen, strikes
from testbed.faults.kind import Dice, Drawn, FaultKind
from testbed.reading.fields import DurationKey

__all__ = ["KIND", "Reorder"]


@dataclass(frozen=True, slots=True)
class Reorder(PacketFault):
    """Hold the packet back so that later ones overtake it."""

    delay_ns: DurationKey = 3_000_000
    """how long it is held back"""


def _act(fault: Reorder, stream: int, seen: Seen, copy: Copy, _: int) -> Copies:
    if not strikes(fault, stream, seen, copy):
        return None
    return (replace(copy, held_ns=copy.held_ns + fault.delay_ns),)


def _draw(dice: Dice, name: str) -> Reorder:
    return Reorder(name, *dice.where(), dice.maybe(), dice.match(), dice.rate(0.02, 0.6), dice.hold(16))


KIND = FaultKind(
    word="reorder",
    value=Reorder,
    meaning="a packet is held back, others overtake it",
    page="the packet is held back, others overtake it",
    healing="packets that are still held leave after their delay; RC senders resend what receivers refused meanwhile",
    act=_act,
    native=6,
    why_not_in_kernel=lambda fault: "eBPF cannot hold a packet back",
    is_overtaken=True,
    drawn=Drawn(_draw, roce=9, datagrams=12, grid=12),
)
