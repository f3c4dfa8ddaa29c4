"""A job's part of the aggregation memory: two versions of every index, each with a value, a bitmap and a number."""

from __future__ import annotations

from array import array
from typing import Any

import cython
import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.job_checks import check_job, job_refused
from switch_nodes.jobs import JobConfig, JobMember, RackLevels
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
_FREE, _FILLING, _DONE, _WAITING = (number_of(state) for state in PoolSlotState)


class Pool(Occupancy):
    """A slot is one version of one index: number version * slots + index, index from 0 within the job. `values` has
    the elements of all, one slot behind the other.

    Its members are the workers at this switch, or, at the root of two tiers, the leaf switches. Tables and bitmaps
    count members; `below` says which ranks each one brings."""

    versions = VERSIONS

    def __init__(self, config: JobConfig) -> None:
        super().__init__()
        self.config, self.job = config, config.job
        self.members = _members_of(config)
        self.below = _ranks_below(config)
        """ranks whose contributions each member brings"""
        self.size, self.slots, self.elements = len(self.members), config.slots, config.elements
        self.first_slot = config.first_slot
        self.everyone = bit_of(self.size) - 1
        self.addresses: Any = array("q", [int.from_bytes(member.ip, "big") for member in self.members])
        """IPv4, by member, as `ports` and `bits`"""
        self.ports: Any = array("q", [member.port for member in self.members])
        self.bits: Any = array("q", [bit_of(member.rank) for member in self.members])
        """what `bitmap0` of its packets says"""
        self.leaves = len(config.leaves)
        self.leaf = -1 if config.levels is None or config.levels.own is None else config.levels.own
        """number of this leaf switch, for the root its rank; -1: no switch is above this one"""
        self.up = -1 if self.leaf < 0 else config.leaves[self.leaf].port
        self.rack = 0 if self.leaf < 0 else sum([bit_of(member.rank) for member in self.members])
        """bitmap of the ranks in a sum for the root"""
        self.service = int.from_bytes(config.service_ip, "big")
        self.fan_in = len(config.members if self.is_lowest else config.leaves)
        """as packets from and to members say"""
        self.complete = bit_of(self.fan_in) - 1
        """`bitmap0` of results"""
        count = VERSIONS * self.slots
        self.values: Any = np.zeros(count * config.elements, np.int32)

        def table(initial: int, size: int = count) -> Any:
            return array("q", [initial]) * size

        self.seen = table(0)
        """bitmap of the workers that are inside"""
        self.inside = table(0)
        """contributions in the sum; `size`: complete"""
        self.answered = table(0)
        """of a leaf: whether the slot has the root's sum, instead of the rack's"""
        self.block = table(_NONE)
        """block that the slot serves"""
        self.length = table(0)
        """elements; below 0: no contribution has brought any yet"""
        self.wanted = table(0)
        """bitmap of the workers that need the elements of the sum"""
        self.exponent0, self.exponent1 = table(0), table(0)
        self.entered = table(0, count * self.size)
        """[slot * size + member], how often its contribution was added; statistics only"""
        self.newest = table(_NONE, self.size * self.slots)
        """[member * slots + index]: the newest block that it sent for this index, in either version"""
        self.opened = table(0)
        """time when the first contribution to the sum came"""
        header = AggregationHeader(Policy.SWITCHML, DatagramKind.RESULT, self.job, 1, 0, self.complete, self.fan_in)
        self.heads = [
            encode_datagram(envelope_to(config, member), AGGREGATION_PORT, header, b"") if member.uc is None else b""
            for member in self.members
        ]
        """what a result over UDP begins with, by member"""
        self.head_up = b"" if self.leaf < 0 else _head_up(config, self.leaf)
        """what a sum of the rack begins with"""

    @property
    def is_lowest(self) -> bool:
        """Whether its members are workers."""
        levels = self.config.levels
        return levels is None or levels.own is not None

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
        if self.inside[slot] != self.size:
            return _FILLING
        return _DONE if self.leaf < 0 or self.answered[slot] else _WAITING

    def member_of(self, address: int) -> int:
        """-1: it is no member's."""
        for member in range(self.size):
            if self.addresses[member] == address:
                return member
        return -1

    def rank_of(self, member: int) -> int:
        """The rank in events: of the worker, or of the first one below a leaf."""
        rank: int = self.below[member][0]
        return rank

    def contributions(self, slot: int) -> tuple[int, ...]:
        """Per rank of the job, those of other racks included."""
        first = slot * self.size
        if self.config.levels is None:
            return tuple([self.entered[at] for at in range(first, first + self.size)])
        counts = [0] * len(self.config.members)
        for member, ranks in enumerate(self.below):
            for rank in ranks:
                counts[rank] = self.entered[first + member]
        return tuple(counts)

    @property
    def open_slots(self) -> int:
        return sum([self.state(slot) in (_FILLING, _WAITING) for slot in range(VERSIONS * self.slots)])


def _members_of(config: JobConfig) -> tuple[JobMember, ...]:
    """Of the pool."""
    levels = config.levels
    if levels is None:
        return config.members
    return config.leaves if levels.own is None else tuple(config.members[rank] for rank in levels.racks[levels.own])


def _ranks_below(config: JobConfig) -> tuple[tuple[int, ...], ...]:
    levels = config.levels
    if levels is not None and levels.own is None:
        return levels.racks
    return tuple((member.rank,) for member in _members_of(config))


def _head_up(config: JobConfig, leaf: int) -> bytes:
    """A leaf is a worker of the root, and sends as one."""
    own = config.leaves[leaf]
    envelope = Envelope(own.mac, config.service_mac, own.ip, config.service_ip, AGGREGATION_PORT)
    header = AggregationHeader(Policy.SWITCHML, DatagramKind.DATA, config.job, 1, 0, bit_of(leaf), len(config.leaves))
    return encode_datagram(envelope, AGGREGATION_PORT, header, b"")


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
        if config.levels is not None:
            _check_levels(switch, config, config.levels)
        _check_pairs(switch, config, qpns)
        taken.append((config.job, config.first_slot, last))


def _check_levels(switch: SwitchConfig, config: JobConfig, levels: RackLevels) -> None:
    """The switch's place in two tiers."""
    racks, leaves, own = levels.racks, config.leaves, levels.own
    if sorted(rank for rack in racks for rank in rack) != list(range(len(config.members))) or not all(racks):
        raise job_refused(switch, config, "racks", racks, "each rank in one of them, and none without ranks")
    if [leaf.rank for leaf in leaves] != list(range(len(racks))):
        found = [leaf.rank for leaf in leaves]
        raise job_refused(switch, config, "leaf switches", found, f"{len(racks)}, one for each rack, in this order")
    if len({leaf.ip for leaf in leaves} | {config.service_ip}) != len(leaves) + 1:
        addresses = [leaf.ip.hex() for leaf in leaves]
        allowed = "one each, and not that of the service"
        raise job_refused(switch, config, "addresses of leaf switches", addresses, allowed)
    if levels.collects != (own is None) or own not in (None, *range(len(racks))):
        allowed = "a rack whose sum goes on (collects: false), or no rack and collects: true"
        raise job_refused(switch, config, "place in the tiers", f"rack {own}, collects: {levels.collects}", allowed)
    if any(member.uc is not None for member in config.members):
        raise job_refused(switch, config, "framing over two tiers", "queue pairs", "UDP")
    for leaf in leaves if own is None else (leaves[own],):
        if not 0 <= leaf.port < switch.ports:
            raise job_refused(switch, config, f"port of leaf {leaf.rank}", leaf.port, f"0 .. {switch.ports - 1}")


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
