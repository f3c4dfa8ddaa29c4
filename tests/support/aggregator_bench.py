"""Datagrams of ATP and ESA jobs, and a bench that feeds one switch program by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from switch_nodes.aggregators import AtpProgram, EsaProgram
from switch_nodes.aggregators.core import AggregatorProgram
from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import AggregatorKnobs, JobConfig, JobMember
from tests.support.switchml_bench import SERVICE_IP, SERVICE_MAC, member_ip, member_mac
from workloads.config import ArithmeticSpec
from workloads.datagrams.blocks import BlockSummed, Collided, ContributionIgnored, MemoryAtEnd, PartialSent
from workloads.machine import Event
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
from workloads.wire.ecn import mark_ce

__all__ = [
    "ACK",
    "EARLY",
    "REAL",
    "Bench",
    "MakeProgram",
    "Programs",
    "Sent",
    "contribution",
    "job_config",
    "switch_config",
]

MakeProgram = Callable[[SwitchConfig], AggregatorProgram]
EARLY, ACK = AggregatorKnobs(), AggregatorKnobs(free="ack")
MEMORY = 8


class Programs(NamedTuple):
    """The two that a case tries."""

    atp: MakeProgram
    esa: MakeProgram


REAL = Programs(AtpProgram, EsaProgram)


class Sent(NamedTuple):
    """A frame that left."""

    port: int
    kind: int
    bitmap: int
    flags: int
    values: list[int]
    header: AggregationHeader
    src_ip: bytes
    dst_ip: bytes
    frame: bytes


def seen(port: int, frame: bytes) -> Sent:
    found = decode_datagram(frame)
    assert found is not None
    h = found.header
    values: list[int] = np.frombuffer(found.payload, ">i4").tolist()
    return Sent(port, h.kind, h.bitmap0, h.flags, values, h, found.src_ip, found.dst_ip, frame)


def job_config(
    job: int = 7, *, first: int = 0, workers: int = 3, memory: int = MEMORY, dtype: str = "int32", window: int = 1
) -> JobConfig:
    """Workers behind ports first .. first + workers - 1, the server behind the next."""
    hosts = [JobMember(n - first, member_mac(n), member_ip(n), n) for n in range(first, first + workers + 1)]
    return JobConfig(
        job, tuple(hosts[:-1]), SERVICE_MAC, SERVICE_IP, 0, memory, elements=8, arithmetic=ArithmeticSpec("sum", dtype),
        server=replace(hosts[-1], rank=-1), window=window,
    )  # fmt: skip


def switch_config(*jobs: JobConfig, **changes: object) -> SwitchConfig:
    hosts = [host for job in jobs for host in (*job.members, job.server) if host is not None]
    config = SwitchConfig(
        "s1", "atp", max(host.port for host in hosts) + 2, tuple({host.mac: host.port for host in hosts}.items()),
        jobs=jobs, memory=max(job.slots for job in jobs),
    )  # fmt: skip
    return replace(config, **changes)  # type: ignore[arg-type]


def contribution(
    config: JobConfig, rank: int, block: int, values: Sequence[int] | None = None, *, policy: int = Policy.ATP,
    ce: bool = False, sport: int = 5000, exponents: tuple[int, int] = (0, 0), **header: int,
) -> bytes:  # fmt: skip
    """What `rank` sends; keyword arguments replace fields of the header."""
    elements = np.array(Bench.values(rank, block) if values is None else values, ">i4")
    server, member = config.server, config.members[rank]
    assert server is not None
    fields = AggregationHeader(
        policy=policy, kind=DatagramKind.DATA, job=config.job, sequence=(block + 1) % (1 << 32),
        slot=block % config.slots, bitmap0=1 << rank, fan_in0=len(config.members), nelem=len(elements),
        exponent0=exponents[0], exponent1=exponents[1], op=int(config.arithmetic.dtype == "int32sat"),
        server=int.from_bytes(server.ip, "big"),
    )._replace(**header)  # fmt: skip
    envelope = Envelope(member.mac, server.mac, member.ip, server.ip, sport, tos=2)
    frame = encode_datagram(envelope, AGGREGATION_PORT, fields, elements.tobytes())
    return (mark_ce(frame) or frame) if ce else frame


class Bench:
    """One switch program; the last port is free."""

    def __init__(
        self, make: MakeProgram, *jobs: JobConfig, workers: int = 3, knobs: AggregatorKnobs = EARLY, trace: bool = False
    ) -> None:
        self.jobs = jobs or (job_config(workers=workers),)
        self.config = switch_config(*self.jobs, knobs=knobs, trace=trace)
        self.program = make(self.config)
        self.policy = int(self.program.policy)
        self.events: list[Event] = []
        self.now = 0

    @staticmethod
    def values(rank: int, block: int) -> list[int]:
        """No two sets of contributions have one sum, and no sum of 32 wraps."""
        return [(rank * rank + 1) * 100_003 + block % 65_521, -(rank + 1) * (block % 65_521 + 1)]

    def total(self, block: int, ranks: Sequence[int] = (0, 1, 2)) -> list[int]:
        return [sum(column) for column in zip(*(self.values(rank, block) for rank in ranks), strict=True)]

    def give(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """Frames that leave because of it, as (port, frame)."""
        self.now += 1000
        self.program.receive_frame(port, frame, self.now)
        while (event := self.program.next_event()) is not None:
            self.events.append(event)
        return [(out, bytes(sent)) for out, sent in self.program.frames_to_send(self.now)]

    def frame(self, rank: int, block: int, values: Sequence[int] | None = None, **more: object) -> bytes:
        config: JobConfig = more.pop("job", self.jobs[0])  # type: ignore[assignment]
        return contribution(config, rank, block, values, **{"policy": self.policy, **more})  # type: ignore[arg-type]

    def send(self, rank: int, block: int, values: Sequence[int] | None = None, **more: object) -> list[Sent]:
        config: JobConfig = more.get("job") or self.jobs[0]  # type: ignore[assignment]
        return [seen(*out) for out in self.give(config.members[rank].port, self.frame(rank, block, values, **more))]

    def resend(self, rank: int, block: int, **more: object) -> list[Sent]:
        return self.send(rank, block, flags=DatagramFlag.RESEND, **more)

    def fill(self, block: int, ranks: Sequence[int] = (0, 1, 2), **more: object) -> list[Sent]:
        """All of `ranks` send; nothing leaves before the last one has."""
        out: list[Sent] = []
        for rank in ranks:
            assert not out, "nothing leaves before the last contribution"
            out = self.send(rank, block, **more)
        return out

    def from_server(
        self, kind: int, block: int, values: Sequence[int] = (), *, job: JobConfig | None = None, to: int | None = None,
        ce: bool = False, **header: int,
    ) -> list[Sent]:  # fmt: skip
        """To the service, or to worker `to`."""
        config = job or self.jobs[0]
        server, elements = config.server, np.array(values, ">i4")
        assert server is not None
        fields = AggregationHeader(
            policy=self.policy, kind=kind, job=config.job, sequence=(block + 1) % (1 << 32), slot=block % config.slots,
            bitmap0=(1 << len(config.members)) - 1, fan_in0=len(config.members), nelem=len(elements),
        )._replace(**header)  # fmt: skip
        mac, ip = (SERVICE_MAC, SERVICE_IP) if to is None else (config.members[to].mac, config.members[to].ip)
        frame = encode_datagram(
            Envelope(server.mac, mac, server.ip, ip, 6000, tos=2), AGGREGATION_PORT, fields, elements.tobytes()
        )
        return [seen(*out) for out in self.give(server.port, (mark_ce(frame) or frame) if ce else frame)]

    def result(self, block: int, values: Sequence[int] = (1, 2), **more: object) -> list[Sent]:
        return self.from_server(DatagramKind.RESULT, block, values, **more)  # type: ignore[arg-type]

    def remind(self, block: int, **more: object) -> list[Sent]:
        return self.from_server(DatagramKind.REMINDER, block, **more)  # type: ignore[arg-type]

    def told(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def reasons(self) -> list[str]:
        return [event.reason for event in self.events if isinstance(event, ContributionIgnored)]

    @property
    def summed(self) -> list[tuple[int, tuple[int, ...]]]:
        return [(event.block, event.contributions) for event in self.events if isinstance(event, BlockSummed)]

    @property
    def partial(self) -> list[tuple[int, tuple[int, ...], str]]:
        return [(e.block, e.contributions, e.reason) for e in self.events if isinstance(e, PartialSent)]

    @property
    def collided(self) -> list[tuple[int, int, int, int]]:
        """(job, block, owner's job, owner's block)"""
        return [(e.job, e.block, e.owner_job, e.owner_block) for e in self.events if isinstance(e, Collided)]

    def occupied(self) -> list[int]:
        return [index for index, slot in enumerate(self.program.memory.slots) if slot is not None]

    def at_end(self) -> list[MemoryAtEnd]:
        self.program.finish(self.now)
        while (event := self.program.next_event()) is not None:
            self.events.append(event)
        return [event for event in self.events if isinstance(event, MemoryAtEnd)]
