"""A second copy of a packet is delivered."""

from __future__ import annotations

from dataclasses import dataclass, replace

from testbed.faults.base import PacketFault
from testbed.faults.copies import Copies, Copy, Seen, strikes
from testbed.faults.kind import Drawn, FaultKind
from testbed.reading.fields import DurationKey

__all__ = ["KIND", "Duplicate"]


@dataclass(frozen=True, slots=True)
class Duplicate(PacketFault):
    """Deliver a second copy."""

    delay_ns: DurationKey = 0
    """how much later the copy comes"""


def _act(fault: Duplicate, stream: int, seen: Seen, copy: Copy, bit: int) -> Copies:
    if not strikes(fault, stream, seen, copy):
        return None
    return copy, replace(copy, number=copy.number | bit, held_ns=copy.held_ns + fault.delay_ns)


KIND = FaultKind(
    word="duplicate",
    value=Duplicate,
    meaning="a second copy is delivered",
    healing="no more copies; the receiver ignores the ones that came",
    act=_act,
    native=5,
    why_not_in_kernel=lambda fault: "eBPF cannot hold a packet back" if fault.delay_ns else None,
    makes_copies=True,
    drawn=Drawn(roce=12, datagrams=17, grid=19),
)
