"""A job's part of the aggregation memory: two versions of every index, each with a value, a bitmap and a number."""

from __future__ import annotations

from array import array
from typing import Any

import cython
import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.job_checks import check_job, job_refused
from switch_nodes.jobs import JobConfig, JobMember
from switch_nodes.occupancy import Occupancy
from switch_nodes.switchml.tables import PoolSlotState
from workloads.automaton import number_of
from workloads.uc.config import MOST_UC_PACKETS
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    MAX_ELEMENTS,
    AggregationHeader,
    DatagramKind,
    Policy,
    encode_datagram,
)

if not cython.compiled:
    from workloads.kernels import bit_of

__all__ = ["VERSIONS", "Pool", "check_jobs", "envelope_to"]

VERSIONS = 2
_DTYPES = ("float32", "int32")
_NONE = -1
_FREE, _FILLING, _DONE = (number_of(state) for state in (PoolSlotState.FREE, PoolSlotState.FILLING, PoolSlotState.DONE))


class Pool(Occupancy):
    """A slot is one version of one index: number version * slots + index, index from 0 within the job. `values` has
    the elements of all, one slot behind the other."""

    versions = VERSIONS

    def __init__(self, config: JobConfig) -> None:
        super().__init__()
        self.config, self.job = config, config.job
        self.size, self.slots, self.elements = len(config.members), config.slots, config.elements
        self.first_slot = config.first_slot
        self.everyone = bit_of(self.size) - 1
        self.members = config.members
        self.addresses: Any = array("q", [int.from_bytes(member.ip, "big") for member in config.members])
        """IPv4, by rank, as `ports`"""
        self.ports: Any = array("q", [member.port for member in config.members])
        count = VERSIONS * self.slots
        self.values: Any = np.zeros(count * config.elements, np.int32)

        def table(initial: int, size: int = count) -> Any:
            return array("q", [initial]) * size

        self.seen = table(0)
        """bitmap of the workers that are inside"""
        self.inside = table(0)
        """contributions in the sum; `size`: complete"""
        self.block = table(_NONE)
        """block that the slot serves"""
        self.length = table(0)
        """elements; below 0: no contribution has brought any yet"""
        self.wanted = table(0)
        """bitmap of the workers that need the elements of the sum"""
        self.exponent0, self.exponent1 = table(0), table(0)
        self.entered = table(0, count * self.size)
        """[slot * size + rank], how often its contribution was added; statistics only"""
        self.newest = table(_NONE, self.size * self.slots)
        """[rank * slots + index]: the newest block that it sent for this index, in either version"""
        self.opened = table(0)
        """time when the first contribution to the sum came"""
        header = AggregationHeader(Policy.SWITCHML, DatagramKind.RESULT, self.job, 1, 0, self.everyone, self.size)
        self.heads = [
            encode_datagram(envelope_to(config, member), AGGREGATION_PORT, header, b"") if member.uc is None else b""
            for member in config.members
        ]
        """what a result over UDP begins with, by rank"""

    def value_at(self, slot: int) -> int:
        """Where its elements begin."""
        return slot * self.elements

    def elements_at(self, slot: int) -> int:
        """Of its sum."""
        length: int = self.length[slot]
        return length if length > 0 else 0

    def state(self, slot: int) -> int:
        """Number of a `PoolSlotState`."""
        if not self.seen[slot]:
            return _FREE
        return _DONE if self.inside[slot] == self.size else _FILLING

    def rank_of(self, address: int) -> int:
        """-1: it is no member's."""
        for rank in range(self.size):
            if self.addresses[rank] == address:
                return rank
        return -1

    def contributions(self, slot: int) -> tuple[int, ...]:
        """Per rank."""
        first = slot * self.size
        return tuple([self.entered[at] for at in range(first, first + self.size)])

    @property
    def open_slots(self) -> int:
        return sum([self.state(slot) == _FILLING for slot in range(VERSIONS * self.slots)])


def envelope_to(config: JobConfig, member: JobMember) -> Envelope:
    """Of what the service sends to a worker."""
    return Envelope(config.service_mac, member.mac, config.service_ip, member.ip, AGGREGATION_PORT)


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
