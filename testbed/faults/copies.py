"""A packet on its way through the faults of a link: the copies of it, and whether the dice of a fault hit one."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.faults.base import PacketFault
from testbed.faults.decide import below, draw, threshold
from testbed.faults.identity import Identity

__all__ = ["COPY_BITS", "Copies", "Copy", "Seen", "jittered", "strikes"]

COPY_BITS = 16
"""width of a copy's number in a draw"""


@dataclass(frozen=True, slots=True)
class Seen:
    """The packet that came, as all its copies share it."""

    identity: Identity
    occurrence: int


@dataclass(frozen=True, slots=True)
class Copy:
    frame: bytes
    number: int = 0
    """0: the packet that came; else one bit for each Duplicate or Forge that it came from. So the number of a copy does
    not depend on the fate of other copies"""
    delay_ns: int = 0
    """delay in order: later frames wait behind it"""
    held_ns: int = 0
    """out of order: later frames overtake it"""


Copies = tuple[Copy, ...] | None
"""copies that go on; None: the dice spared this one"""


def jittered(delay_ns: int, jitter_ns: int, number: int) -> int:
    """`delay_ns` moved by -jitter .. +jitter, uniformly by a 64-bit draw; never below zero."""
    return max(0, delay_ns - jitter_ns + (number * (2 * jitter_ns + 1) >> 64))


def strikes(fault: PacketFault, stream: int, seen: Seen, copy: Copy) -> bool:
    if fault.rate >= 1.0:
        return True
    return below(draw(stream, seen.identity.key, seen.occurrence, copy.number), threshold(fault.rate))
