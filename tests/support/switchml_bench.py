"""Datagrams of SwitchML jobs, and a bench that feeds one switch program by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig, JobMember
from switch_nodes.switchml import SwitchMlProgram
from workloads.blocks import BlockReplayed, BlockSummed, ContributionIgnored, MemoryAtEnd
from workloads.machine import Event
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    Datagram,
    DatagramFlag,
    DatagramKind,
    Policy,
    decode_datagram,
    encode_datagram,
)

__all__ = ["Bench", "MakeProgram", "job_config", "member_ip", "member_mac", "switch_config"]

MakeProgram = Callable[[SwitchConfig], SwitchMlProgram]
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


class Bench:
    """One switch program; the port behind the members' is free."""

    def __init__(self, make: MakeProgram, *jobs: JobConfig, workers: int = 3, trace: bool = False) -> None:
        self.jobs = jobs or (job_config(workers=workers),)
        self.program = make(switch_config(*self.jobs, trace=trace))
        self.events: list[Event] = []
        self.now = 0

    @property
    def window(self) -> int:
        return self.jobs[0].slots

    def frame(
        self,
        rank: int,
        block: int,
        values: Sequence[int] | None = None,
        *,
        job: JobConfig | None = None,
        exponents: tuple[int, int] = (0, 0),
        sport: int = 5000,
        **header: int,
    ) -> bytes:
        """What `rank` sends for `block`; keyword arguments replace fields of the header."""
        config = job or self.jobs[0]
        elements = np.array(self.values(rank, block) if values is None else values, ">i4")
        turn = block % (2 * config.slots)
        fields = AggregationHeader(
            policy=Policy.SWITCHML, kind=DatagramKind.DATA, job=config.job, sequence=(block + 1) % (1 << 32),
            slot=config.first_slot + turn % config.slots, bitmap0=1 << rank, fan_in0=len(config.members),
            nelem=len(elements), flags=DatagramFlag.VERSION if turn >= config.slots else 0,
            exponent0=exponents[0], exponent1=exponents[1],
        )._replace(**header)  # fmt: skip
        member = config.members[rank]
        envelope = Envelope(member.mac, SERVICE_MAC, member.ip, SERVICE_IP, sport)
        return encode_datagram(envelope, AGGREGATION_PORT, fields, elements.tobytes())

    @staticmethod
    def values(rank: int, block: int) -> list[int]:
        """No two sets of contributions have one sum, and no sum of 32 wraps."""
        return [(rank * rank + 1) * 100_003 + block % 65_521, -(rank + 1) * (block % 65_521 + 1)]

    def total(self, block: int, workers: int = 3) -> list[int]:
        return [sum(column) for column in zip(*(self.values(rank, block) for rank in range(workers)), strict=True)]

    def give(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """Frames that leave because of it, as (port, frame)."""
        self.now += 1000
        self.program.receive_frame(port, frame, self.now)
        while (event := self.program.next_event()) is not None:
            self.events.append(event)
        return [(out, bytes(sent)) for out, sent in self.program.frames_to_send(self.now)]

    def send(self, rank: int, block: int, values: Sequence[int] | None = None, **more: object) -> dict[int, list[int]]:
        """Results by port."""
        config: JobConfig = more.get("job") or self.jobs[0]  # type: ignore[assignment]
        frame = self.frame(rank, block, values, **more)  # type: ignore[arg-type]
        return {port: result_values(sent) for port, sent in self.give(config.members[rank].port, frame)}

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


def result(frame: bytes) -> Datagram:
    found = decode_datagram(frame)
    assert found is not None
    assert found.header.kind == DatagramKind.RESULT
    return found


def result_values(frame: bytes) -> list[int]:
    values: list[int] = np.frombuffer(result(frame).payload, ">i4").tolist()
    return values
