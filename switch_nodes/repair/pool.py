"""A job's part of the memory at one switch: a value, a bitmap and a number for each index."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.job_checks import check_job, check_tree, job_refused
from switch_nodes.jobs import JobConfig, JobMember, TreeLinks
from switch_nodes.occupancy import Occupancy
from switch_nodes.repair.tables import RepairSlotState
from workloads.automaton import number_of
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, AggregationHeader, DatagramKind, Policy, encode_datagram

__all__ = ["RepairPool", "check_jobs"]

_DTYPES = ("float32", "int32")
_NONE = -1
_FREE, _FILLING = number_of(RepairSlotState.FREE), number_of(RepairSlotState.FILLING)


class RepairPool(Occupancy):
    """Arrays are indexed by index, from 0 within the job. `values` has 4 * elements bytes of each, one index behind the
    other."""

    def __init__(self, config: JobConfig) -> None:
        super().__init__()
        self.config, self.job, self.slots = config, config.job, config.slots
        self.first_slot, self.elements = config.first_slot, config.elements
        assert config.tree is not None, "check_jobs saw it"
        self.tree: TreeLinks = config.tree
        self.up = config.tree.up
        self.size = len(config.members)
        self.everyone = 0
        """bitmap of the donors below this switch"""
        self.below: Any = array("q", [0] * (1 + max([child.port for child in self.tree.children])))
        """bitmap of the donors below each port"""
        for child in self.tree.children:
            self.everyone |= child.ranks
            self.below[child.port] = child.ranks
        self.values: Any = np.zeros(self.slots * 4 * config.elements, np.uint8)

        def table(initial: int, size: int = self.slots) -> Any:
            return array("q", [initial]) * size

        self.state = table(_FREE)
        """numbers of `RepairSlotState`"""
        self.block = table(_NONE)
        self.length = table(0)
        """elements"""
        self.inside = table(0)
        """bitmap"""
        self.entered = table(0, self.slots * self.size)
        """[index * size + rank], how often its contribution was added; for reports only"""
        self.opened = table(0)
        self.head_up = self._head(config.members[self.size - 1] if self.tree.is_last else None)
        """what a frame towards the newcomer begins with"""
        self.heads = {
            child.port: self._head(config.members[child.host] if child.host >= 0 else None)
            for child in self.tree.children
        }
        """what a frame to each port below begins with"""

    @property
    def donors(self) -> int:
        """Of the job: all members but the newcomer."""
        return self.size - 1

    def below_port(self, port: int) -> int:
        """Bitmap of the donors below it; 0: it leads to none."""
        return self.below[port] if port < len(self.below) else 0

    def value_at(self, cell: int) -> int:
        """Where its bytes begin."""
        return cell * 4 * self.elements

    def is_first(self, ranks: int) -> bool:
        """Whether the lowest rank of those below is in a bitmap."""
        return ranks & self.everyone & -self.everyone != 0

    def contributions(self, cell: int) -> tuple[int, ...]:
        """Per rank."""
        first = cell * self.size
        return tuple([self.entered[at] for at in range(first, first + self.size)])

    @property
    def open_slots(self) -> int:
        return sum([self.state[cell] == _FILLING for cell in range(self.slots)])

    def _head(self, member: JobMember | None) -> bytes:
        """Of a frame to a member; None: to another switch of the tree."""
        config = self.config
        mac, ip = (config.service_mac, config.service_ip) if member is None else (member.mac, member.ip)
        envelope = Envelope(config.service_mac, mac, config.service_ip, ip, AGGREGATION_PORT)
        header = AggregationHeader(Policy.REPAIR, DatagramKind.DATA, self.job, 1, 0, 0, self.size - 1)
        return encode_datagram(envelope, AGGREGATION_PORT, header, b"")


def check_jobs(switch: SwitchConfig) -> None:
    """Raises ScenarioError for jobs that cannot be served."""
    taken: list[tuple[int, int, int]] = []
    for number, config in enumerate(switch.jobs):
        check_job(switch, number, _DTYPES)
        last = config.first_slot + config.slots
        if config.slots < 1 or config.first_slot < 0 or last > switch.memory:
            allowed = f"1 or more, within the {switch.memory} values of memory"
            raise job_refused(switch, config, "slot indices", f"{config.first_slot} .. {last - 1}", allowed)
        for other, first, end in taken:
            if config.first_slot < end and first < last:
                problem, allowed = "its slots are also those of another job", "a part of the memory of its own"
                raise job_refused(switch, config, problem, f"job {other}", allowed)
        if config.tree is None:
            raise job_refused(switch, config, "tree", "none", "the ports of its part of the combining tree")
        check_tree(switch, config, config.tree, len(config.members) - 1)
        taken.append((config.job, config.first_slot, last))
