"""A job's part of the aggregation memory: two versions of every index, each with a value, a bitmap and a number."""

from __future__ import annotations

import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig
from switch_nodes.switchml.tables import SlotState
from workloads.errors import ScenarioError
from workloads.wire.aggregation import MAX_ELEMENTS

__all__ = ["VERSIONS", "Pool", "check_jobs"]

VERSIONS = 2
MAX_WORKERS = 32
_NONE = -1


class Pool:
    """Lists are indexed [version][index], index from 0 within the job. `values`: int32, shape (2, slots, elements)."""

    versions = VERSIONS

    def __init__(self, config: JobConfig) -> None:
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
        self.occupied = self.peak = self.busy_ns = self.useful_ns = 0
        self.touched = 0
        """when the last packet of the job came"""
        self._since = 0

    def state(self, version: int, index: int) -> SlotState:
        if not self.seen[version][index]:
            return SlotState.FREE
        return SlotState.DONE if self.inside[version][index] == self.size else SlotState.FILLING

    def occupy(self, amount: int, now: int) -> None:
        """`amount` more slots are in use (negative: fewer)."""
        self.busy_ns += self.occupied * (now - self._since)
        self._since = now
        self.occupied += amount
        self.peak = max(self.peak, self.occupied)

    @property
    def open_slots(self) -> int:
        places = ((version, index) for version in range(VERSIONS) for index in range(self.slots))
        return sum(self.state(*place) is SlotState.FILLING for place in places)


def check_jobs(switch: SwitchConfig) -> None:
    """Raises ScenarioError for jobs that cannot be served."""
    taken: list[tuple[int, int, int]] = []
    for number, config in enumerate(switch.jobs):
        where = f"switch {switch.name}: job {config.job}: "
        members, last = config.members, config.first_slot + config.slots

        def refuse(problem: str, found: object, allowed: str, where: str = where) -> ScenarioError:
            return ScenarioError(where + problem, found=str(found), allowed=allowed)

        if not 0 <= config.job < 1 << 16:
            raise refuse("job id", config.job, "0 .. 65535")
        if config.job in {other.job for other in switch.jobs[:number]}:
            raise refuse("two jobs with one id", config.job, "an id of its own")
        if not 1 <= len(members) <= MAX_WORKERS:
            raise refuse("number of workers", len(members), f"1 .. {MAX_WORKERS}, the width of the bitmap")
        if [member.rank for member in members] != list(range(len(members))):
            raise refuse("members are not in rank order", [member.rank for member in members], "0, 1, 2, ...")
        if len({member.ip for member in members}) != len(members):
            raise refuse("two members have the same address", [member.ip.hex() for member in members], "one each")
        for member in members:
            if not 0 <= member.port < switch.ports:
                raise refuse(f"port of rank {member.rank}", member.port, f"0 .. {switch.ports - 1}")
        if config.slots < 1 or config.first_slot < 0 or VERSIONS * last > switch.memory:
            memory = f"1 or more, within the {switch.memory // VERSIONS} that {switch.memory} values of memory make"
            raise refuse("slot indices", f"{config.first_slot} .. {last - 1}", memory)
        for other, first, end in taken:
            if config.first_slot < end and first < last:
                raise refuse("its slots are also those of another job", f"job {other}", "a part of the pool of its own")
        if not 2 <= config.elements <= MAX_ELEMENTS:
            raise refuse("elements of a block", config.elements, f"2 .. {MAX_ELEMENTS}")
        if (config.arithmetic.op, config.arithmetic.dtype) not in (("sum", "float32"), ("sum", "int32")):
            found = f"{config.arithmetic.op} of {config.arithmetic.dtype}"
            raise refuse("arithmetic", found, "sum of float32 or int32")
        taken.append((config.job, config.first_slot, last))
