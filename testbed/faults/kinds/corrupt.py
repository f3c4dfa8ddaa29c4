"""One bit of a packet flips."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from testbed.faults.base import PacketFault
from testbed.faults.copies import Copies, Copy, Seen, strikes
from testbed.faults.decide import Purpose, draw
from testbed.faults.identity import NOT_ROCE
from testbed.faults.kind import Drawn, FaultKind
from testbed.reading.fields import BoolKey, whole
from workloads.wire.damage import flip_bit

__all__ = ["KIND", "Corrupt"]


@dataclass(frozen=True, slots=True)
class Corrupt(PacketFault):
    """Flip one payload bit (of a packet without payload: of its transport header)."""

    repair_icrc: BoolKey = False
    """recompute the iCRC, so that the damage looks genuine"""
    bit: Annotated[int | None, whole(0, 4096 * 8 - 1)] = None
    """which bit of the payload; without it, the seed chooses"""


def _act(fault: Corrupt, stream: int, seen: Seen, copy: Copy, _: int) -> Copies:
    if seen.identity.opcode == NOT_ROCE or not strikes(fault, stream, seen, copy):
        return None
    bit = fault.bit
    if bit is None:
        bit = draw(stream, seen.identity.key, seen.occurrence, copy.number, Purpose.BIT) >> 32
    who = seen.identity
    frame = flip_bit(copy.frame, who.opcode, who.transport_at, who.end, bit, repair_icrc=fault.repair_icrc)
    return (replace(copy, frame=frame),)


KIND = FaultKind(
    word="corrupt",
    value=Corrupt,
    meaning="one bit flips, with or without a repaired iCRC",
    page="one bit flips",
    healing="frames pass unaltered; a stale iCRC makes the receiver drop, then RC resends; a repaired one stays",
    act=_act,
    native=4,
    rule=lambda fault: {} if fault.bit is None else {"bit": fault.bit},
    why_not_in_kernel=lambda fault: "eBPF does not recompute an iCRC" if fault.repair_icrc else None,
    takes_away=True,
    drawn=Drawn(roce=9),
)
