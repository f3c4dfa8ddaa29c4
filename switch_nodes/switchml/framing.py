"""How SwitchML's packets stand on the wire, at the switch's end: what the program itself does not know.

The other end is `workloads.switchml.framing`. All jobs of a switch have one framing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Protocol

from switch_nodes.jobs import JobConfig, JobMember
from switch_nodes.switchml.pool import envelope_to
from workloads.errors import InternalError
from workloads.machine import Buffer
from workloads.switchml.framing import Arrival
from workloads.switchml.uc_mapping import from_write, key_version, to_write
from workloads.uc import UcEndpoint, UcError, UcPairs
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    DatagramError,
    DatagramFlag,
    DatagramKind,
    Policy,
    decode_datagram,
    encode_datagram,
    payload_sum,
)

__all__ = ["ServiceFraming", "Taken", "create_service"]


class Taken(Enum):
    """A frame that brings no packet of a job."""

    NOT_OURS = "to be forwarded as by any switch"
    UNFINISHED = "ours; more frames belong to its packet"


class ServiceFraming(Protocol):
    def receive(self, frame: Buffer) -> Arrival | Taken:
        """Raises DatagramError for what is ours and cannot be used."""
        ...

    def results(
        self, config: JobConfig, members: Iterable[JobMember], header: AggregationHeader, payload: bytes
    ) -> Iterator[tuple[int, bytes]]:
        """Frames that carry one result to each of `members`, as (port, frame), to be sent in this order."""
        ...


def create_service(jobs: Sequence[JobConfig]) -> ServiceFraming:
    """For jobs that `check_jobs` has seen."""
    if any(member.uc is not None for job in jobs for member in job.members):
        return _UcService(jobs)
    return _UdpService(jobs)


class _UdpService:
    def __init__(self, jobs: Iterable[JobConfig]) -> None:
        self._services = {job.service_ip for job in jobs}

    def receive(self, frame: Buffer) -> Arrival | Taken:
        found = decode_datagram(frame)
        if found is None or found.dst_ip not in self._services or found.header.policy != Policy.SWITCHML:
            return Taken.NOT_OURS
        return Arrival(found.src_ip, found.header, found.payload)

    def results(
        self, config: JobConfig, members: Iterable[JobMember], header: AggregationHeader, payload: bytes
    ) -> Iterator[tuple[int, bytes]]:
        summed = payload_sum(payload)
        for member in members:
            yield member.port, encode_datagram(envelope_to(config, member), AGGREGATION_PORT, header, payload, summed)


class _UcService:
    """One endpoint per service address. Which job, worker and index a packet is for, its queue pair says."""

    def __init__(self, jobs: Iterable[JobConfig]) -> None:
        self._endpoints: dict[bytes, UcEndpoint] = {}
        self._places: dict[tuple[bytes, int], tuple[JobConfig, JobMember, int]] = {}
        longest = 4 * max(job.elements for job in jobs)
        for job in jobs:
            endpoint = self._endpoints.setdefault(job.service_ip, UcEndpoint(job.service_ip, longest))
            for member in job.members:
                envelope = envelope_to(job, member)
                for cell in range(job.slots):
                    qp = _pairs(member).service_qp(cell, envelope)
                    endpoint.add_qp(qp)
                    self._places[job.service_ip, qp.qpn] = job, member, job.first_slot + cell

    def receive(self, frame: Buffer) -> Arrival | Taken:
        for service_ip, endpoint in self._endpoints.items():
            if endpoint.is_for_us(frame):
                return self._take(service_ip, endpoint, frame)
        return Taken.NOT_OURS

    def _take(self, service_ip: bytes, endpoint: UcEndpoint, frame: Buffer) -> Arrival | Taken:
        try:
            found = endpoint.receive(frame)
        except UcError as error:
            raise DatagramError(error.reason, str(error)) from None
        if found is None:
            return Taken.UNFINISHED
        job, member, slot = self._places[service_ip, found.qpn]
        write = found.write
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
        return Arrival(found.src_ip, header, write.payload)

    def results(
        self, config: JobConfig, members: Iterable[JobMember], header: AggregationHeader, payload: bytes
    ) -> Iterator[tuple[int, bytes]]:
        endpoint = self._endpoints[config.service_ip]
        for member in members:
            pairs = _pairs(member)
            write = to_write(header, pairs.va, 4 * config.elements, pairs.rkey, payload)
            for frame in endpoint.send(pairs.service_qpn + header.slot - config.first_slot, write):
                yield member.port, frame


def _pairs(member: JobMember) -> UcPairs:
    if member.uc is None:
        raise InternalError(f"rank {member.rank} has no queue pairs")
    return member.uc
