"""An aggregation datagram in place: whether it can be used, and where its fields stand.

The compiled half of `workloads.wire.aggregation`, whose `decode_datagram` says what is wrong with a frame that
`is_sound` does not pass.
"""

from __future__ import annotations

from typing import Any

import cython

from workloads.machine import Buffer
from workloads.wire import places
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
from workloads.wire.envelope import IPV4

if not cython.compiled:
    from workloads.kernels import copy_bytes, finished, get8, get16, get32, new_draft, put16, words_sum

__all__ = ["AT_PAYLOAD", "address_of", "addressed", "as_signed", "is_sound", "nearest_packet", "seal"]

_UDP_AT, _IP_AT, _SOURCE_AT, _TARGET_AT = places.UDP_AT, places.IP_AT, places.SRC_IP_AT, places.DST_IP_AT
_TYPE_AT, _PROTOCOL_AT, _LENGTH_AT = places.ETHERTYPE_AT, places.PROTOCOL_AT, places.LENGTH_AT
_FRAGMENT_AT, _CHECKSUM_AT, _PORT_AT = places.FRAGMENT_AT, places.CHECKSUM_AT, places.DPORT_AT
_UDP_LENGTH_AT, _UDP_CHECKSUM_AT = places.UDP_LENGTH_AT, places.UDP_CHECKSUM_AT
_IPV4_BYTES = IPV4.size


def _at(name: str) -> int:
    """Where a field begins in the frame."""
    return places.UDP_PAYLOAD_AT + AGGREGATION.octets(name)[0]


AT_VERSION = _at("policy")
"""version in the upper half, policy in the lower one"""
AT_KIND, AT_FLAGS, AT_JOB, AT_SEQUENCE, AT_SLOT = (_at(n) for n in ("kind", "flags", "job", "sequence", "slot"))
AT_BITMAP0, AT_FAN_IN0, AT_OP, AT_NELEM = _at("bitmap0"), _at("fan_in0"), _at("op"), _at("nelem")
AT_EXPONENT0, AT_EXPONENT1, AT_TENSOR = _at("exponent0"), _at("exponent1"), _at("tensor")
AT_NODE, AT_NEW_SLOT, AT_BITMAP1, AT_FAN_IN1 = (_at(name) for name in ("node", "new_slot", "bitmap1", "fan_in1"))
AT_PRIORITY = _at("priority")
AT_PAYLOAD = AGGREGATION_OVERHEAD_BYTES
_KINDS, _POLICIES = max(DatagramKind) + 1, max(Policy) + 1
_PORT, _GRID = AGGREGATION_PORT, int(Policy.GRID)
_MOST, _MOST_GRID, _SEQUENCES = MAX_ELEMENTS, MAX_GRID_ELEMENTS, SEQUENCES


def is_sound(frame: Buffer) -> bool:
    """Whether `decode_datagram` would return it: a datagram of a policy and a kind that we know, with right lengths
    and checksums."""
    size = len(frame)
    if (
        size < AT_PAYLOAD
        or get16(frame, _TYPE_AT) != 0x0800
        or get8(frame, _IP_AT) != 0x45
        or get8(frame, _PROTOCOL_AT) != 17
        or get16(frame, _PORT_AT) != _PORT
        or get16(frame, _FRAGMENT_AT) & 0x3FFF
    ):
        return False
    version, udp_bytes, count = get8(frame, AT_VERSION), get16(frame, _UDP_LENGTH_AT), get16(frame, AT_NELEM)
    end, policy = AT_PAYLOAD + 4 * count, version & 15
    return not (
        get16(frame, _LENGTH_AT) != udp_bytes + _IPV4_BYTES
        or end != _UDP_AT + udp_bytes
        or end > size
        or count > (_MOST_GRID if policy == _GRID else _MOST)
        or words_sum(frame, _IP_AT, _UDP_AT)
        or get16(frame, _CHECKSUM_AT) == 0xFFFF
        or (words_sum(frame, _SOURCE_AT, end) + udp_bytes + 17) % 0xFFFF
        or version >> 4 != 1
        or not 0 < policy < _POLICIES
        or get8(frame, AT_KIND) >= _KINDS
        or not get8(frame, AT_FAN_IN0)
    )


def seal(draft: Any, end: int) -> None:
    """Lengths and checksums of a datagram that ends there; all else is in it."""
    udp_bytes = end - _UDP_AT
    put16(draft, _LENGTH_AT, udp_bytes + _IPV4_BYTES)
    put16(draft, _CHECKSUM_AT, 0)
    put16(draft, _UDP_LENGTH_AT, udp_bytes)
    put16(draft, _UDP_CHECKSUM_AT, 0)
    put16(draft, _CHECKSUM_AT, (0xFFFF - words_sum(draft, _IP_AT, _UDP_AT)) % 0xFFFF)
    total = 0xFFFF - (words_sum(draft, _SOURCE_AT, end) + udp_bytes + 17) % 0xFFFF
    put16(draft, _UDP_CHECKSUM_AT, total)


def addressed(frame: bytes, mac: bytes, ip: bytes) -> bytes:
    """A copy of a sound datagram for another receiver. Only the addresses differ, so the sum of its elements is not
    computed again (RFC 1624)."""
    size = len(frame)
    draft = new_draft(size)
    copy_bytes(draft, 0, frame, 0, size)
    copy_bytes(draft, 0, mac, 0, 6)
    copy_bytes(draft, _TARGET_AT, ip, 0, 4)
    put16(draft, _CHECKSUM_AT, 0)
    put16(draft, _CHECKSUM_AT, (0xFFFF - words_sum(draft, _IP_AT, _UDP_AT)) % 0xFFFF)
    rest = 2 * 0xFFFF - get16(frame, _UDP_CHECKSUM_AT) - words_sum(frame, _TARGET_AT, _TARGET_AT + 4)
    put16(draft, _UDP_CHECKSUM_AT, 0xFFFF - (rest + words_sum(ip, 0, 4)) % 0xFFFF)
    return finished(draft)


def address_of(frame: Buffer, is_target: bool) -> int:
    """IPv4 address of the target, or of the source."""
    return get32(frame, _TARGET_AT if is_target else _SOURCE_AT)


def as_signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def nearest_packet(sequence: int, base: int) -> int:
    """The packet of that sequence number that is nearest to packet `base`, counted from 0 over the life of a job. Below
    0 if there is none."""
    distance = (sequence - 1 - base) % _SEQUENCES
    return base + (distance if distance < _SEQUENCES // 2 else distance - _SEQUENCES)
