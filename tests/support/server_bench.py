"""One job at a parameter server, fed by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.support.atp_star import SERVER_IP, SERVER_MAC, atp_workers, server_config
from workloads.datagrams.arrival import Arrival
from workloads.datagrams.blocks import BlockSummed, ContributionIgnored, SlotChanged
from workloads.machine import Event
from workloads.server import JobOfServer
from workloads.server.job import JobServer
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    DatagramFlag,
    DatagramKind,
    Policy,
    decode_datagram,
    encode_datagram,
)

__all__ = ["Departure", "ServerBench"]

RESEND, COLLISION, EVICTED = DatagramFlag.RESEND, DatagramFlag.COLLISION, DatagramFlag.EVICTED


class Departure(NamedTuple):
    """What left."""

    rank: int | None
    """of the worker that it goes to; None: to the switch"""
    header: AggregationHeader
    payload: bytes


class ServerBench:
    """Three workers, a window of 4 blocks."""

    def __init__(
        self, kind: str = "atp", *, make: Callable[..., JobServer] = JobServer, workers: int = 3, again: bool = False,
        dtype: str = "int32", **job: Any,
    ) -> None:  # fmt: skip
        self.kind, self.workers = kind, workers
        config = server_config(atp_workers(workers, kind=kind, dtype=dtype, memory=8), multicast=True, **job)
        self.job: JobOfServer = config.jobs[0]
        self.envelope = config.envelope
        self.server = make(self.job, self.envelope, asks_again=again, trace=True)
        self.events: list[Event] = []
        self.now = 0

    @staticmethod
    def values(rank: int, block: int) -> list[int]:
        """No two sets of contributions have one sum."""
        return [(rank * rank + 1) * 100_003 + block, -(rank + 1) * (block + 1)]

    def total(self, ranks: list[int], block: int) -> list[int]:
        return [sum(column) for column in zip(*(self.values(rank, block) for rank in ranks), strict=True)]

    def send(
        self, ranks: list[int], block: int, flags: int = 0, values: list[int] | None = None, **header: int
    ) -> list[Departure]:
        """A packet with the parts of `ranks` inside; what leaves because of it."""
        elements = self.total(ranks, block) if values is None and ranks else values or []
        payload = np.array(elements, ">i4").tobytes()
        fields = AggregationHeader(
            policy=Policy.ATP if self.kind == "atp" else Policy.ESA, kind=DatagramKind.DATA, job=self.job.job,
            sequence=block + 1, slot=block % 4, bitmap0=sum(1 << rank for rank in ranks), fan_in0=self.workers,
            nelem=len(elements), flags=int(flags), op=int(self.job.arithmetic.dtype == "int32sat"),
        )._replace(**header)  # fmt: skip
        self.now += 1000
        self.receive(block, fields, payload)
        return self.leaving()

    def receive(self, block: int, header: AggregationHeader, payload: bytes, tos: int = 0) -> None:
        arrival = self.arrival(header, payload, tos)
        assert self.server.fits(arrival)
        self.server.receive(block, arrival, self.now)

    @staticmethod
    def arrival(header: AggregationHeader, payload: bytes, tos: int = 0) -> Arrival:
        sender = Envelope(bytes(6), SERVER_MAC, bytes((10, 0, 0, 1)), SERVER_IP, AGGREGATION_PORT, tos)
        arrival = Arrival()
        arrival.read(encode_datagram(sender, AGGREGATION_PORT, header, payload))
        return arrival

    def wait(self) -> list[Departure]:
        """Until the next deadline."""
        due = self.server.get_timer()
        assert due is not None, "nothing is waited for"
        self.now = max(self.now, due)
        self.server.handle_timer(self.now)
        return self.leaving()

    def leaving(self) -> list[Departure]:
        self.events += self.server.events
        found = [self._seen(frame) for frame in self.server.departures]
        self.server.events.clear()
        self.server.departures.clear()
        return found

    def _seen(self, frame: bytes) -> Departure:
        found = decode_datagram(frame)
        assert found is not None
        ranks = {member.ip: rank for rank, member in enumerate(self.job.members)}
        return Departure(ranks.get(found.dst_ip), found.header, bytes(found.payload))

    def told(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def reasons(self) -> list[str]:
        return [event.reason for event in self.told(ContributionIgnored)]

    @property
    def sums(self) -> list[tuple[int, tuple[int, ...]]]:
        return [(event.block, event.contributions) for event in self.told(BlockSummed)]

    @property
    def steps(self) -> set[tuple[str, str, str]]:
        return {(event.state, event.cause, event.next) for event in self.told(SlotChanged)}


def elements(departure: Departure) -> list[int]:
    found: list[int] = np.frombuffer(departure.payload, ">i4").tolist()
    return found
