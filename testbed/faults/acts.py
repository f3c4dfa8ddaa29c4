"""What the faults of one link direction do to a packet, one after the other.

An act (`testbed.faults.kind`) returns the copies that go on, or None when the dice spared this one. Faults are asked in
the order of the scenario. Every copy that one lets through goes on to the next, and a copy has dice of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from testbed.faults.base import PacketFault
from testbed.faults.copies import COPY_BITS
from testbed.faults.kind import Act
from testbed.faults.kinds import record_of

__all__ = ["act_of", "copy_bits"]


def act_of(fault: PacketFault) -> Act:
    act = record_of(fault).act
    assert act is not None, f"{fault.name} hits no packets"
    return act


def copy_bits(faults: Iterable[PacketFault]) -> list[int]:
    """For each fault of a link direction, in order, the bit of the copies it makes; 0 for those that make none."""
    bits, makers = [], 0
    for fault in faults:
        makes = record_of(fault).makes_copies
        bits.append(1 << makers % COPY_BITS if makes else 0)
        makers += makes
    return bits
