"""Leaves and spines wired in memory, frame by frame: hosts are only names, a test says what each sends and what is
lost."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from switch_nodes.config import LeafLinks, RingConfig, RingMember, SpineLinks, SwitchConfig
from switch_nodes.events import PacketIgnored
from switch_nodes.netreduce.program import NetReduceProgram
from tests.support.netreduce_harness import Job
from workloads.collectives.arithmetic import fold
from workloads.collectives.ina_header import INA_HEADER_BYTES
from workloads.machine import Event
from workloads.wire import decode_packet, icrc_is_valid

__all__ = ["Fabric", "FabricJob", "Hop"]


def _mac(rank: int) -> bytes:
    return bytes((2, 0, 0, 0, 0, rank + 1))


class Hop(NamedTuple):
    """One frame on one link, and what it is by its queue pair and PSN."""

    source: str
    target: str
    rank: int
    """of the connection"""
    message: int
    offset: int
    frame: bytes
    payload: bytes
    """without INA header"""

    @property
    def way(self) -> tuple[str, str]:
        return self.source, self.target


@dataclass
class FabricJob(Job):
    """Hosts `h0` .., leaves `leaf0` .. and spines `spine0` ... Ports of a leaf: its hosts, then the spines; of a spine:
    the leaves."""

    racks: tuple[int, ...] = (2, 1, 3)
    spines: int = 2

    def __post_init__(self) -> None:
        self.size = sum(self.racks)
        self.firsts = [0, *accumulate(self.racks)][:-1]

    def rack_of(self, rank: int) -> int:
        return max(rack for rack, first in enumerate(self.firsts) if first <= rank)

    def boundary(self, rack: int) -> int:
        return self.firsts[rack] + self.racks[rack] - 1

    def partial(self, rack: int, message: int, offset: int) -> bytes:
        """what a rack's hosts sum up to"""
        ranks = range(self.firsts[rack], self.boundary(rack) + 1)
        rows = [np.frombuffer(self.elements(rank, message, offset), np.uint8) for rank in ranks]
        return fold(np.stack(rows), self.arithmetic).tobytes()

    def value(self, message: int, offset: int) -> bytes:
        rows = [np.frombuffer(self.partial(rack, message, offset), np.uint8) for rack in range(len(self.racks))]
        return fold(np.stack(rows), self.arithmetic).tobytes()

    def configs(self, **changes: object) -> dict[str, SwitchConfig]:
        configs, count = {}, len(self.racks)
        ring = RingConfig(self.ring_id, (), self.arithmetic, self.message_packets, self.window, self.mtu)
        behind = [self.ip(self.firsts[(rack + 1) % count]) for rack in range(count)]
        for rack, (first, size) in enumerate(zip(self.firsts, self.racks, strict=True)):
            members = tuple(RingMember(rank, self.ip(rank), rank - first) for rank in range(first, first + size))
            uplinks = tuple(range(size, size + self.spines))
            before = self.boundary(rack - 1 if rack else count - 1)
            leaf_links = LeafLinks(self.size, uplinks, RingMember(before, self.ip(before), -1), behind[rack])
            macs = tuple((_mac(rank), rank - first) for rank in range(first, first + size))
            others = tuple((_mac(rank), uplinks) for rank in range(self.size) if not first <= rank < first + size)
            rings = (replace(ring, members=members, links=leaf_links),)
            configs[f"leaf{rack}"] = SwitchConfig(
                f"leaf{rack}", "netreduce", size + self.spines, macs, rings, groups=others
            )
        boundaries = [self.boundary(rack) for rack in range(count)]
        members = tuple(RingMember(rank, self.ip(rank), rack) for rack, rank in enumerate(boundaries))
        macs = tuple((_mac(rank), self.rack_of(rank)) for rank in range(self.size))
        for number in range(self.spines):
            links = SpineLinks(self.size, tuple(behind), number, self.spines)
            rings = (replace(ring, members=members, links=links),)
            configs[f"spine{number}"] = SwitchConfig(f"spine{number}", "netreduce", count, macs, rings)
        return {name: replace(config, **changes) for name, config in configs.items()}  # type: ignore[arg-type]


class Fabric:
    """`lose(link)` drops the next frame on a link; `hops` are all frames since they were last taken."""

    def __init__(self, job: FabricJob, **changes: object) -> None:
        self.job = job
        self.programs = {name: NetReduceProgram(config) for name, config in job.configs(**changes).items()}
        self.hops: list[Hop] = []
        self.events: dict[str, list[Event]] = {name: [] for name in self.programs}
        self._lost: dict[tuple[str, str], int] = {}

    def lose(self, source: str, target: str) -> None:
        """The next frame on this link is lost; it counts among the hops."""
        self._lost[source, target] = self._lost.get((source, target), 0) + 1

    def data(self, rank: int, message: int, offset: int, **changes: object) -> list[tuple[int, int, int, int]]:
        """A host sends one packet. Returns (host, rank of the connection, message, offset) of each result that reached
        a host because of it; whatever else reaches one is an AssertionError."""
        return self.send(rank, self.job.frame(rank, message, offset, **changes))

    def send(self, rank: int, frame: bytes) -> list[tuple[int, int, int, int]]:
        rack = self.job.rack_of(rank)
        arrived: list[tuple[int, int, int, int]] = []
        moving = deque([(f"h{rank}", f"leaf{rack}", rank - self.job.firsts[rack], frame)])
        while moving:
            source, target, port, frame = moving.popleft()
            hop = self._hop(source, target, frame)
            self.hops.append(hop)
            if self._lost.get(hop.way):
                self._lost[hop.way] -= 1
            elif target.startswith("h"):
                arrived.append(self._arrive(int(target[1:]), hop))
            else:
                moving.extend(self._through(target, port, frame))
        return arrived

    def everyone(self, message: int, offset: int, but: tuple[int, ...] = ()) -> list[tuple[int, int, int, int]]:
        return [out for rank in range(self.job.size) if rank not in but for out in self.data(rank, message, offset)]

    def through(self, messages: range) -> None:
        """Whole messages without faults, and the right results arrive, each once."""
        for message in messages:
            for offset in range(self.job.lengths[message]):
                assert sorted(self.everyone(message, offset)) == self.all_of(message, offset)

    def all_of(self, message: int, offset: int) -> list[tuple[int, int, int, int]]:
        size = self.job.size
        return sorted(((rank + 1) % size, rank, message, offset) for rank in range(size))

    def take(self) -> list[Hop]:
        taken, self.hops = self.hops, []
        return taken

    def reasons(self, switch: str) -> list[str]:
        """Why packets did not count at a switch, so far; they are forgotten."""
        told, self.events[switch] = self.events[switch], []
        return [event.reason for event in told if isinstance(event, PacketIgnored)]

    def feed(self, switch: str, port: int, frame: bytes) -> list[tuple[str, bytes]]:
        """One frame straight into one switch: (node behind the port, frame) of what leaves."""
        return [(target, sent) for _, target, _, sent in self._through(switch, port, frame)]

    def root(self, message: int) -> str:
        """Who summed a message, by what its packets did."""
        (root,) = {hop.target for hop in self.hops if hop.message == message and hop.target.startswith("spine")}
        return root

    def _through(self, switch: str, port: int, frame: bytes) -> list[tuple[str, str, int, bytes]]:
        program = self.programs[switch]
        program.receive_frame(port, frame, 0)
        sent = [(switch, *self._behind(switch, out), bytes(data)) for out, data in program.frames_to_send(0)]
        self.events[switch] += iter(program.next_event, None)
        return sent

    def _behind(self, switch: str, port: int) -> tuple[str, int]:
        """(node, its port) that a switch's port leads to"""
        if switch.startswith("spine"):
            return f"leaf{port}", self.job.racks[port] + int(switch[5:])
        rack = int(switch[4:])
        size, first = self.job.racks[rack], self.job.firsts[rack]
        return (f"h{first + port}", 0) if port < size else (f"spine{port - size}", rack)

    def _hop(self, source: str, target: str, frame: bytes) -> Hop:
        packet = decode_packet(frame)
        assert packet is not None
        assert icrc_is_valid(frame)
        rank = packet.bth.dest_qpn - self.job.base_qpn
        (place,) = [place for place in self.job.places() if self.job.psn(rank, *place) == packet.bth.psn]
        kept = INA_HEADER_BYTES if place[1] == 0 else 0
        if kept:
            assert bytes(packet.payload[:kept]) == self.job.header(rank, place[0])
        return Hop(source, target, rank, *place, frame, bytes(packet.payload[kept:]))

    def _arrive(self, host: int, hop: Hop) -> tuple[int, int, int, int]:
        assert host == (hop.rank + 1) % self.job.size, f"connection {hop.rank} does not lead to host {host}"
        return host, hop.rank, hop.message, hop.offset
