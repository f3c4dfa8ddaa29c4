"""Hands at leaf switches under a root, in memory: each frame is delivered at once, and a loss is one line (`lose`)."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig, JobMember, RackLevels
from switch_nodes.switchml import SwitchMlProgram
from tests.support.switchml_bench import SERVICE_IP, SERVICE_MAC, MakeProgram, member_ip, member_mac
from workloads.datagrams.blocks import BlockReplayed, BlockSummed, ContributionIgnored, MemoryAtEnd, PartialSent
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

__all__ = ["ROOT", "Tiers", "leaf_member", "tier_configs"]

JOB, ROOT = 7, "root"
Frame = tuple[str, int, bytes]
"""where it goes (a switch, or a host `h0`), port there, bytes"""


def leaf_member(rack: int, port: int) -> JobMember:
    return JobMember(rank=rack, mac=bytes((2, 0, 0, 0, 254, rack)), ip=bytes((10, 0, 254, rack)), port=port)


def tier_configs(racks: Sequence[int], slots: int = 4, *, first_slot: int = 0) -> dict[str, SwitchConfig]:
    """Of `racks` workers each. A leaf has its workers at its first ports, and the root behind them."""
    starts = [sum(racks[:rack]) for rack in range(len(racks))]
    ranks = tuple(tuple(range(start, start + size)) for start, size in zip(starts, racks, strict=True))
    places = [(rank, rack, port) for rack, own in enumerate(ranks) for port, rank in enumerate(own)]

    def config(name: str, own: int | None) -> SwitchConfig:
        at = [port if rack == own else (rack if own is None else racks[own]) for _, rack, port in places]
        members = tuple(
            JobMember(rank, member_mac(rank), member_ip(rank), port)
            for (rank, _, _), port in zip(places, at, strict=True)
        )
        leaves = tuple(leaf_member(rack, rack if own is None else racks[own]) for rack in range(len(racks)))
        job = JobConfig(
            JOB, members, SERVICE_MAC, SERVICE_IP, first_slot, slots, elements=8,
            levels=RackLevels(ranks, own, own is None), leaves=leaves,
        )  # fmt: skip
        ports = len(racks) if own is None else racks[own] + 1
        macs = tuple((member.mac, member.port) for member in members)
        return SwitchConfig(name, "switchml", ports, macs, jobs=(job,), memory=2 * (first_slot + slots))

    return {f"leaf{rack}": config(f"leaf{rack}", rack) for rack in range(len(racks))} | {ROOT: config(ROOT, None)}


class Tiers:
    """Two tiers with a program of `make` at each switch."""

    def __init__(
        self, make: MakeProgram = SwitchMlProgram, racks: Sequence[int] = (2, 2), slots: int = 4, *, trace: bool = False
    ) -> None:
        self.racks, self.slots, self.size = tuple(racks), slots, sum(racks)
        configs = tier_configs(racks, slots)
        self.switches = {name: make(replace(config, trace=trace)) for name, config in configs.items()}
        self.rack_of = [rack for rack, size in enumerate(racks) for _ in range(size)]
        self.port_of = [port for size in racks for port in range(size)]
        self.flights: deque[Frame] = deque()
        self.events: list[tuple[str, Event]] = []
        self.passed: Counter[tuple[str, str]] = Counter()
        """frames by (from, to), lost ones included"""
        self.kept: dict[tuple[str, str], list[Frame]] = defaultdict(list)
        self._losses: Counter[tuple[str, str]] = Counter()
        self.now = 0

    def lose(self, source: str, target: str, times: int = 1) -> None:
        """The next frames from one node to the other."""
        self._losses[source, target] += times

    def frame(self, rank: int, block: int, values: Sequence[int] | None = None, **header: int) -> bytes:
        elements = np.array(self.values(rank, block) if values is None else values, ">i4")
        turn = block % (2 * self.slots)
        fields = AggregationHeader(
            policy=Policy.SWITCHML, kind=DatagramKind.DATA, job=JOB, sequence=(block + 1) % (1 << 32),
            slot=turn % self.slots, bitmap0=1 << rank, fan_in0=self.size, nelem=len(elements),
            flags=DatagramFlag.VERSION if turn >= self.slots else 0,
        )._replace(**header)  # fmt: skip
        envelope = Envelope(member_mac(rank), SERVICE_MAC, member_ip(rank), SERVICE_IP, 5000)
        return encode_datagram(envelope, AGGREGATION_PORT, fields, elements.tobytes())

    @staticmethod
    def values(rank: int, block: int) -> list[int]:
        return [(rank * rank + 1) * 100_003 + block % 65_521, -(rank + 1) * (block % 65_521 + 1)]

    def total(self, block: int) -> list[int]:
        return [sum(column) for column in zip(*(self.values(rank, block) for rank in range(self.size)), strict=True)]

    def leave(self, rank: int, block: int, values: Sequence[int] | None = None, **header: int) -> None:
        """A worker's packet sets out."""
        leaf = f"leaf{self.rack_of[rank]}"
        self._fly(f"h{rank}", (leaf, self.port_of[rank], self.frame(rank, block, values, **header)))

    def send(self, rank: int, block: int, values: Sequence[int] | None = None, **header: int) -> dict[int, list[int]]:
        """Results that workers get because of it, by rank."""
        self.leave(rank, block, values, **header)
        return self.settle()

    def send_all(self, block: int, ranks: Sequence[int] | None = None) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for rank in range(self.size) if ranks is None else ranks:
            found |= self.send(rank, block)
        return found

    def settle(self, choose: Callable[[int], int] = lambda flights: 0) -> dict[int, list[int]]:
        """Deliver until nothing is on its way. `choose`: which one of so many frames is next."""
        found = {}
        while self.flights:
            at = choose(len(self.flights))
            frame = self.flights[at]
            del self.flights[at]
            for rank, header, values in self.deliver(frame):
                found[rank] = values
                assert header.kind == DatagramKind.RESULT
        return found

    def deliver(self, frame: Frame) -> list[tuple[int, AggregationHeader, list[int]]]:
        """What a worker got by it: at most one result."""
        to, port, data = frame
        self.now += 1000
        if to not in self.switches:
            datagram = decode_datagram(data)
            assert datagram is not None
            assert datagram.dst_ip == member_ip(int(to[1:]))
            return [(int(to[1:]), datagram.header, np.frombuffer(datagram.payload, ">i4").tolist())]
        program = self.switches[to]
        program.receive_frame(port, data, self.now)
        while (event := program.next_event()) is not None:
            self.events.append((to, event))
        for out, sent in program.frames_to_send(self.now):
            self._fly(to, self._behind(to, out, bytes(sent)))
        return []

    def _behind(self, switch: str, port: int, data: bytes) -> Frame:
        if switch == ROOT:
            return f"leaf{port}", self.racks[port], data
        rack = int(switch[4:])
        if port == self.racks[rack]:
            return ROOT, rack, data
        return f"h{sum(self.racks[:rack]) + port}", 0, data

    def _fly(self, source: str, frame: Frame) -> None:
        way = source, frame[0]
        self.passed[way] += 1
        self.kept[way].append(frame)
        if self._losses[way] > 0:
            self._losses[way] -= 1
        else:
            self.flights.append(frame)

    def told(self, kind: type[Event]) -> list[tuple[str, Event]]:
        return [(node, event) for node, event in self.events if isinstance(event, kind)]

    @property
    def summed(self) -> list[tuple[str, int, tuple[int, ...]]]:
        return [(node, e.block, e.contributions) for node, e in self.events if isinstance(e, BlockSummed)]

    @property
    def partials(self) -> list[tuple[str, int, tuple[int, ...], int, str]]:
        return [
            (node, e.block, e.contributions, e.bitmap, e.reason)
            for node, e in self.events
            if isinstance(e, PartialSent)
        ]

    @property
    def replayed(self) -> list[tuple[str, int, int]]:
        return [(node, e.rank, e.block) for node, e in self.events if isinstance(e, BlockReplayed)]

    @property
    def reasons(self) -> list[tuple[str, str]]:
        return [(node, e.reason) for node, e in self.events if isinstance(e, ContributionIgnored)]

    def open_at_end(self) -> dict[str, int]:
        found = {}
        for name, program in self.switches.items():
            program.finish(self.now)
            while (event := program.next_event()) is not None:
                if isinstance(event, MemoryAtEnd):
                    found[name] = event.open
        return found
