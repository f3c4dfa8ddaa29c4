"""A frame that no host sends comes in addition to the packet that it was made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from testbed.faults.base import PacketFault
from testbed.faults.copies import Copies, Copy, Seen, strikes
from testbed.faults.forge import FORGERIES, forge
from testbed.faults.identity import NOT_ROCE
from testbed.faults.kind import Drawn, FaultKind
from testbed.reading.fields import BoolKey, DurationKey, choice
from testbed.reading.sections import Key

__all__ = ["KIND", "Forge"]


@dataclass(frozen=True, slots=True)
class Forge(PacketFault):
    """A frame that is made of the packet, and that no host sends, comes in addition to it."""

    what: Annotated[str, choice(FORGERIES), Key(required=True)] = "foreign"
    """what is made of the packet, see below"""
    before: BoolKey = False
    """it comes right before the packet instead of behind it"""
    delay_ns: DurationKey = 0
    """how much later it comes"""


def _act(fault: Forge, stream: int, seen: Seen, copy: Copy, bit: int) -> Copies:
    if seen.identity.opcode == NOT_ROCE or not strikes(fault, stream, seen, copy):
        return None
    frame = forge(fault.what, copy.frame)
    if frame is None:
        return None
    forged = replace(copy, frame=frame, number=copy.number | bit, held_ns=copy.held_ns + fault.delay_ns)
    return (forged, copy) if fault.before else (copy, forged)


KIND = FaultKind(
    word="forge",
    value=Forge,
    meaning="a frame that no host sends comes in addition to the packet",
    page="a frame that no host sends, made of the packet, comes in addition to it (the packet itself goes on unharmed)",
    healing="no more forged frames; what they broke stays broken",
    act=_act,
    native=10,
    why_not_in_kernel=lambda fault: "eBPF makes no frames",
    makes_copies=True,
    drawn=Drawn(roce=10),
)
