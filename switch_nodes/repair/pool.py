"""A job's part of the memory at one switch: a value, a bitmap and a number for each index."""

from __future__ import annotations

import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.job_checks import check_job, check_tree, job_refused
from switch_nodes.jobs import JobConfig, TreeChild, TreeLinks
from switch_nodes.occupancy import Occupancy
from switch_nodes.repair.tables import RepairSlotState

__all__ = ["RepairPool", "check_jobs"]

_DTYPES = ("float32", "int32")
_NONE = -1


class RepairPool(Occupancy):
    """Lists are indexed by index, from 0 within the job. `values`: bytes, shape (slots, 4 * elements)."""

    def __init__(self, config: JobConfig) -> None:
        super().__init__()
        self.config, self.job, self.slots = config, config.job, config.slots
        assert config.tree is not None, "check_jobs saw it"
        self.tree: TreeLinks = config.tree
        self.by_port = {child.port: child for child in self.tree.children}
        self.everyone = 0
        """bitmap of the donors below this switch"""
        for child in self.tree.children:
            self.everyone |= child.ranks
        self.size = len(config.members)
        self.values = np.zeros((self.slots, 4 * config.elements), np.uint8)
        self.state = [RepairSlotState.FREE] * self.slots
        self.block = [_NONE] * self.slots
        self.length = [0] * self.slots
        """elements"""
        self.inside = [0] * self.slots
        """bitmap"""
        self.entered = [[0] * self.size for _ in range(self.slots)]
        """per rank, how often its contribution was added; for reports only"""
        self.opened = [0] * self.slots

    @property
    def donors(self) -> int:
        """Of the job: all members but the newcomer."""
        return self.size - 1

    def is_first(self, child: TreeChild) -> bool:
        """Whether it has the lowest rank of those below."""
        return bool(child.ranks & (self.everyone & -self.everyone))

    @property
    def open_slots(self) -> int:
        return self.state.count(RepairSlotState.FILLING)


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
