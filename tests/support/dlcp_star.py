"""Hosts of a DLCP job over a wire in memory, on which each frame has its fate."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any

from numpy.typing import NDArray

from workloads.config import ArithmeticSpec, JobShare, WorkloadConfig
from workloads.dlcp import DlcpConfig
from workloads.dlcp.hosts import create_host
from workloads.gradients import source_of
from workloads.machine import HostMachine
from workloads.wire import Envelope
from workloads.wire.aggregation import Datagram, decode_datagram

__all__ = ["events", "gradients", "host_config", "mac_of", "member_ip", "run", "run_hosts"]

Fate = Callable[[int, Datagram], int]
"""(number of a frame, what it is) -> how many copies arrive"""


def member_ip(rank: int) -> bytes:
    return bytes((10, 77, 0, rank + 1))


def mac_of(rank: int) -> bytes:
    return bytes((2, 0, 0, 0, 0, rank + 1))


def host_config(rank: int, size: int = 3, **changes: Any) -> DlcpConfig:
    """Of a job of 40 elements in packets of 4, unless `changes` say otherwise."""
    workload = WorkloadConfig(
        "synthetic", changes.pop("seed", 1), changes.pop("words", 40), changes.pop("iterations", 1)
    )
    arithmetic = ArithmeticSpec("sum", changes.pop("dtype", "float32"))
    others: Iterable[int] = range(size - 1) if rank == size - 1 else (size - 1,)
    if changes.get("ring"):
        others = ((rank + 1) % size, (rank - 1) % size)
    peers = tuple(
        Envelope(mac_of(rank), mac_of(to), member_ip(rank), member_ip(to), 0xC000 + rank, tos=32) for to in others
    )
    defaults: dict[str, Any] = {"elements": 4, "window": 8, "rto_ns": 100_000, "loss_bound": 0.0}
    return DlcpConfig(
        f"h{rank + 1}", JobShare("dlcp", 1, rank, size, arithmetic), changes.pop("workload", workload),
        changes.pop("peers", peers),
        **(defaults | changes),
    )  # fmt: skip


def gradients(iteration: int, **changes: Any) -> list[NDArray[Any]]:
    """Of all ranks."""
    size = changes.pop("size", 3)
    return [source_of(host_config(rank, size, **changes)).gradient(iteration).copy() for rank in range(size)]


def run(fate: Fate = lambda number, found: 1, *, late: Callable[[int], int] = lambda number: 0, **changes: Any) -> Any:
    """All hosts: by rank, (machine, events). `late`: us that a frame takes longer than 10 us."""
    size = changes.pop("size", 3)
    return run_hosts([create_host(host_config(rank, size, **changes), 0) for rank in range(size)], fate, late)


def run_hosts(
    hosts: list[HostMachine], fate: Fate, late: Callable[[int], int], until_ns: int = 20_000_000_000
) -> list[tuple[Any, list[Any]]]:
    told: list[list[Any]] = [[] for _ in hosts]
    wire: list[tuple[int, int, int, bytes]] = []
    now = number = 0

    def look(rank: int) -> None:
        nonlocal number
        host = hosts[rank]
        while (timer := host.get_timer()) is not None and timer <= now:
            host.handle_timer(now)
        for _, frame in host.frames_to_send(now):
            found = decode_datagram(frame)
            assert found is not None
            number += 1
            for copy in range(fate(number, found)):
                due = now + 10_000 + 1000 * late(number + copy)
                heapq.heappush(wire, (due, number * 8 + copy, found.dst_ip[3] - 1, bytes(frame)))
        while (event := host.next_event()) is not None:
            told[rank].append(event)

    for rank in range(len(hosts)):
        look(rank)
    while not all(host.finished for host in hosts) and now < until_ns:  # type: ignore[attr-defined]
        timers = [timer for host in hosts if (timer := host.get_timer()) is not None]
        following = min([*timers, *(due for due, *_ in wire[:1])], default=until_ns)
        now = max(now, following)
        if wire and wire[0][0] <= now:
            _, _, rank, frame = heapq.heappop(wire)
            hosts[rank].receive_frame(0, frame, now)
            look(rank)
        else:
            for rank in range(len(hosts)):
                look(rank)
    for rank, host in enumerate(hosts):
        host.finish(now)
        while (event := host.next_event()) is not None:
            told[rank].append(event)
    return list(zip(hosts, told, strict=True))


def events(told: list[Any], kind: type) -> list[Any]:
    return [event for event in told if isinstance(event, kind)]
