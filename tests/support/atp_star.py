"""Workers of ATP or ESA, their parameter server and one switch in memory. What becomes of a frame is one line of a
test."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from typing import Any

from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.jobs import AggregatorKnobs, JobConfig, JobMember
from switch_nodes.registry import create_program
from workloads.atp import AtpConfig, AtpWorker
from workloads.config import ArithmeticSpec, JobShare, WorkloadConfig
from workloads.datagrams.blocks import BlockSummed
from workloads.hosts import create_host
from workloads.machine import Event
from workloads.server import JobOfServer, ParameterServer, ServedMember, ServerConfig
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, Datagram, decode_datagram

__all__ = [
    "SERVER_IP",
    "SERVER_MAC",
    "SERVICE_IP",
    "SERVICE_MAC",
    "Fate",
    "Star",
    "aggregating",
    "atp_workers",
    "server_config",
]

SERVICE_MAC, SERVICE_IP = bytes.fromhex("02000000ff01"), bytes((10, 0, 255, 1))
SERVER_MAC, SERVER_IP = bytes.fromhex("020000000064"), bytes((10, 0, 0, 100))
HOP_NS = 10_000
Fate = Callable[[str, str, Datagram], Iterable[int]]
"""(sender, receiver, what it is) -> by how many ns each of its copies is late; none: it is lost"""


def on_time(sender: str, receiver: str, found: Datagram) -> Iterable[int]:
    return (0,)


def atp_workers(
    workers: int = 3, *, job: int = 7, kind: str = "atp", elements: int = 40, iterations: int = 1, block: int = 8,
    window: int = 4, memory: int = 16, dtype: str = "int32", first_host: int = 0, **more: Any,
) -> tuple[AtpConfig, ...]:  # fmt: skip
    return tuple(
        AtpConfig(
            f"h{first_host + rank + 1}",
            JobShare(kind, job, rank, workers, ArithmeticSpec("sum", dtype)),
            WorkloadConfig("synthetic", 3 + job, elements, iterations),
            Envelope(_mac(first_host + rank), SERVER_MAC, _ip(first_host + rank), SERVER_IP, 50_000, tos=0x02),
            elements=block, window=window, memory=memory, salt=5, rto_ns=1_000_000, **more,
        )
        for rank in range(workers)
    )  # fmt: skip


def server_config(*jobs: tuple[AtpConfig, ...], multicast: bool = False, **more: Any) -> ServerConfig:
    served = [
        JobOfServer(
            first.group, first.collective.kind,
            tuple(ServedMember(w.collective.rank, w.envelope.src_mac, w.envelope.src_ip) for w in job),
            first.window, first.memory, first.salt, first.elements, first.collective.arithmetic, first.rto_ns,
            remind=first.collective.kind == "esa", multicast=multicast,
        )
        for job in jobs for first in job[:1]
    ]  # fmt: skip
    envelope = Envelope(SERVER_MAC, SERVICE_MAC, SERVER_IP, SERVICE_IP, AGGREGATION_PORT, tos=0x02)
    return ServerConfig("ps", envelope, tuple(replace(job, **more) for job in served))


def _mac(number: int) -> bytes:
    return bytes((2, 0, 0, 0, 0, number + 1))


def _ip(number: int) -> bytes:
    return bytes((10, 0, 0, number + 1))


def aggregating(kind: str, **knobs: Any) -> Callable[[Star, SwitchConfig], Any]:
    """The switch program of that name, for the `program` of a Star."""

    def make(star: Star, forward: SwitchConfig) -> Any:
        ports = dict(forward.macs)
        jobs = tuple(
            JobConfig(
                job.job,
                tuple(JobMember(member.rank, member.mac, member.ip, ports[member.mac]) for member in job.members),
                SERVICE_MAC, SERVICE_IP, 0, job.memory, job.elements, job.arithmetic,
                server=JobMember(-1, SERVER_MAC, SERVER_IP, ports[SERVER_MAC]), window=job.window,
            )
            for job in star.server_config.jobs
        )  # fmt: skip
        config = replace(forward, program=kind, jobs=jobs, memory=jobs[0].slots, knobs=AggregatorKnobs(**knobs))
        return create_program(config)

    return make


class Star:
    """`serve`: makes the server. `program`: what the switch runs; None: it forwards only."""

    def __init__(
        self,
        *jobs: tuple[AtpConfig, ...],
        fate: Fate = on_time,
        program: Any = None,
        serve: Callable[[ServerConfig], ParameterServer] = ParameterServer,
        employ: Callable[[AtpConfig], AtpWorker] = create_host,  # type: ignore[assignment]
        **server: Any,
    ) -> None:
        self.configs = {worker.name: worker for job in jobs for worker in job}
        self.server_config = server_config(*jobs, multicast=program is not None, **server)
        self._serve, self._employ = serve, employ
        self.server = serve(self.server_config)
        self.workers = {name: employ(config) for name, config in self.configs.items()}
        self.names = (*self.workers, "ps")
        macs = [(config.envelope.src_mac, port) for port, config in enumerate(self.configs.values())]
        forward = SwitchConfig("s1", "forward", len(macs) + 1, (*macs, (SERVER_MAC, len(macs))))
        self.switch = ForwardProgram(forward) if program is None else program(self, forward)
        self._fate, self.now, self._order = fate, 0, count()
        self._agenda: list[tuple[int, int, str, int, bytes]] = []
        self.events: list[tuple[str, Event]] = []
        self.lives = 0
        self.frames = 0

    @property
    def hosts(self) -> dict[str, Any]:
        return {**self.workers, "ps": self.server}

    def run(self, until: Callable[[], bool] | None = None, *, most: int = 60_000) -> Star:
        """Until every worker is finished or failed (or `until`), and no frame is on its way."""
        for _ in range(most):
            self._let_leave()
            if until() if until else self.settled:
                return self
            due = [timer for host in self.hosts.values() if (timer := host.get_timer()) is not None]
            if (timer := self.switch.get_timer()) is not None:
                due.append(timer)
            if self._agenda and (not due or self._agenda[0][0] <= min(due)):
                self.now, _, name, port, frame = heapq.heappop(self._agenda)
                (self.switch if name == "s1" else self.hosts[name]).receive_frame(port, frame, self.now)
                continue
            assert due, f"nothing can happen any more: {self.stories()}"
            self.now = max(self.now, min(due))
            for host in (*self.hosts.values(), self.switch):
                host.handle_timer(self.now)
        raise AssertionError(f"too many steps: {self.stories()}")

    @property
    def settled(self) -> bool:
        return all(worker.finished or worker.failed for worker in self.workers.values())

    def stories(self) -> str:
        return ", ".join(f"{name} waits for packet {worker._window.base}" for name, worker in self.workers.items())

    def restart_server(self) -> None:
        self.lives += 1
        self.server = self._serve(self.server_config.reborn(self.lives))

    def restart_worker(self, name: str) -> None:
        self.workers[name] = self._employ(self.configs[name])

    def told(self, kind: type[Event], node: str | None = None) -> list[Any]:
        return [event for name, event in self.events if isinstance(event, kind) and node in (None, name)]

    def finish(self) -> Star:
        for machine in (*self.hosts.values(), self.switch):
            machine.finish(self.now)
        self._hear()
        return self

    def sums(self) -> list[tuple[int, int, tuple[int, ...]]]:
        return [(e.job, e.block, e.contributions) for e in self.told(BlockSummed, "ps")]

    def _let_leave(self) -> None:
        for name, host in self.hosts.items():
            for _, frame in host.frames_to_send(self.now):
                self._send(name, "s1", self.names.index(name), bytes(frame))
        for port, frame in self.switch.frames_to_send(self.now):
            self._send("s1", self.names[port], 0, bytes(frame))
        self._hear()

    def _send(self, sender: str, receiver: str, port: int, frame: bytes) -> None:
        self.frames += 1
        found = decode_datagram(frame)
        assert found is not None, "only our datagrams are sent"
        for late in self._fate(sender, receiver, found):
            heapq.heappush(self._agenda, (self.now + HOP_NS + late, next(self._order), receiver, port, frame))

    def _hear(self) -> None:
        for name, machine in (*self.hosts.items(), ("s1", self.switch)):
            while (event := machine.next_event()) is not None:
                self.events.append((name, event))
