"""One job at a parameter server, fed by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.atp_star import SERVER_IP, atp_workers, server_config
from workloads.datagrams.blocks import BlockSummed, ContributionIgnored, SlotChanged
from workloads.machine import Event
from workloads.server import ServedJob
from workloads.server.job import Departure, JobServer
from workloads.wire.aggregation import AggregationHeader, DatagramFlag, DatagramKind, Policy

__all__ = ["ServerBench"]

RESEND, COLLISION, EVICTED = DatagramFlag.RESEND, DatagramFlag.COLLISION, DatagramFlag.EVICTED


class ServerBench:
    """Three workers, a window of 4 blocks."""

    def __init__(
        self, kind: str = "atp", *, make: Callable[..., JobServer] = JobServer, workers: int = 3, again: bool = False,
        dtype: str = "int32", **job: Any,
    ) -> None:  # fmt: skip
        self.kind, self.workers = kind, workers
        config = server_config(atp_workers(workers, kind=kind, dtype=dtype, memory=8), multicast=True, **job)
        self.job: ServedJob = config.jobs[0]
        self.server = make(self.job, SERVER_IP, asks_again=again, trace=True)
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
        assert self.server.fits(fields)
        self.now += 1000
        self.server.receive(block, fields, memoryview(payload), marked=False, now=self.now)
        return self.leaving()

    def wait(self) -> list[Departure]:
        """Until the next deadline."""
        due = self.server.get_timer()
        assert due is not None, "nothing is waited for"
        self.now = max(self.now, due)
        self.server.handle_timer(self.now)
        return self.leaving()

    def leaving(self) -> list[Departure]:
        self.events += self.server.events
        found = list(self.server.departures)
        self.server.events.clear()
        self.server.departures.clear()
        return found

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
