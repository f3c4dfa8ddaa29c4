"""Packets of aggregator programs: what comes in with its place, and the frames that are made of it."""

from __future__ import annotations

from typing import NamedTuple

from switch_nodes.aggregators.memory import Aggregator
from switch_nodes.aggregators.served import ServedJob
from switch_nodes.jobs import JobMember
from workloads.machine import Buffer
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    Datagram,
    DatagramFlag,
    DatagramKind,
    encode_datagram,
    payload_sum,
)

__all__ = ["Arrival", "answer_empty", "from_slot", "redirected", "remade", "result_frame", "result_frames"]

_ECT = 0x02
"""traffic class of what the switch sends by itself: ECN-capable"""
_TOS, _TTL = 15, 22
_ECN = int(DatagramFlag.ECN)


class Arrival(NamedTuple):
    """A packet of a served job."""

    served: ServedJob
    rank: int
    """of its sender; -1: a server, or another switch"""
    port: int
    frame: Buffer
    found: Datagram
    congested: bool
    """it has CE, or the ECN flag"""

    @property
    def block(self) -> int:
        return (self.found.header.sequence - 1) & 0xFFFFFFFF

    @property
    def target(self) -> int:
        """The bitmap of the complete sum of its block, here."""
        return self.served.target_of(self.found.header.sequence)

    def flags(self, added: int = 0) -> int:
        """Of what it becomes."""
        flags = self.found.header.flags | added
        return flags | _ECN if self.congested else flags


def _remade(a: Arrival, dst_mac: bytes, dst_ip: bytes) -> Envelope:
    return Envelope(a.found.src_mac, dst_mac, a.found.src_ip, dst_ip, a.found.sport, a.frame[_TOS], a.frame[_TTL])


def _of_service(served: ServedJob, dst_mac: bytes, dst_ip: bytes, tos: int = _ECT) -> Envelope:
    return Envelope(served.config.service_mac, dst_mac, served.config.service_ip, dst_ip, AGGREGATION_PORT, tos)


def remade(a: Arrival, header: AggregationHeader, payload: Buffer) -> bytes:
    """The frame with another header and payload; sender, receiver and traffic class stay."""
    return encode_datagram(_remade(a, bytes(a.frame[:6]), a.found.dst_ip), AGGREGATION_PORT, header, payload)


def redirected(a: Arrival, member: JobMember) -> bytes:
    """The same, towards another worker: for the switch of its rack."""
    envelope = _remade(a, member.mac, a.found.dst_ip)
    return encode_datagram(envelope, AGGREGATION_PORT, a.found.header, a.found.payload)


def answer_empty(a: Arrival) -> bytes:
    """REMINDER_EMPTY to the server: bitmap0 0; bitmap1 the rack whose switch has nothing, 0: the switch that
    collects."""
    served = a.served
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
    header = slot.header_of(slot.header)._replace(flags=flags, slot=index)
    envelope = _of_service(served, served.server.mac, served.server.ip)
    return encode_datagram(envelope, AGGREGATION_PORT, header, slot.payload)


def result_frame(
    a: Arrival, to_mac: bytes, to_ip: bytes, header: AggregationHeader, payload: Buffer, summed: int
) -> bytes:
    """A copy of a result, from whom it came. `summed`: `payload_sum` of the payload."""
    return encode_datagram(_remade(a, to_mac, to_ip), AGGREGATION_PORT, header, payload, summed)


def result_frames(
    a: Arrival, header: AggregationHeader, payload: Buffer, *, from_service: bool, copy: bool
) -> list[tuple[JobMember, bytes]]:
    """One result for each worker of the job here, one for the switch of each other rack (addressed to the service, on
    the way to that rack's first worker), and with `copy` one for the server. They come from the service, or from whom
    the result came from."""
    served, tos = a.served, a.frame[_TOS]
    summed, service = payload_sum(payload), served.config.service_ip
    receivers = [(member, member.ip) for member in served.here] + [(member, service) for member in served.heads]
    if copy:
        receivers.append((served.server, served.server.ip))
    frames = []
    for member, ip in receivers:
        if from_service:
            envelope = _of_service(served, member.mac, ip, tos)
            frame = encode_datagram(envelope, AGGREGATION_PORT, header, payload, summed)
        else:
            frame = result_frame(a, member.mac, ip, header, payload, summed)
        frames.append((member, frame))
    return frames
