"""Datagrams of SwitchML jobs, and a bench that feeds one switch program by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig, JobMember
from switch_nodes.switchml import SwitchMlProgram
from tests.support.switchml_framings import UDP, Hand, Result, TestFraming, uc_pairs
from workloads.datagrams.blocks import BlockReplayed, BlockSummed, ContributionIgnored, MemoryAtEnd
from workloads.machine import Event
from workloads.wire.aggregation import AggregationHeader, DatagramFlag, DatagramKind, Policy

__all__ = [
    "SERVICE_IP",
    "Bench",
    "MakeBench",
    "MakeProgram",
    "job_config",
    "member_ip",
    "member_mac",
    "over",
    "switch_config",
]

MakeProgram = Callable[[SwitchConfig], SwitchMlProgram]
MakeBench = Callable[..., "Bench"]
"""the arguments of `Bench` but for the program and the framing"""
SERVICE_MAC, SERVICE_IP = bytes.fromhex("02000000ff01"), bytes((10, 0, 255, 1))


def member_mac(number: int) -> bytes:
    return bytes((2, 0, 0, 0, 0, number + 1))


def member_ip(number: int) -> bytes:
    return bytes((10, 0, 0, number + 1))


def job_config(
    job: int = 7, *, first_member: int = 0, workers: int = 3, first_slot: int = 0, slots: int = 4
) -> JobConfig:
    members = tuple(
        JobMember(rank, member_mac(first_member + rank), member_ip(first_member + rank), first_member + rank)
        for rank in range(workers)
    )
    return JobConfig(job, members, SERVICE_MAC, SERVICE_IP, first_slot, slots, elements=8)


def switch_config(*jobs: JobConfig, **changes: object) -> SwitchConfig:
    members = [member for job in jobs for member in job.members]
    config = SwitchConfig(
        "s1", "switchml", len(members) + 1, tuple((member.mac, member.port) for member in members), jobs=jobs,
        memory=2 * max(job.first_slot + job.slots for job in jobs),
    )  # fmt: skip
    return replace(config, **changes)  # type: ignore[arg-type]


def over(framing: TestFraming, job: JobConfig) -> JobConfig:
    """The same job on queue pairs, if the framing is UC."""
    mtu = framing.path_mtu
    if mtu is None:
        return job
    members = (replace(member, uc=uc_pairs(member.rank, job.first_slot, mtu)) for member in job.members)
    return replace(job, members=tuple(members))


class Bench:
    """One switch program; the port behind the members' is free."""

    def __init__(
        self,
        make: MakeProgram,
        *jobs: JobConfig,
        workers: int = 3,
        trace: bool = False,
        framing: TestFraming = UDP,
    ) -> None:
        self.framing = framing
        self.jobs = tuple(over(framing, job) for job in jobs or (job_config(workers=workers),))
        self._hands: dict[tuple[int, int, int], Hand] = {}
        self.program = make(switch_config(*self.jobs, trace=trace))
        self.events: list[Event] = []
        self.now = 0

    @property
    def window(self) -> int:
        return self.jobs[0].slots

    def hand(self, job: JobConfig, rank: int, sport: int = 5000) -> Hand:
        key = job.job, rank, sport
        if key not in self._hands:
            self._hands[key] = Hand(job, job.members[rank], sport)
        return self._hands[key]

    def frames(
        self,
        rank: int,
        block: int,
        values: Sequence[int] | None = None,
        *,
        job: JobConfig | None = None,
        exponents: tuple[int, int] = (0, 0),
        sport: int = 5000,
        **header: int,
    ) -> Sequence[bytes]:
        """What `rank` sends for `block`; keyword arguments replace fields of the header."""
        config = self.job(job)
        elements = np.array(self.values(rank, block) if values is None else values, ">i4")
        turn = block % (2 * config.slots)
        fields = AggregationHeader(
            policy=Policy.SWITCHML, kind=DatagramKind.DATA, job=config.job, sequence=(block + 1) % (1 << 32),
            slot=config.first_slot + turn % config.slots, bitmap0=1 << rank, fan_in0=len(config.members),
            nelem=len(elements), flags=DatagramFlag.VERSION if turn >= config.slots else 0,
            exponent0=exponents[0], exponent1=exponents[1],
        )._replace(**header)  # fmt: skip
        return self.hand(config, rank, sport).frames(fields, elements.tobytes(), turn % config.slots)

    def job(self, job: JobConfig | None) -> JobConfig:
        """Ours with that id; None: the first."""
        return self.jobs[0] if job is None else next(own for own in self.jobs if own.job == job.job)

    @staticmethod
    def values(rank: int, block: int) -> list[int]:
        """No two sets of contributions have one sum, and no sum of 32 wraps."""
        return [(rank * rank + 1) * 100_003 + block % 65_521, -(rank + 1) * (block % 65_521 + 1)]

    def total(self, block: int, workers: int = 3) -> list[int]:
        return [sum(column) for column in zip(*(self.values(rank, block) for rank in range(workers)), strict=True)]

    def give(self, port: int, frames: bytes | Iterable[bytes]) -> list[tuple[int, bytes]]:
        """Frames that leave because of these, as (port, frame)."""
        self.now += 1000
        for frame in [frames] if isinstance(frames, bytes) else frames:
            self.program.receive_frame(port, frame, self.now)
        while (event := self.program.next_event()) is not None:
            self.events.append(event)
        return [(out, bytes(sent)) for out, sent in self.program.frames_to_send(self.now)]

    def send(self, rank: int, block: int, values: Sequence[int] | None = None, **more: object) -> dict[int, list[int]]:
        """Results by port."""
        config = self.job(more.get("job"))  # type: ignore[arg-type]
        frames = self.frames(rank, block, values, **more)  # type: ignore[arg-type]
        sent = self.give(config.members[rank].port, frames)
        return {port: np.frombuffer(found.payload, ">i4").tolist() for port, found in self.results(sent)}

    def results(self, sent: Iterable[tuple[int, bytes]]) -> list[tuple[int, Result]]:
        """Of frames that left, as (port, result)."""
        found = []
        for port, frame in sent:
            job, rank = next((job, m.rank) for job in self.jobs for m in job.members if m.port == port)
            arrival = self.hand(job, rank).receive(frame)
            if arrival is not None:
                assert arrival.header.kind == DatagramKind.RESULT
                found.append((port, arrival))
        return found

    def send_all(self, block: int, workers: int = 3) -> dict[int, list[int]]:
        results: dict[int, list[int]] = {}
        for rank in range(workers):
            assert not results, "nothing leaves before the last contribution"
            results = self.send(rank, block)
        return results

    def told(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def reasons(self) -> list[str]:
        return [event.reason for event in self.events if isinstance(event, ContributionIgnored)]

    @property
    def summed(self) -> list[tuple[int, tuple[int, ...]]]:
        return [(event.block, event.contributions) for event in self.events if isinstance(event, BlockSummed)]

    @property
    def replayed(self) -> list[tuple[int, int]]:
        return [(event.rank, event.block) for event in self.events if isinstance(event, BlockReplayed)]

    def at_end(self) -> list[MemoryAtEnd]:
        self.program.finish(self.now)
        while (event := self.program.next_event()) is not None:
            self.events.append(event)
        return [event for event in self.events if isinstance(event, MemoryAtEnd)]
