"""A job's part of the aggregation memory: two versions of every index, each with a value, a bitmap and a number."""

from __future__ import annotations

import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.job_checks import check_job, job_refused
from switch_nodes.jobs import JobConfig
from switch_nodes.occupancy import Occupancy
from switch_nodes.switchml.tables import SlotState
from workloads.switchml.uc_mapping import MOST_UC_PACKETS
from workloads.wire.aggregation import MAX_ELEMENTS

__all__ = ["VERSIONS", "Pool", "check_jobs"]

VERSIONS = 2
_DTYPES = ("float32", "int32")
_NONE = -1


class Pool(Occupancy):
    """Lists are indexed [version][index], index from 0 within the job. `values`: int32, shape (2, slots, elements)."""

    versions = VERSIONS

    def __init__(self, config: JobConfig) -> None:
        super().__init__()
        self.config, self.job = config, config.job
        self.size, self.slots = len(config.members), config.slots
        self.everyone = (1 << self.size) - 1
        self.by_ip = {member.ip: member for member in config.members}
        self.values = np.zeros((VERSIONS, self.slots, config.elements), np.int32)

        def table(initial: int) -> list[list[int]]:
            return [[initial] * self.slots for _ in range(VERSIONS)]

        self.seen = table(0)
        """bitmap of the workers that are inside"""
        self.inside = table(0)
        """contributions in the sum; `size`: complete"""
        self.block = table(_NONE)
        """which block the slot serves"""
        self.length = table(0)
        """elements"""
        self.exponents = [[(0, 0)] * self.slots for _ in range(VERSIONS)]
        self.entered = [[[0] * self.size for _ in range(self.slots)] for _ in range(VERSIONS)]
        """per rank, how often its contribution was added: what is told, and decides nothing"""
        self.newest = [[_NONE] * self.slots for _ in range(self.size)]
        """[rank][index]: the newest block that it sent for this index, in either version"""
        self.opened = table(0)
        """when the first contribution to the sum came"""

    def state(self, version: int, index: int) -> SlotState:
        if not self.seen[version][index]:
            return SlotState.FREE
        return SlotState.DONE if self.inside[version][index] == self.size else SlotState.FILLING

    @property
    def open_slots(self) -> int:
        places = ((version, index) for version in range(VERSIONS) for index in range(self.slots))
        return sum(self.state(*place) is SlotState.FILLING for place in places)


def check_jobs(switch: SwitchConfig) -> None:
    """Raises ScenarioError for jobs that cannot be served."""
    taken: list[tuple[int, int, int]] = []
    qpns: set[tuple[bytes, int]] = set()
    framings = {member.uc is not None for job in switch.jobs for member in job.members}
    most_elements = MAX_ELEMENTS * (MOST_UC_PACKETS if True in framings else 1)
    for number, config in enumerate(switch.jobs):
        if len(framings) > 1:
            found, allowed = "queue pairs for some members only", "UDP for all jobs of a switch, or UC for all"
            raise job_refused(switch, config, "framing", found, allowed)
        check_job(switch, number, _DTYPES, most_elements)
        last = config.first_slot + config.slots
        if config.slots < 1 or config.first_slot < 0 or VERSIONS * last > switch.memory:
            memory = f"1 or more, within the {switch.memory // VERSIONS} that {switch.memory} values of memory make"
            raise job_refused(switch, config, "slot indices", f"{config.first_slot} .. {last - 1}", memory)
        for other, first, end in taken:
            if config.first_slot < end and first < last:
                problem, allowed = "its slots are also those of another job", "a part of the pool of its own"
                raise job_refused(switch, config, problem, f"job {other}", allowed)
        _check_pairs(switch, config, qpns)
        taken.append((config.job, config.first_slot, last))


def _check_pairs(switch: SwitchConfig, config: JobConfig, taken: set[tuple[bytes, int]]) -> None:
    """`taken`: (address, QPN) of the jobs before; its own are added."""
    for rank, pairs in ((member.rank, member.uc) for member in config.members if member.uc is not None):
        own = {(config.service_ip, pairs.service_qpn + cell) for cell in range(config.slots)}
        if own & taken or not 2 <= pairs.service_qpn <= (1 << 24) - config.slots:
            problem, found = (
                f"queue pairs of rank {rank}",
                f"{pairs.service_qpn:#x} .. {pairs.service_qpn + config.slots - 1:#x}",
            )
            raise job_refused(switch, config, problem, found, "numbers of their own from 0x2 to 0xffffff")
        if pairs.rkey & 1:
            problem, allowed = f"memory key of rank {rank}", "an even one: its lowest bit is the version"
            raise job_refused(switch, config, problem, f"{pairs.rkey:#x}", allowed)
        taken |= own
