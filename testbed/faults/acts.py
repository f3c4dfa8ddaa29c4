"""What each kind of packet fault does to one copy of a packet: the table ACTS, one function per kind.

An act returns the copies that go on, or None when the dice spared this one. Faults are asked in the order of the scenario,
and every copy that one lets through goes on to the next; a copy has dice of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from testbed.faults.alter import flip_bit, mark_ce
from testbed.faults.decide import Purpose, below, burst_is_bad, draw, threshold
from testbed.faults.forge import forge
from testbed.faults.identity import NOT_ROCE, Identity
from testbed.faults.model import (
    Burst,
    Corrupt,
    Delay,
    Drop,
    Duplicate,
    EcnMark,
    Forge,
    LinkDown,
    Loss,
    PacketFault,
    Reorder,
)

__all__ = ["ACTS", "COPY_BITS", "Copy", "Seen", "copy_bits", "jittered"]

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
    """0: the packet that came; else one bit for each Duplicate or Forge that it came from, so that the number of a copy does not depend
    on the fate of its siblings"""
    delay_ns: int = 0
    """in order: later frames wait behind it"""
    held_ns: int = 0
    """out of order: later frames overtake it"""


Act = Callable[[PacketFault, int, Seen, Copy, int], tuple[Copy, ...] | None]
"""(fault, stream, packet, copy, bit of the copies that this fault makes) -> what goes on, None: not struck"""


def copy_bits(faults: Iterable[PacketFault]) -> list[int]:
    """For each fault of a link direction, in order, the bit of the copies it makes; 0 for those that make none."""
    bits, duplicates = [], 0
    for fault in faults:
        bits.append(1 << duplicates % COPY_BITS if isinstance(fault, Duplicate | Forge) else 0)
        duplicates += isinstance(fault, Duplicate | Forge)
    return bits


def jittered(delay_ns: int, jitter_ns: int, number: int) -> int:
    """`delay_ns` moved by -jitter .. +jitter, uniformly by a 64-bit draw; never below zero."""
    return max(0, delay_ns - jitter_ns + (number * (2 * jitter_ns + 1) >> 64))


def _strikes(fault: PacketFault, stream: int, seen: Seen, copy: Copy) -> bool:
    if fault.rate >= 1.0:
        return True
    return below(draw(stream, seen.identity.key, seen.occurrence, copy.number), threshold(fault.rate))


def _lose(fault: PacketFault, stream: int, seen: Seen, copy: Copy, _: int) -> tuple[Copy, ...] | None:
    return () if _strikes(fault, stream, seen, copy) else None


def _link_down(_fault: PacketFault, _stream: int, _seen: Seen, _copy: Copy, _: int) -> tuple[Copy, ...] | None:
    return ()


def _burst(fault: PacketFault, stream: int, seen: Seen, copy: Copy, _: int) -> tuple[Copy, ...] | None:
    assert isinstance(fault, Burst)
    who, n = seen.identity, seen.occurrence
    bad = burst_is_bad(stream, who.flow, who.psn, n, copy.number, threshold(fault.rate), threshold(fault.recover))
    number = draw(stream, who.key, n, copy.number, Purpose.BURST_LOSS)
    return () if below(number, threshold(fault.loss_bad if bad else fault.loss_good)) else None


def _corrupt(fault: PacketFault, stream: int, seen: Seen, copy: Copy, _: int) -> tuple[Copy, ...] | None:
    assert isinstance(fault, Corrupt)
    if seen.identity.opcode == NOT_ROCE or not _strikes(fault, stream, seen, copy):
        return None
    bit = fault.bit
    if bit is None:
        bit = draw(stream, seen.identity.key, seen.occurrence, copy.number, Purpose.BIT) >> 32
    return (replace(copy, frame=flip_bit(copy.frame, seen.identity, bit, repair_icrc=fault.repair_icrc)),)


def _duplicate(fault: PacketFault, stream: int, seen: Seen, copy: Copy, bit: int) -> tuple[Copy, ...] | None:
    assert isinstance(fault, Duplicate)
    if not _strikes(fault, stream, seen, copy):
        return None
    return copy, replace(copy, number=copy.number | bit, held_ns=copy.held_ns + fault.delay_ns)


def _reorder(fault: PacketFault, stream: int, seen: Seen, copy: Copy, _: int) -> tuple[Copy, ...] | None:
    assert isinstance(fault, Reorder)
    if not _strikes(fault, stream, seen, copy):
        return None
    return (replace(copy, held_ns=copy.held_ns + fault.delay_ns),)


def _delay(fault: PacketFault, stream: int, seen: Seen, copy: Copy, _: int) -> tuple[Copy, ...] | None:
    assert isinstance(fault, Delay)
    if not _strikes(fault, stream, seen, copy):
        return None
    delay = fault.delay_ns
    if fault.jitter_ns:
        number = draw(stream, seen.identity.key, seen.occurrence, copy.number, Purpose.JITTER)
        delay = jittered(delay, fault.jitter_ns, number)
    if not delay:
        return None
    return (replace(copy, delay_ns=copy.delay_ns + delay),)


def _ecn_mark(fault: PacketFault, stream: int, seen: Seen, copy: Copy, _: int) -> tuple[Copy, ...] | None:
    if seen.identity.opcode == NOT_ROCE or not _strikes(fault, stream, seen, copy):
        return None
    marked = mark_ce(copy.frame)
    return None if marked is None else (replace(copy, frame=marked),)


def _forge(fault: PacketFault, stream: int, seen: Seen, copy: Copy, bit: int) -> tuple[Copy, ...] | None:
    assert isinstance(fault, Forge)
    if seen.identity.opcode == NOT_ROCE or not _strikes(fault, stream, seen, copy):
        return None
    frame = forge(fault.what, copy.frame)
    if frame is None:
        return None
    forged = replace(copy, frame=frame, number=copy.number | bit, held_ns=copy.held_ns + fault.delay_ns)
    return (forged, copy) if fault.before else (copy, forged)


ACTS: Mapping[type[PacketFault], Act] = {
    Loss: _lose,
    Burst: _burst,
    Drop: _lose,
    Corrupt: _corrupt,
    Duplicate: _duplicate,
    Reorder: _reorder,
    Delay: _delay,
    EcnMark: _ecn_mark,
    Forge: _forge,
    LinkDown: _link_down,
}
