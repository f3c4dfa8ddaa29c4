"""An aggregation datagram in place: whether it can be used, and where its fields stand.

The compiled half of `workloads.wire.aggregation`, whose `decode_datagram` says what is wrong with a frame that
`is_sound` does not pass.
"""

from __future__ import annotations

from typing import Any

import cython

from workloads.machine import Buffer
from workloads.wire.aggregation import (
    AGGREGATION,
    AGGREGATION_OVERHEAD_BYTES,
    AGGREGATION_PORT,
    MAX_ELEMENTS,
    MAX_GRID_ELEMENTS,
    SEQUENCES,
    DatagramKind,
    Policy,
)

if not cython.compiled:
    from workloads.kernels import copy_bytes, finished, get8, get16, get32, new_draft, put16, words_sum

__all__ = ["AT_PAYLOAD", "address_of", "addressed", "as_signed", "is_sound", "nearest_packet", "seal"]

_HEADER_AT = 42
_UDP_AT, _IP_AT, _TARGET_AT = 34, 14, 30


def _at(name: str) -> int:
    """Where a field of whole bytes begins in the frame."""
    shift, mask = AGGREGATION.place(name)
    return _HEADER_AT + AGGREGATION.size - (shift + mask.bit_length() + 7) // 8


AT_VERSION = _at("policy")
"""version in the upper half, policy in the lower one"""
AT_KIND, AT_FLAGS, AT_JOB, AT_SEQUENCE, AT_SLOT = (_at(n) for n in ("kind", "flags", "job", "sequence", "slot"))
AT_BITMAP0, AT_FAN_IN0, AT_OP, AT_NELEM = _at("bitmap0"), _at("fan_in0"), _at("op"), _at("nelem")
AT_EXPONENT0, AT_EXPONENT1, AT_TENSOR = _at("exponent0"), _at("exponent1"), _at("tensor")
AT_NODE, AT_NEW_SLOT, AT_BITMAP1, AT_FAN_IN1 = (_at(name) for name in ("node", "new_slot", "bitmap1", "fan_in1"))
AT_PRIORITY = _at("priority")
AT_PAYLOAD = AGGREGATION_OVERHEAD_BYTES
_CHECKED_FROM = 26
_KINDS, _POLICIES = max(DatagramKind) + 1, max(Policy) + 1
_PORT, _GRID = AGGREGATION_PORT, int(Policy.GRID)
_MOST, _MOST_GRID, _SEQUENCES = MAX_ELEMENTS, MAX_GRID_ELEMENTS, SEQUENCES


def is_sound(frame: Buffer) -> bool:
    """Whether `decode_datagram` would return it: a datagram of a policy and a kind that we know, with right lengths
    and checksums."""
    size = len(frame)
    if (
        size < AT_PAYLOAD
        or get16(frame, 12) != 0x0800
        or get8(frame, _IP_AT) != 0x45
        or get8(frame, 23) != 17
        or get16(frame, 36) != _PORT
        or get16(frame, 20) & 0x3FFF
    ):
        return False
    version, udp_bytes, count = get8(frame, AT_VERSION), get16(frame, 38), get16(frame, AT_NELEM)
    end, policy = AT_PAYLOAD + 4 * count, version & 15
    return not (
        get16(frame, 16) != udp_bytes + 20
        or end != _UDP_AT + udp_bytes
        or end > size
        or count > (_MOST_GRID if policy == _GRID else _MOST)
        or words_sum(frame, _IP_AT, _UDP_AT)
        or get16(frame, 24) == 0xFFFF
        or (words_sum(frame, _CHECKED_FROM, end) + udp_bytes + 17) % 0xFFFF
        or version >> 4 != 1
        or not 0 < policy < _POLICIES
        or get8(frame, AT_KIND) >= _KINDS
        or not get8(frame, AT_FAN_IN0)
    )


def seal(draft: Any, end: int) -> None:
    """Lengths and checksums of a datagram that ends there; all else is in it."""
    udp_bytes = end - _UDP_AT
    put16(draft, 16, udp_bytes + 20)
    put16(draft, 24, 0)
    put16(draft, 38, udp_bytes)
    put16(draft, 40, 0)
    put16(draft, 24, (0xFFFF - words_sum(draft, _IP_AT, _UDP_AT)) % 0xFFFF)
    total = 0xFFFF - (words_sum(draft, _CHECKED_FROM, end) + udp_bytes + 17) % 0xFFFF
    put16(draft, 40, total)


def addressed(frame: bytes, mac: bytes, ip: bytes) -> bytes:
    """A copy for another receiver."""
    size = len(frame)
    draft = new_draft(size)
    copy_bytes(draft, 0, frame, 0, size)
    copy_bytes(draft, 0, mac, 0, 6)
    copy_bytes(draft, _TARGET_AT, ip, 0, 4)
    seal(draft, size)
    return finished(draft)


def address_of(frame: Buffer, is_target: bool) -> int:
    """IPv4 address of the target, or of the source."""
    return get32(frame, _TARGET_AT if is_target else _TARGET_AT - 4)


def as_signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def nearest_packet(sequence: int, base: int) -> int:
    """The packet of that sequence number that is nearest to packet `base`, counted from 0 over the life of a job. Below
    0 if there is none."""
    distance = (sequence - 1 - base) % _SEQUENCES
    return base + (distance if distance < _SEQUENCES // 2 else distance - _SEQUENCES)
