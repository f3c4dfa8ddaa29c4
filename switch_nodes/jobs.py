"""Jobs that a switch program serves: what it is told of them; what it tells of them is in `workloads.blocks`.

The contract between aggregation programs and everything around them (`docs/programs.md`).
"""

from __future__ import annotations

from dataclasses import dataclass

from workloads.config import ArithmeticSpec
from workloads.uc import UcPairs

__all__ = [
    "JobConfig",
    "JobMember",
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
    uc: UcPairs | None = None
    """its queue pairs, where the job runs over unreliable connections; None: UDP"""


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
