"""Jobs that a switch program serves: what it is told of them, and what it tells of them.

The contract between aggregation programs and everything around them (`docs/programs.md`). A program that takes its jobs
from `SwitchConfig.jobs` and tells these events is judged by the checkers without a word about its protocol. A *block* is
the unit of aggregation: what one packet of a worker carries, numbered from 0 over the life of the job.
"""

from __future__ import annotations

from dataclasses import dataclass

from workloads.config import ArithmeticSpec
from workloads.machine import Event

__all__ = [
    "BlockReplayed",
    "BlockSummed",
    "ContributionIgnored",
    "JobConfig",
    "JobMember",
    "MemoryAtEnd",
    "SlotChanged",
    "partition",
]


@dataclass(frozen=True, slots=True)
class JobMember:
    """A worker, as its switch knows it."""

    rank: int
    mac: bytes
    ip: bytes
    port: int
    """switch port behind which it is"""


@dataclass(frozen=True, slots=True)
class JobConfig:
    """One job; its members in rank order, 0 .. n-1."""

    job: int
    members: tuple[JobMember, ...]
    service_mac: bytes
    """of the aggregation service: workers send there, results come from there"""
    service_ip: bytes
    first_slot: int
    """the job's part of the memory: indices first_slot .. first_slot + slots - 1"""
    slots: int
    elements: int = 256
    """most elements of a block"""
    arithmetic: ArithmeticSpec = ArithmeticSpec()


def partition(memory: int, values_per_index: int, jobs: int) -> tuple[tuple[int, int], ...]:
    """A static partition: per job (first index, number of indices), all of one size. `memory` counts values stored, so a
    program that stores several per index (SwitchML: two) has fewer of them. Raises ValueError when a job would get none."""
    share = memory // (values_per_index * jobs)
    if share < 1:
        raise ValueError(f"{memory} values are less than {values_per_index} for each of {jobs} jobs")
    return tuple((job * share, share) for job in range(jobs))


@dataclass(frozen=True, slots=True)
class BlockSummed(Event):
    """A sum is complete, and leaves."""

    job: int
    block: int
    slot: int
    contributions: tuple[int, ...]
    """per rank: how often it entered this sum; each must be 1"""


@dataclass(frozen=True, slots=True)
class BlockReplayed(Event):
    """A worker that asked again got the stored sum, alone."""

    job: int
    rank: int
    block: int
    slot: int


@dataclass(frozen=True, slots=True)
class ContributionIgnored(Event):
    """A packet of a job that did not enter a sum and was not answered."""

    job: int
    rank: int
    """-1 when unknown"""
    block: int
    """-1 when unknown"""
    slot: int
    reason: str
    """a word of the program's; `overrun` always means: sent before its sender had the result that frees the slot"""


@dataclass(frozen=True, slots=True)
class SlotChanged(Event):
    """A slot took a step in the program's table (`SwitchConfig.trace`); names as in the table, in lower case."""

    job: int
    slot: int
    version: int
    block: int
    """that the packet carries"""
    rank: int
    state: str
    """before"""
    cause: str
    """event of the table"""
    next: str


@dataclass(frozen=True, slots=True)
class MemoryAtEnd(Event):
    """What became of a job's part of the memory; told when the switch stops."""

    job: int
    first_slot: int
    slots: int
    """indices"""
    open: int
    """values that hold a contribution and are no sum yet: must be 0 after a completed job"""
    values: int
    """values that the indices store"""
    peak_occupied: int
    """most values in use at once"""
    busy_ns: int
    """occupied values, summed over time"""
