"""A switch of program `ps` in the middle of trees, fed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig, RackLevels, TreeChild, TreeLinks
from switch_nodes.ps import PsProgram
from tests.support.aggregator_bench import Bench, Sent, contribution, seen, switch_config
from tests.support.aggregator_bench import job_config as one_level
from tests.support.switchml_bench import SERVICE_IP, SERVICE_MAC
from workloads.datagrams.blocks import ContributionIgnored
from workloads.machine import Event
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    DatagramKind,
    Policy,
    encode_datagram,
)

__all__ = ["TreeBench", "job_in_trees", "switch_in_trees"]

LEFT, RIGHT, UP, OTHER_UP = 0, 1, 2, 3
"""ports: to a switch with ranks 0 and 1 below it, to one with ranks 2 and 3, and two towards the server"""


def job_in_trees(**changes: Any) -> JobConfig:
    """Five workers, four of them below this switch in two racks, and the server elsewhere. Even blocks have the tree of
    `UP`; odd ones that of `OTHER_UP`, in which only the left rack comes by here; the third tree is elsewhere."""
    left, right = TreeChild(LEFT, 0b0011, -1), TreeChild(RIGHT, 0b1100, -1)
    trees = TreeLinks(UP, False, (left, right)), TreeLinks(OTHER_UP, False, (left,)), None
    levels = RackLevels(((0, 1), (2, 3), (4,)), None, False)
    return replace(one_level(workers=5), trees=trees, levels=levels, **changes)


def switch_in_trees(job: JobConfig) -> SwitchConfig:
    return switch_config(job, program="ps")


class TreeBench:
    def __init__(self, **changes: Any) -> None:
        self.job = job_in_trees(**changes)
        self.program = PsProgram(switch_in_trees(self.job))
        self.events: list[Event] = []
        self.now = 0

    def give(self, port: int, frame: bytes) -> list[Sent]:
        self.now += 1000
        self.program.receive_frame(port, frame, self.now)
        while (event := self.program.next_event()) is not None:
            self.events.append(event)
        return [seen(out, bytes(sent)) for out, sent in self.program.frames_to_send(self.now)]

    def sums(self, port: int, ranks: Sequence[int], block: int, **header: int) -> list[Sent]:
        """From a switch below, or from a worker."""
        bitmap = sum(1 << rank for rank in ranks)
        values = [sum(column) for column in zip(*(Bench.values(rank, block) for rank in ranks), strict=True)]
        fields = {"bitmap0": bitmap, "fan_in0": 1 if 4 in ranks else 2, "fan_in1": 3, "policy": Policy.PS, **header}
        return self.give(port, contribution(self.job, ranks[-1], block, values, **fields))

    def result(self, port: int, block: int, to: int | None = None) -> list[Sent]:
        """To all, or to one worker."""
        server = self.job.server
        assert server is not None
        header = AggregationHeader(
            Policy.PS, DatagramKind.RESULT, self.job.job, block + 1, block % self.job.slots, 0b11111, 5
        )
        member = None if to is None else self.job.members[to]
        mac, ip = (SERVICE_MAC, SERVICE_IP) if member is None else (member.mac, member.ip)
        frame = encode_datagram(Envelope(server.mac, mac, server.ip, ip, 6000), AGGREGATION_PORT, header, b"")
        return self.give(port, frame)

    @property
    def reasons(self) -> list[str]:
        return [event.reason for event in self.events if isinstance(event, ContributionIgnored)]

    def occupied(self) -> list[int]:
        return [index for index, slot in enumerate(self.program.memory.slots) if slot is not None]
