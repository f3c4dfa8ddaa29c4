"""Jobs that a switch program serves: their configuration. The events about them are in `workloads.datagrams.blocks`.

The contract between aggregation programs and everything around them (`docs/programs.md`).
"""

from __future__ import annotations

from dataclasses import dataclass

from workloads.codec import unless_default
from workloads.config import ArithmeticSpec
from workloads.uc import UcPairs

__all__ = ["AggregatorKnobs", "JobConfig", "JobMember", "RackLevels", "TreeChild", "TreeLinks", "partition"]


@dataclass(frozen=True, slots=True)
class JobMember:
    """A worker or a parameter server, as a switch knows it."""

    rank: int
    """-1: the server"""
    mac: bytes
    ip: bytes
    port: int
    """switch port behind which it is; of several equal ones (`SwitchConfig.groups`) any"""
    uc: UcPairs | None = None
    """its queue pairs, where the job runs over unreliable connections; None: UDP"""


@dataclass(frozen=True, slots=True)
class RackLevels:
    """Aggregation in two levels (programs `atp`, `esa`): the switch of each rack adds its workers, the switch of the
    server adds racks. Every switch of the job has the whole table. Of program `dlcp` racks alone are added. Of program
    `switchml` a switch above the racks adds them (`JobConfig.leaves`)."""

    racks: tuple[tuple[int, ...], ...]
    """ranks by rack; each rank in one"""
    own: int | None
    """the rack whose workers are at this switch's ports; None: it has no workers of the job"""
    collects: bool
    """this switch adds racks, and its own workers one by one: the server is at one of its ports, or the job has none"""


@dataclass(frozen=True, slots=True)
class TreeChild:
    """What is below one port of a switch of a combining tree."""

    port: int
    ranks: int
    """bitmap of the members below"""
    host: int
    """rank of the member at the port; -1: another switch of the tree is there"""


@dataclass(frozen=True, slots=True)
class TreeLinks:
    """A switch in a combining tree. Its root is a host: of program `repair` the newcomer, the member with the highest
    rank; of program `ps` the parameter server."""

    up: int
    """port towards the root"""
    is_last: bool
    """the root is at that port itself"""
    children: tuple[TreeChild, ...]


@dataclass(frozen=True, slots=True)
class JobConfig:
    """One job; its members in rank order, 0 .. n-1, those of other racks included."""

    job: int
    members: tuple[JobMember, ...]
    service_mac: bytes
    """MAC address of the aggregation service: workers send there, results come from there"""
    service_ip: bytes
    first_slot: int
    """the job's part of the memory: indices first_slot .. first_slot + slots - 1"""
    slots: int
    elements: int = 256
    """most elements of a block"""
    arithmetic: ArithmeticSpec = ArithmeticSpec()
    server: JobMember | None = None
    """the parameter server (programs `atp`, `esa`)"""
    window: int = 1
    """programs `atp`, `esa`: a worker that sends a block has the result of the block so many before"""
    levels: RackLevels | None = None
    """None: all members are at ports of this switch, and no other one aggregates"""
    tree: TreeLinks | None = None
    """program `repair`: its place in the combining tree"""
    trees: tuple[TreeLinks | None, ...] = ()
    """program `ps`: its place in each of the job's trees, None: it is in others; block b takes tree b modulo their
    number"""
    partial_after_ns: int = 0
    """program `dlcp`: a slot that has waited so long for other workers leaves with those that it has"""
    adds: bool = True
    """False: contributions pass, and the switch only copies results to the workers"""
    leaves: tuple[JobMember, ...] = unless_default(())
    """program `switchml` with `levels`: the switches of the racks, rank n for rack n. To the root they are its workers,
    at its ports. A leaf uses its own entry alone, whose port is that towards the root"""


@dataclass(frozen=True, slots=True)
class AggregatorKnobs:
    """What program `esa` does beyond `atp` (`docs/esa.md`). `atp` uses `reclaim` only. Priorities are the workers'."""

    preempt: bool = True
    """a packet of higher priority takes the slot; its occupant leaves for the server"""
    age: str = "none"
    """what a collision does to the occupant's priority: none, minus1 (one less), shift1 (half)"""
    free: str = "early"
    """early: the switch sends a complete sum to the workers, and the slot is free; ack: the server does, and its result
    frees the slot, as in ATP"""
    ps_copy: bool = True
    """whether the server gets a copy of the result, with `early`, for workers that lose theirs"""
    reminder: bool = True
    """the server may ask for what is in a slot"""
    reclaim: bool = True
    """a packet of a job takes a slot that holds an older packet of the same job: its sender has the older result"""


def partition(memory: int, values_per_index: int, jobs: int) -> tuple[tuple[int, int], ...]:
    """A static partition: per job (first index, number of indices), all of one size. `memory` counts values stored, so
    a program that stores several per index (SwitchML: two) has fewer of them. Raises ValueError when a job would get
    none."""
    share = memory // (values_per_index * jobs)
    if share < 1:
        raise ValueError(f"{memory} values are less than {values_per_index} for each of {jobs} jobs")
    return tuple((job * share, share) for job in range(jobs))
