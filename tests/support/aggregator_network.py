"""Model workers and servers around real ATP and ESA switches, at one level or two, on links that lose, copy and
reorder.

The models are as simple as the protocol text allows (sections 3.3, 3.4, 4.3): they time out when they are told to.
Everything that leaves a switch is looked at: what it says is inside must be inside, and go to its own job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from switch_nodes.aggregators.core import AggregatorProgram
from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.jobs import AggregatorKnobs, JobConfig, JobMember, RackLevels
from tests.support.aggregator_bench import ACK, MakeProgram, Sent, contribution, seen
from tests.support.switchml_bench import SERVICE_IP, SERVICE_MAC, member_ip, member_mac
from workloads.config import ArithmeticSpec
from workloads.datagrams.blocks import BlockSummed, MemoryAtEnd, PartialSent
from workloads.machine import Event
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, AggregationHeader, DatagramFlag, DatagramKind, encode_datagram

__all__ = ["Flight", "Layout", "Network"]

FIRST_JOB = 3
RESEND, COLLISION = int(DatagramFlag.RESEND), int(DatagramFlag.COLLISION)
SWITCH_IP = SERVICE_IP


@dataclass(frozen=True)
class Layout:
    """Of one job: workers by rack, and where its server is. One rack and its server in it: one level."""

    racks: tuple[int, ...]
    server_rack: int = 0
    priority: int = 0


@dataclass
class Flight:
    """A frame on its way to a switch's port, or to a host (port -1)."""

    to: str
    port: int
    frame: bytes


@dataclass
class Job:
    """One job's servers and workers."""

    config: JobConfig
    priority: int
    table: list[list[int]]
    """[rank][block mod W]: index"""
    sent: list[int] = field(default_factory=list)
    """blocks begun, by rank"""
    results: list[dict[int, list[int]]] = field(default_factory=list)
    """[rank][block]"""
    inside: dict[int, tuple[int, list[int]]] = field(default_factory=dict)
    """at the server: [block] workers, and their sum"""
    done: dict[int, list[int]] = field(default_factory=dict)
    moved: dict[int, int] = field(default_factory=dict)
    """at the server: [block] the index to use from now on"""

    @property
    def size(self) -> int:
        return len(self.config.members)

    def values(self, rank: int, block: int) -> list[int]:
        job = self.config.job
        return [job * 1_000_003 + (1 << rank) * 4001 + block, -job * (1 << rank) - 31 * block]

    def total(self, block: int, bitmap: int) -> list[int]:
        parts = [self.values(rank, block) for rank in range(self.size) if bitmap >> rank & 1]
        return [sum(column) for column in zip(*parts, strict=True)]


class Network:
    def __init__(
        self, make: MakeProgram, layouts: Sequence[Layout], *, knobs: AggregatorKnobs = ACK, memory: int = 4,
        window: int = 2, blocks: int = 6,
    ) -> None:  # fmt: skip
        self.blocks, self.window, self.memory = blocks, window, memory
        self.flights: list[Flight] = []
        self.events: list[tuple[str, Event]] = []
        self.left: list[tuple[str, Sent]] = []
        """what left which switch"""
        self.arrived: list[tuple[int, Sent]] = []
        """what came to which host"""
        self.answering = True
        """servers do something with what comes"""
        self.now = 0
        self._place(layouts)
        self.switches = {name: self._switch(make, name, knobs) for name in self._hosts_at}
        if len(self.switches) > 1:
            spine = SwitchConfig("spine", "forward", len(self.switches), tuple(self._towards.items()))
            self.switches["spine"] = ForwardProgram(spine)
        self.policy = int(next(p for p in self.switches.values() if isinstance(p, AggregatorProgram)).policy)

    def _place(self, layouts: Sequence[Layout]) -> None:
        """Hosts get numbers, job by job: workers, then the server. Each leaf has its hosts' ports, then the
        uplink's."""
        racks = max(max(len(layout.racks), layout.server_rack + 1) for layout in layouts)
        self._hosts_at: dict[str, list[int]] = {f"leaf{rack}": [] for rack in range(racks)}
        self._towards: dict[bytes, int] = {}
        self._ranks: list[tuple[Layout, list[int], list[int]]] = []
        number = 0
        for layout in layouts:
            rack_of = [rack for rack, workers in enumerate(layout.racks) for _ in range(workers)]
            numbers = list(range(number, number + len(rack_of) + 1))
            for host, rack in zip(numbers, [*rack_of, layout.server_rack], strict=True):
                self._hosts_at[f"leaf{rack}"].append(host)
                self._towards[member_mac(host)] = rack
            self._ranks.append((layout, numbers, rack_of))
            number += len(numbers)
        self.jobs: dict[int, Job] = {}
        self._owner: dict[int, tuple[int, int]] = {}
        """host -> (job, rank); rank -1: its server"""
        for job, (layout, numbers, rack_of) in enumerate(self._ranks, FIRST_JOB):
            size = len(rack_of)
            table = [[(job + turn) % self.memory for turn in range(self.window)] for _ in range(size)]
            config = self._job_config(job, "leaf0")
            self.jobs[job] = Job(config, layout.priority, table, [0] * size, [{} for _ in range(size)])
            for rank, host in enumerate(numbers):
                self._owner[host] = (job, rank if rank < size else -1)

    def _job_config(self, job: int, leaf: str) -> JobConfig:
        """As `leaf` is told."""
        layout, numbers, rack_of = self._ranks[job - FIRST_JOB]
        ports = {host: port for port, host in enumerate(self._hosts_at[leaf])}
        uplink = len(ports)
        hosts = [JobMember(rank, member_mac(n), member_ip(n), ports.get(n, uplink)) for rank, n in enumerate(numbers)]
        here, levels = int(leaf[4:]), None
        if len(self._hosts_at) > 1:
            used = [rack for rack, workers in enumerate(layout.racks) if workers]
            racks = tuple(tuple(r for r, rack in enumerate(rack_of) if rack == which) for which in used)
            levels = RackLevels(racks, used.index(here) if here in used else None, layout.server_rack == here)
        return JobConfig(
            job, tuple(hosts[:-1]), SERVICE_MAC, SERVICE_IP, 0, self.memory, elements=8,
            arithmetic=ArithmeticSpec("sum", "int32"), server=replace(hosts[-1], rank=-1), window=self.window,
            levels=levels,
        )  # fmt: skip

    def _switch(self, make: MakeProgram, leaf: str, knobs: AggregatorKnobs) -> ForwardProgram:
        ports = {member_mac(host): port for port, host in enumerate(self._hosts_at[leaf])}
        uplink = len(ports)
        configs = [self._job_config(job, leaf) for job in self.jobs]
        jobs = tuple(c for c in configs if c.levels is None or c.levels.collects or c.levels.own is not None)
        macs = tuple((mac, ports.get(mac, uplink)) for mac in self._towards)
        config = SwitchConfig(leaf, "esa", uplink + 1, macs, jobs=jobs, memory=self.memory, knobs=knobs)
        return make(config)

    # Frames on their way

    def host_sends(self, host: int, frame: bytes) -> None:
        leaf = f"leaf{self._towards[member_mac(host)]}"
        self.flights.append(Flight(leaf, self._hosts_at[leaf].index(host), frame))

    def deliver(self, number: int = 0) -> list[Sent]:
        """One of the flights arrives. What leaves a switch because of it."""
        flight = self.flights.pop(number)
        if flight.port < 0:
            self._host_receives(int(flight.to), seen(0, flight.frame))
            return []
        return self.give(flight.to, flight.port, flight.frame)

    def give(self, name: str, port: int, frame: bytes) -> list[Sent]:
        program = self.switches[name]
        before = self.occupied(name)
        self.now += 1000
        program.receive_frame(port, frame, self.now)
        self._listen(name)
        out = [(where, bytes(sent)) for where, sent in program.frames_to_send(self.now)]
        sent = [seen(*one) for one in out]
        self.left += [(name, each) for each in sent]
        self._check(name, seen(port, frame), sent, before)
        for where, each in out:
            self.flights.append(self._flight(name, where, each))
        return sent

    def _listen(self, name: str) -> None:
        while (event := self.switches[name].next_event()) is not None:
            self.events.append((name, event))

    def _flight(self, name: str, port: int, frame: bytes) -> Flight:
        if name == "spine":
            leaf = f"leaf{port}"
            return Flight(leaf, len(self._hosts_at[leaf]), frame)
        hosts = self._hosts_at[name]
        return Flight(str(hosts[port]), -1, frame) if port < len(hosts) else Flight("spine", int(name[4:]), frame)

    def occupied(self, name: str) -> int:
        program = self.switches[name]
        return sum(s is not None for s in program.memory.slots) if isinstance(program, AggregatorProgram) else 0

    def _check(self, name: str, came: Sent, left: list[Sent], before: int) -> None:
        """I2, I7, I8, and of I5 that a slot does not outlive the next use of its index."""
        for sent in left:
            job = self.jobs[sent.header.job]
            if sent.kind in (DatagramKind.DATA, DatagramKind.RESULT):
                assert sent.values == job.total(sent.header.sequence - 1, sent.bitmap), (
                    "what is inside is not what it says"
                )
        program = self.switches[name]
        if not isinstance(program, AggregatorProgram):
            return
        multicasts = {s.header.kind for s in left} & {DatagramKind.RESULT, DatagramKind.REMINDER}
        others = [s for s in left if s.kind not in multicasts]
        assert len(others) <= (0 if DatagramKind.RESULT in multicasts else 1), "one in, one out"
        assert len({(s.port, s.dst_ip, s.frame[:6]) for s in left}) == len(left), "a receiver gets one"
        if came.flags & RESEND:
            assert self.occupied(name) <= before, "who asks again gets no slot"
        for slot in program.memory.slots:
            if slot is not None:
                assert np.asarray(slot.values).tolist() == self.jobs[slot.served.job].total(slot.block, slot.bitmap)
        slot = program.memory.slots[came.header.slot]
        if came.kind == DatagramKind.DATA and not came.flags and slot is not None and program.knobs.reclaim:
            own = slot.served.job == came.header.job
            here = (
                came.header.job in program.served
                and int.from_bytes(came.src_ip, "big") in program.served[came.header.job].ranks
            )
            local = here and any(m.ip == came.src_ip for m in program.served[came.header.job].here)
            assert not (own and local and slot.sequence + self.window <= came.header.sequence), (
                "an old block keeps the slot"
            )

    # Hosts

    def _host_receives(self, host: int, got: Sent) -> None:
        job, rank = self._owner[host]
        self.arrived.append((host, got))
        assert got.header.job == job, "a job's bytes came to another job"
        if rank < 0:
            if self.answering:
                self._server_receives(self.jobs[job], got)
        elif got.kind == DatagramKind.RESULT:
            self._worker_receives(self.jobs[job], rank, got)
        else:
            assert got.kind == DatagramKind.NACK

    def start(self, job: int, rank: int) -> bool:
        """The worker begins its next block, if the window lets it."""
        j = self.jobs[job]
        block = j.sent[rank]
        if block >= self.blocks or (block >= self.window and block - self.window not in j.results[rank]):
            return False
        j.sent[rank] += 1
        self._send(j, rank, block, 0)
        return True

    def timeout(self, job: int, rank: int, block: int) -> None:
        j = self.jobs[job]
        if block < j.sent[rank] and block not in j.results[rank]:
            self._send(j, rank, block, RESEND)

    def nack(self, job: int, rank: int, block: int) -> None:
        """Who has the result answers with it."""
        j = self.jobs[job]
        if block in j.results[rank]:
            self._send(j, rank, block, RESEND, bitmap0=(1 << j.size) - 1, values=j.results[rank][block])

    def _send(self, j: Job, rank: int, block: int, flags: int, **more: object) -> None:
        values = more.pop("values", None) or j.values(rank, block)
        levels = j.config.levels
        rack = range(j.size) if levels is None else next(r for r in levels.racks if rank in r)
        frame = contribution(
            j.config, rank, block, values, policy=self.policy, slot=j.table[rank][block % self.window], flags=flags,
            priority=j.priority, fan_in0=len(rack), fan_in1=0 if levels is None else len(levels.racks), **more,
        )  # type: ignore[arg-type]  # fmt: skip
        self.host_sends(self._ranks[j.config.job - FIRST_JOB][1][rank], frame)

    def _worker_receives(self, j: Job, rank: int, got: Sent) -> None:
        block = got.header.sequence - 1
        assert got.values == j.total(block, (1 << j.size) - 1), "a wrong sum"
        if block in j.results[rank]:
            return
        j.results[rank][block] = got.values
        if got.flags & COLLISION:
            j.table[rank][block % self.window] = got.header.new_slot

    def _server_receives(self, j: Job, got: Sent) -> None:
        block, bitmap, everyone = got.header.sequence - 1, got.bitmap, (1 << j.size) - 1
        if got.kind == DatagramKind.RESULT:
            j.done.setdefault(block, got.values)
            return
        if got.kind != DatagramKind.DATA:
            assert got.kind == DatagramKind.REMINDER_EMPTY
            return
        if got.flags & COLLISION and block not in j.done and block not in j.moved:
            used = {slot for row in j.table for slot in row}
            free = [slot for slot in range(self.memory) if slot not in used]
            if free:
                j.moved[block] = free[block % len(free)]
        if block in j.done:
            if got.flags & RESEND:
                for rank in range(j.size):
                    if bitmap >> rank & 1:
                        self.server_sends(j, DatagramKind.RESULT, block, got.header.slot, to=rank)
            return
        inside, total = j.inside.get(block, (0, [0, 0]))
        if bitmap == everyone:
            inside, total = everyone, got.values
        elif not bitmap & inside:
            inside, total = inside | bitmap, [a + b for a, b in zip(total, got.values, strict=True)]
        j.inside[block] = inside, total
        if inside == everyone:
            j.done[block] = total
            self.server_sends(j, DatagramKind.RESULT, block, got.header.slot)

    def server_sends(self, j: Job, kind: int, block: int, slot: int, to: int | None = None) -> None:
        _, numbers, _ = self._ranks[j.config.job - FIRST_JOB]
        mac, ip = (SERVICE_MAC, SWITCH_IP) if to is None else (member_mac(numbers[to]), member_ip(numbers[to]))
        values = j.done[block] if kind == DatagramKind.RESULT else []
        moved = j.moved.get(block)
        header = AggregationHeader(
            self.policy, kind, j.config.job, block + 1, slot, (1 << j.size) - 1, j.size, len(values),
            flags=0 if moved is None else COLLISION, new_slot=slot if moved is None else moved,
        )  # fmt: skip
        server = numbers[-1]
        payload = b"".join((v & 0xFFFFFFFF).to_bytes(4, "big") for v in values)
        envelope = Envelope(member_mac(server), mac, member_ip(server), ip, 6000, tos=2)
        self.host_sends(server, encode_datagram(envelope, AGGREGATION_PORT, header, payload))

    def remind(self, job: int, block: int) -> None:
        j = self.jobs[job]
        self.server_sends(j, DatagramKind.REMINDER, block, j.table[0][block % self.window])

    # The end

    def drain(self) -> None:
        while self.flights:
            self.deliver()

    def settle(self) -> None:
        """No faults any more: who waits asks, and a server that cannot answer asks those who have the result."""
        for _ in range(40 * self.blocks):
            self.drain()
            if all(len(results) == self.blocks for j in self.jobs.values() for results in j.results):
                return
            for job, j in self.jobs.items():
                for rank in range(j.size):
                    while self.start(job, rank):
                        pass
                    for block in range(j.sent[rank]):
                        self.timeout(job, rank, block)
                        if any(block not in results for results in j.results):
                            self.nack(job, rank, block)
        raise AssertionError("the jobs do not end")

    def check_end(self) -> None:
        """I5, and what was told."""
        for name, program in self.switches.items():
            program.finish(self.now)
            self._listen(name)
        for name, event in self.events:
            if isinstance(event, MemoryAtEnd):
                assert event.open == 0, f"{name} holds a block that has ended"
            if isinstance(event, PartialSent):
                told = sum(1 << rank for rank, count in enumerate(event.contributions) if count)
                assert (max(event.contributions), told) == (1, event.bitmap)
            if isinstance(event, BlockSummed):
                assert set(event.contributions) == {1}
        summed = [(name, e.job, e.block) for name, e in self.events if isinstance(e, BlockSummed)]
        assert len(set(summed)) == len(summed)
