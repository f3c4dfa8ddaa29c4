"""How SwitchML's packets stand on the wire, at the switch's end: what the program itself does not know.

The other end is `workloads.switchml.framing`. All jobs of a switch have one framing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import cython
import numpy as np

from switch_nodes.jobs import JobConfig, JobMember
from switch_nodes.switchml.pool import Pool, envelope_to
from workloads.datagrams.arrival import Arrival
from workloads.errors import InternalError
from workloads.switchml.uc_mapping import arrived, frames_of, from_write, key_version, to_write
from workloads.transports.endpoint import Endpoint
from workloads.uc import UcMessage, UcPairs
from workloads.uc.transport import UNRELIABLE
from workloads.wire.aggregation import (
    AggregationHeader,
    DatagramError,
    DatagramFlag,
    DatagramKind,
    Policy,
    decode_datagram,
)
from workloads.wire.places import UDP_PAYLOAD_AT

if not cython.compiled:
    from workloads.kernels import copy_bytes, finished, get8, new_draft, put8, put16, put32, write_words
    from workloads.wire.inspected import (
        AT_BITMAP0,
        AT_EXPONENT0,
        AT_EXPONENT1,
        AT_FAN_IN0,
        AT_FLAGS,
        AT_KIND,
        AT_NELEM,
        AT_PAYLOAD,
        AT_VERSION,
        address_of,
        is_sound,
        seal,
    )

__all__ = ["NOT_OURS", "OURS", "UNFINISHED", "ServiceFraming", "create_service"]

NOT_OURS, OURS, UNFINISHED = range(3)
"""what a frame brings: it is to be forwarded as by any switch; a packet of a job; a part of one"""
_NOT_OURS, _OURS, _UNFINISHED = range(3)
_RESULT, _POLICY = int(DatagramKind.RESULT), int(Policy.SWITCHML)
_HEADER_AT = UDP_PAYLOAD_AT
_EMPTY, _UNWANTED = int(DatagramFlag.EMPTY), int(DatagramFlag.UNWANTED)


class ServiceFraming:
    def read(self, frame: bytes, found: Arrival) -> int:
        """What it brings. Raises DatagramError for what is ours and cannot be used."""
        raise NotImplementedError

    def write(
        self, asked: Arrival, pool: Pool, slot: int, first: int, end: int, outbox: deque[tuple[int, Any]]
    ) -> None:
        """The sum of a slot, to members first .. end - 1, as frames to be sent in this order. `asked`: the packet that
        it answers."""
        raise NotImplementedError

    def write_up(self, asked: Arrival, pool: Pool, slot: int, outbox: deque[tuple[int, Any]]) -> None:
        """The sum of a rack, to the root. `asked`: the packet that completed or repeated it."""
        raise InternalError("a job over unreliable connections has one switch")


def create_service(jobs: Sequence[JobConfig]) -> ServiceFraming:
    """For jobs that `check_jobs` has seen."""
    if any(member.uc is not None for job in jobs for member in job.members):
        return UcService(jobs)
    return UdpService(jobs)


class UdpService(ServiceFraming):
    def __init__(self, jobs: Sequence[JobConfig]) -> None:
        own = [job.leaves[job.levels.own] for job in jobs if job.levels is not None and job.levels.own is not None]
        addresses = [job.service_ip for job in jobs] + [leaf.ip for leaf in own]
        self._services = frozenset([int.from_bytes(address, "big") for address in addresses])
        self._first = int.from_bytes(jobs[0].service_ip, "big") if jobs else -1

    def read(self, frame: bytes, found: Arrival) -> int:
        if not is_sound(frame):
            decode_datagram(frame)  # which says why
            return _NOT_OURS
        if get8(frame, AT_VERSION) & 15 != _POLICY:
            return _NOT_OURS
        address = address_of(frame, True)
        if address != self._first and address not in self._services:
            return _NOT_OURS
        found.read(frame)
        return _OURS

    def write(
        self, asked: Arrival, pool: Pool, slot: int, first: int, end: int, outbox: deque[tuple[int, Any]]
    ) -> None:
        whole, bare, flags = b"", b"", asked.flags & ~(_EMPTY | _UNWANTED)
        for rank in range(first, end):
            is_wanted = pool.wanted[slot] >> rank & 1
            count, model = pool.elements_at(slot) if is_wanted else 0, whole if is_wanted else bare
            size = AT_PAYLOAD + 4 * count
            draft = new_draft(size)
            copy_bytes(draft, 0, pool.heads[rank], 0, _HEADER_AT)
            if not model:
                copy_bytes(draft, _HEADER_AT, asked.frame, _HEADER_AT, AT_PAYLOAD - _HEADER_AT)
                put8(draft, AT_KIND, _RESULT)
                put16(draft, AT_FLAGS, flags if is_wanted else flags | _UNWANTED)
                put32(draft, AT_BITMAP0, pool.complete)
                put8(draft, AT_FAN_IN0, pool.fan_in)
                put16(draft, AT_NELEM, count)
                put8(draft, AT_EXPONENT0, pool.exponent0[slot])
                put8(draft, AT_EXPONENT1, pool.exponent1[slot])
                write_words(draft, AT_PAYLOAD, pool.values, pool.value_at(slot), count)
            else:
                copy_bytes(draft, _HEADER_AT, model, _HEADER_AT, size - _HEADER_AT)
            seal(draft, size)
            frame = finished(draft)
            if is_wanted:
                whole = frame
            else:
                bare = frame
            outbox.append((pool.ports[rank], frame))

    def write_up(self, asked: Arrival, pool: Pool, slot: int, outbox: deque[tuple[int, Any]]) -> None:
        count, flags = pool.elements_at(slot), asked.flags & ~(_EMPTY | _UNWANTED)
        if pool.length[slot] < 0:
            flags |= _EMPTY
        if not pool.wanted[slot]:
            flags |= _UNWANTED
        size = AT_PAYLOAD + 4 * count
        draft = new_draft(size)
        copy_bytes(draft, 0, pool.head_up, 0, _HEADER_AT)
        copy_bytes(draft, _HEADER_AT, asked.frame, _HEADER_AT, AT_PAYLOAD - _HEADER_AT)
        put16(draft, AT_FLAGS, flags)
        put32(draft, AT_BITMAP0, 1 << pool.leaf)
        put8(draft, AT_FAN_IN0, pool.leaves)
        put16(draft, AT_NELEM, count)
        put8(draft, AT_EXPONENT0, pool.exponent0[slot])
        put8(draft, AT_EXPONENT1, pool.exponent1[slot])
        write_words(draft, AT_PAYLOAD, pool.values, pool.value_at(slot), count)
        seal(draft, size)
        outbox.append((pool.up, finished(draft)))


class UcService(ServiceFraming):
    """One endpoint per service address. Which job, worker and index a packet is for, its queue pair says."""

    def __init__(self, jobs: Sequence[JobConfig]) -> None:
        self._endpoints: dict[bytes, Endpoint[UcMessage]] = {}
        self._places: dict[tuple[bytes, int], tuple[JobConfig, JobMember, int]] = {}
        longest = 4 * max([job.elements for job in jobs])
        for job in jobs:
            endpoint = self._endpoints.setdefault(job.service_ip, UNRELIABLE.endpoint(longest=longest))
            for member in job.members:
                envelope = envelope_to(job, member)
                pairs = [_pairs(member).service_qp(cell, envelope) for cell in range(job.slots)]
                endpoint.add_qps(pairs)
                for cell, qp in enumerate(pairs):
                    self._places[job.service_ip, qp.qpn] = job, member, job.first_slot + cell

    def read(self, frame: bytes, found: Arrival) -> int:
        service_ip = UNRELIABLE.target_of(frame)
        if service_ip is None or service_ip not in self._endpoints:
            return _NOT_OURS
        message = arrived(self._endpoints[service_ip], frame)
        if message is None:
            return _UNFINISHED
        job, member, slot = self._places[service_ip, message.qpn]
        write = message.write
        key, version = key_version(write.rkey)
        if key >> 1 != slot:
            raise DatagramError("bad_slot", f"memory key {write.rkey:#x} on the queue pair of slot {slot}")
        sequence, exponents = from_write(write, _pairs(member).va, 4 * job.elements)
        header = AggregationHeader(
            policy=Policy.SWITCHML,
            kind=DatagramKind.DATA if write.payload else DatagramKind.EXPONENTS,
            job=job.job,
            sequence=sequence,
            slot=slot,
            bitmap0=1 << member.rank,
            fan_in0=len(job.members),
            nelem=len(write.payload) // 4,
            flags=DatagramFlag.VERSION if version else 0,
            exponent0=exponents[0],
            exponent1=exponents[1],
        )
        found.know(message.src_ip, header, bytes(write.payload))
        return _OURS

    def write(
        self, asked: Arrival, pool: Pool, slot: int, first: int, end: int, outbox: deque[tuple[int, Any]]
    ) -> None:
        config, count, at = pool.config, pool.elements_at(slot), pool.value_at(slot)
        payload = np.asarray(pool.values)[at : at + count].astype(">i4").tobytes()
        header = AggregationHeader(
            Policy.SWITCHML, DatagramKind.RESULT, pool.job, asked.sequence, asked.slot, pool.everyone, pool.size, count,
            asked.flags, pool.exponent0[slot], pool.exponent1[slot],
        )  # fmt: skip
        endpoint = self._endpoints[config.service_ip]
        for rank in range(first, end):
            member = pool.members[rank]
            pairs = _pairs(member)
            sent = to_write(header, pairs.va, 4 * config.elements, pairs.rkey, payload)
            for frame in frames_of(endpoint, pairs.service_qpn + asked.slot - config.first_slot, sent):
                outbox.append((member.port, frame))


def _pairs(member: JobMember) -> UcPairs:
    if member.uc is None:
        raise InternalError(f"rank {member.rank} has no queue pairs")
    return member.uc
