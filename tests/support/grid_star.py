"""Workers of GRID, their server and one switch in memory, on the `Star` of ATP; and a bench that feeds the switch by
hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.grid.program import GridProgram
from switch_nodes.jobs import JobConfig, JobMember
from switch_nodes.routes.layout import PlannedRoute, RoutedSwitch, RouteOrders
from tests.support.atp_star import SERVER_IP, SERVER_MAC, SERVICE_IP, SERVICE_MAC, Star
from workloads.config import ArithmeticSpec, JobShare, WorkloadConfig
from workloads.grid import Destination, GridConfig, NodeShare
from workloads.grid import GridOrders as WorkerOrders
from workloads.machine import Event
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    Datagram,
    DatagramKind,
    Policy,
    decode_datagram,
    encode_datagram,
)

__all__ = ["AGGREGATOR_IP", "FOREIGN_IP", "NODE", "GridBench", "grid_program", "grid_workers", "switch_of"]

NODE = 1
AGGREGATOR_IP, AGGREGATOR_MAC = bytes((10, 0, 254, 1)), bytes.fromhex("02000000fe01")
FOREIGN_IP = bytes((10, 0, 254, 2))
"""the aggregator of a switch that is elsewhere"""
Shares = Sequence[tuple[NodeShare, ...]]


def mac(number: int) -> bytes:
    return bytes((2, 0, 0, 0, 0, number + 1))


def ip(number: int) -> bytes:
    return bytes((10, 0, 0, number + 1))


def everyone_to(node: int, workers: int) -> Shares:
    return ((NodeShare(node, 1.0),),) * workers


def grid_workers(
    workers: int = 3, *, shares: Shares | None = None, elements: int = 40, iterations: int = 1, block: int = 8,
    window: int = 4, dtype: str = "int32", rate_bps: float = 0.0, orders: tuple[WorkerOrders, ...] = (), **more: Any,
) -> tuple[GridConfig, ...]:  # fmt: skip
    chosen = tuple(shares or everyone_to(NODE, workers))
    return tuple(
        GridConfig(
            f"h{rank + 1}",
            JobShare("grid", 7, rank, workers, ArithmeticSpec("sum", dtype)),
            WorkloadConfig("synthetic", 10, elements, iterations),
            Envelope(mac(rank), SERVER_MAC, ip(rank), SERVER_IP, 50_000, tos=0x02),
            elements=block, window=window, memory=1, rto_ns=1_000_000, group_ip=SERVICE_IP,
            destinations=(Destination(NODE, AGGREGATOR_IP, AGGREGATOR_MAC),),
            orders=orders or (WorkerOrders(chosen, rate_bps),), **more,
        )
        for rank in range(workers)
    )  # fmt: skip


def switch_of(
    forward: SwitchConfig, workers: int, *, shares: Shares | None = None, slots: int = 64, elements: int = 8,
    window: int = 4,
    dtype: str = "int32", capacity_bps: float = 1e12, orders: tuple[RouteOrders, ...] = (), trace: bool = False,
    **more: Any,
) -> SwitchConfig:  # fmt: skip
    """Workers behind ports 0 .. workers-1, the server behind the next, another switch behind the last."""
    members = tuple(JobMember(rank, mac(rank), ip(rank), rank) for rank in range(workers))
    job = JobConfig(
        7, members, AGGREGATOR_MAC, AGGREGATOR_IP, 0, slots, elements, ArithmeticSpec("sum", dtype),
        server=JobMember(-1, SERVER_MAC, SERVER_IP, workers), window=window,
    )  # fmt: skip
    routes = (
        PlannedRoute("results", SERVICE_IP, tuple(range(workers))),
        PlannedRoute("to-server", SERVER_IP, (workers,)),
        *(PlannedRoute(f"to-{rank}", ip(rank), (rank,)) for rank in range(workers)),
        PlannedRoute("elsewhere", FOREIGN_IP, (workers + 1,), ip(0)),
    )
    chosen = tuple(shares or everyone_to(NODE, workers))
    grid = RoutedSwitch(
        NODE, AGGREGATOR_IP, AGGREGATOR_MAC, SERVER_IP, SERVER_MAC, SERVICE_IP,
        orders or (RouteOrders(routes, chosen, planner="test"),), capacity_bps, **more,
    )  # fmt: skip
    return replace(
        forward, program="grid", ports=workers + 2, jobs=(job,), memory=slots, grid=grid, trace=trace, flood_ports=()
    )


def grid_program(**options: Any) -> Callable[[Star, SwitchConfig], GridProgram]:
    """For the `program` of a Star."""

    def make(star: Star, forward: SwitchConfig) -> GridProgram:
        (job,) = star.server_config.jobs
        known = {"window": job.window, "elements": job.elements, "dtype": job.arithmetic.dtype}
        return GridProgram(switch_of(forward, len(job.members), **{**known, **options}))

    return make


class GridBench:
    """One switch; workers' values are 100 * rank + block + element."""

    def __init__(self, workers: int = 3, **options: Any) -> None:
        base = SwitchConfig("s1", "grid", workers + 2, ((SERVER_MAC, workers), *((mac(r), r) for r in range(workers))))
        self.workers = workers
        self.program = GridProgram(switch_of(base, workers, **options))
        self.now = 0
        self.events: list[Event] = []

    def frame(
        self, rank: int, block: int, *, to: bytes = AGGREGATOR_IP, ce: bool = False, elements: int = 8,
        value: int | None = None, **header: int,
    ) -> bytes:  # fmt: skip
        values = np.arange(elements) + 100 * rank + block if value is None else np.full(elements, value)
        fields = AggregationHeader(
            Policy.GRID, DatagramKind.DATA, 7, block + 1, 0, 1 << rank, self.workers, elements, node=NODE
        )._replace(**header)
        envelope = Envelope(mac(rank), AGGREGATOR_MAC, ip(rank), to, 50_000, tos=3 if ce else 2)
        return encode_datagram(envelope, AGGREGATION_PORT, fields, values.astype(">i4").tobytes())

    def send(self, rank: int, block: int, **more: Any) -> list[tuple[int, Datagram]]:
        return self.give(rank, self.frame(rank, block, **more))

    def result(self, block: int) -> list[tuple[int, Datagram]]:
        """From the server, to all."""
        header = AggregationHeader(
            Policy.GRID, DatagramKind.RESULT, 7, block + 1, 0, (1 << self.workers) - 1, self.workers
        )
        envelope = Envelope(SERVER_MAC, SERVICE_MAC, SERVER_IP, SERVICE_IP, AGGREGATION_PORT)
        return self.give(self.workers, encode_datagram(envelope, AGGREGATION_PORT, header, b""))

    def give(self, port: int, frame: bytes) -> list[tuple[int, Datagram]]:
        """What leaves because of it: (port, what it is)."""
        self.program.receive_frame(port, frame, self.now)
        self.hear()
        return [(out, _seen(bytes(found))) for out, found in self.program.frames_to_send(self.now)]

    def hear(self) -> None:
        while (event := self.program.next_event()) is not None:
            self.events.append(event)

    def told(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def values(self, ranks: Sequence[int], block: int) -> list[int]:
        return (sum(np.arange(8) + 100 * rank + block for rank in ranks)).tolist()  # type: ignore[union-attr]


def _seen(frame: bytes) -> Datagram:
    found = decode_datagram(frame)
    assert found is not None
    return found
