"""Frames that aggregator programs make of packets and slots."""

from __future__ import annotations

from typing import Any

import cython

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.memory import Aggregator
from switch_nodes.aggregators.served import ServedJob
from switch_nodes.jobs import JobMember
from workloads.wire import Envelope, places
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    DatagramFlag,
    DatagramKind,
    encode_datagram,
)

if not cython.compiled:
    from workloads.kernels import copy_bytes, finished, new_draft, put8, put16, put32, write_words
    from workloads.wire.inspected import (
        AT_BITMAP0,
        AT_BITMAP1,
        AT_EXPONENT0,
        AT_EXPONENT1,
        AT_FLAGS,
        AT_KIND,
        AT_NELEM,
        AT_NEW_SLOT,
        AT_NODE,
        AT_PAYLOAD,
        AT_PRIORITY,
        seal,
    )

__all__ = ["answer_empty", "from_slot", "of_service", "put_sum", "redirected", "with_flags", "with_sum"]

_ECT = 0x02
"""traffic class of what the switch sends by itself: ECN-capable"""
_TOS, _TTL, _SOURCE_MAC_AT, _SOURCE_AT = places.TOS_AT, places.TTL_AT, places.SRC_MAC_AT, places.SRC_IP_AT
_IDENT_AT, _FRAGMENT_AT, _PORT_AT = places.IDENT_AT, places.FRAGMENT_AT, places.SPORT_AT
_PLAIN = Envelope(bytes(6), bytes(6), bytes(4), bytes(4))
_IDENT, _FRAGMENT, _OWN_TTL = _PLAIN.ident, _PLAIN.flags_fragment, _PLAIN.ttl
_RESULT, _FROM_PORT = int(DatagramKind.RESULT), AGGREGATION_PORT


def with_flags(a: AggregatorArrival, flags: int) -> bytes:
    """The frame with other flags; all else stays."""
    size = AT_PAYLOAD + 4 * a.count
    draft = new_draft(size)
    copy_bytes(draft, 0, a.frame, 0, size)
    put16(draft, _IDENT_AT, _IDENT)
    put16(draft, _FRAGMENT_AT, _FRAGMENT)
    put16(draft, AT_FLAGS, flags)
    seal(draft, size)
    return finished(draft)


def with_sum(a: AggregatorArrival, slot: Aggregator, flags: int, is_result: bool) -> bytes:
    """The frame with other flags and what is in the slot; sender, receiver and traffic class stay. `is_result`: as a
    result, which names the packet's slot."""
    size = AT_PAYLOAD + 4 * slot.size
    draft = new_draft(size)
    copy_bytes(draft, 0, a.frame, 0, AT_PAYLOAD)
    put16(draft, _IDENT_AT, _IDENT)
    put16(draft, _FRAGMENT_AT, _FRAGMENT)
    if is_result:
        put8(draft, AT_KIND, _RESULT)
        put16(draft, AT_NEW_SLOT, a.slot)
    put_sum(draft, slot, flags)
    return finished(draft)


def put_sum(draft: Any, slot: Aggregator, flags: int) -> None:
    """Write the header fields that describe the slot: flags, bitmaps, node, priority and exponents."""
    put16(draft, AT_FLAGS, flags)
    bitmap0, bitmap1, node = slot.names()
    put32(draft, AT_BITMAP0, bitmap0)
    put32(draft, AT_BITMAP1, bitmap1)
    if slot.served.is_wide:
        put16(draft, AT_NODE, node)
    put8(draft, AT_PRIORITY, slot.priority)
    put8(draft, AT_EXPONENT0, slot.exponent0)
    put8(draft, AT_EXPONENT1, slot.exponent1)
    put16(draft, AT_NELEM, slot.size)
    write_words(draft, AT_PAYLOAD, slot.values, 0, slot.size)
    seal(draft, AT_PAYLOAD + 4 * slot.size)


def of_service(frame: bytes, mac: bytes, ip: bytes) -> bytes:
    """A sound copy that comes from the service, whose addresses these are."""
    size = len(frame)
    draft = new_draft(size)
    copy_bytes(draft, 0, frame, 0, size)
    copy_bytes(draft, _SOURCE_MAC_AT, mac, 0, 6)
    copy_bytes(draft, _SOURCE_AT, ip, 0, 4)
    put8(draft, _TTL, _OWN_TTL)
    put16(draft, _PORT_AT, _FROM_PORT)
    seal(draft, size)
    return finished(draft)


def _of_service(served: ServedJob, dst_mac: bytes, dst_ip: bytes) -> Envelope:
    return Envelope(served.config.service_mac, dst_mac, served.config.service_ip, dst_ip, AGGREGATION_PORT, _ECT)


def redirected(a: AggregatorArrival, member: JobMember) -> bytes:
    """The same, towards another worker: for the switch of its rack."""
    found = a.found
    envelope = Envelope(
        found.src_mac, member.mac, found.src_ip, found.dst_ip, found.sport, a.frame[_TOS], a.frame[_TTL]
    )
    return encode_datagram(envelope, AGGREGATION_PORT, found.header, found.payload)


def answer_empty(a: AggregatorArrival) -> bytes:
    """REMINDER_EMPTY to the server: bitmap0 0; bitmap1 the rack whose switch has nothing, 0: the switch that
    collects."""
    served = a.served
    assert served is not None, "it was admitted"
    rack = 0 if served.collects or served.own_rack is None else 1 << served.own_rack
    header = a.found.header._replace(kind=DatagramKind.REMINDER_EMPTY, flags=0, bitmap0=0, bitmap1=rack, nelem=0)
    return encode_datagram(_of_service(served, served.server.mac, served.server.ip), AGGREGATION_PORT, header, b"")


def from_slot(slot: Aggregator, index: int) -> bytes:
    """A frame from the service to the slot's own server, with what is inside, however little."""
    served = slot.served
    flags = int(DatagramFlag.EVICTED)
    if slot.congested:
        flags |= DatagramFlag.ECN
    if slot.overflow:
        flags |= DatagramFlag.OVERFLOW
    header = slot.header._replace(flags=flags, slot=index)
    envelope = _of_service(served, served.server.mac, served.server.ip)
    return encode_datagram(envelope, AGGREGATION_PORT, header, slot.payload)
