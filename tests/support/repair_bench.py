"""A repair job by hand: one switch, or all of a job's Machines with a wire between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig, JobMember, TreeChild, TreeLinks
from switch_nodes.repair import RepairProgram
from workloads.config import JobShare, WorkloadConfig
from workloads.datagrams.blocks import SlotChanged
from workloads.repair import CodeShare, RepairConfig
from workloads.repair.packets import OP_GF256, OP_XOR
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

__all__ = ["SERVICE_IP", "SERVICE_MAC", "Bench", "host_config", "member_ip", "member_mac", "reply", "value_of"]

SERVICE_MAC, SERVICE_IP = bytes.fromhex("02000000ff01"), bytes((10, 0, 255, 1))


def member_mac(rank: int) -> bytes:
    return bytes((2, 0, 0, 0, 0, rank + 1))


def member_ip(rank: int) -> bytes:
    return bytes((10, 0, 0, rank + 1))


def host_config(rank: int, share: CodeShare, *, combined: bool = True, words: int = 24, **changes: Any) -> RepairConfig:
    """Packets of 8 words, a window of 2."""
    size = share.d + 1
    others = [(SERVICE_MAC, SERVICE_IP)]
    if not combined:
        others = [(member_mac(to), member_ip(to)) for to in (range(share.d) if rank == share.d else [share.d])]
    config = RepairConfig(
        name=f"h{rank + 1}",
        collective=JobShare("repair", 7, rank, size),
        workload=WorkloadConfig("synthetic", 5, words, 1),
        share=share,
        answers=tuple(Envelope(member_mac(rank), mac, member_ip(rank), ip, 0xC001) for mac, ip in others),
        combined=combined,
        elements=8,
        window=2,
        rto_ns=1_000_000,
    )
    return replace(config, **changes)


def reply(header: AggregationHeader, kind: DatagramKind, bitmap: int) -> AggregationHeader:
    """A reply about the same block, without elements."""
    return header._replace(kind=kind, bitmap0=bitmap, nelem=0, exponent0=0, op=0)


class Bench:
    """A switch with the children 1 << 0, 1 << 1 | 1 << 2 (another switch) and 1 << 3 at ports 0, 1, 2, and what leads
    to the newcomer, rank 4, at port 3. Two slots."""

    masks = (0b0001, 0b0110, 0b1000)

    def __init__(self, *, newcomer: bool = True, children: int = 3, **changes: Any) -> None:
        members = tuple(JobMember(rank, member_mac(rank), member_ip(rank), min(rank, 3)) for rank in range(5))
        hosts = (0, -1, 3)
        below = tuple(TreeChild(port, self.masks[port], hosts[port]) for port in range(children))
        job = JobConfig(7, members, SERVICE_MAC, SERVICE_IP, 0, 2, elements=8, tree=TreeLinks(3, newcomer, below))
        self.job = replace(job, **changes)
        self.program = RepairProgram(SwitchConfig("s1", "repair", 5, jobs=(self.job,), memory=2, trace=True))
        self.told: list[Any] = []
        self.now = 5

    def send(self, port: int, header: AggregationHeader, payload: bytes = b"") -> list[tuple[int, Datagram]]:
        """What leaves then, by port."""
        rank = port if port < 3 else 4
        envelope = Envelope(member_mac(rank), SERVICE_MAC, member_ip(rank), SERVICE_IP, 0xC001)
        self.program.receive_frame(port, encode_datagram(envelope, AGGREGATION_PORT, header, payload), self.now)
        left = []
        for out, frame in self.program.frames_to_send(self.now):
            found = decode_datagram(frame)
            assert found is not None
            left.append((out, found))
        while (event := self.program.next_event()) is not None:
            self.told.append(event)
        return left

    def data(
        self, port: int, block: int, value: int, coefficient: int | None = None, words: int = 8
    ) -> list[tuple[int, Datagram]]:
        """Bytes of one value. `coefficient`: the switch shall multiply by it."""
        header = self.header(DatagramKind.DATA, block, self.masks[port], words)
        if coefficient is not None:
            signed = coefficient - 256 if coefficient > 127 else coefficient
            header = header._replace(op=OP_GF256, exponent0=signed)
        return self.send(port, header, bytes([value]) * (4 * words))

    def ack(self, block: int) -> list[tuple[int, Datagram]]:
        return self.send(3, self.header(DatagramKind.ACK, block, 0b1111, 0)._replace(op=0))

    def ask(self, port: int, block: int) -> list[tuple[int, Datagram]]:
        return self.send(port, self.header(DatagramKind.REMINDER, block, self.masks[port], 0)._replace(op=0))

    def header(self, kind: DatagramKind, block: int, bitmap: int, words: int) -> AggregationHeader:
        return AggregationHeader(Policy.REPAIR, kind, 7, block + 1, block % 2, bitmap, 4, words, op=OP_XOR)

    def steps(self) -> list[tuple[str, str, str]]:
        return [(e.state, e.cause, e.next) for e in self.told if isinstance(e, SlotChanged)]

    def events(self, kind: type) -> Sequence[Any]:
        return [event for event in self.told if isinstance(event, kind)]


def value_of(found: Datagram) -> int:
    """The one value of all its bytes."""
    (value,) = np.unique(np.frombuffer(found.payload, np.uint8))
    return int(value)
