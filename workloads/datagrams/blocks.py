"""Events that switches and parameter servers report about the blocks they sum.

Half of the contract between aggregation programs and everything around them (`docs/programs.md`). The checkers judge a
program that reports these events, without knowledge of its protocol. A *block* is the unit of aggregation: what one
packet of a worker carries, numbered from 0 over the life of the job.
"""

from __future__ import annotations

from dataclasses import dataclass

from workloads.machine import Event, unless_default

__all__ = [
    "BlockLost",
    "BlockReplayed",
    "BlockSummed",
    "Collided",
    "ContributionIgnored",
    "JobResumed",
    "MemoryAtEnd",
    "PartialSent",
    "ServerStarted",
    "ServerStatistics",
    "SlotChanged",
    "SlotMixed",
]


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
    """-1: all of them got it"""
    block: int
    slot: int


@dataclass(frozen=True, slots=True)
class _Met(Event):
    """A packet, and the slot of another block."""

    job: int
    block: int
    rank: int
    """rank of the worker that sent the packet, or of the last one in it"""
    slot: int
    owner_job: int
    owner_block: int


@dataclass(frozen=True, slots=True)
class Collided(_Met):
    """A switch passed a packet on towards the server because its slot serves another block."""


@dataclass(frozen=True, slots=True)
class SlotMixed(_Met):
    """A contribution entered a slot that another block has: that sum is wrong, and so is the program."""


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
    """block that the packet carries"""
    rank: int
    state: str
    """state before the step"""
    cause: str
    """event of the table"""
    next: str


@dataclass(frozen=True, slots=True)
class PartialSent(Event):
    """A sum of some workers leaves a switch for the next switch or server, and its slot may serve others."""

    job: int
    block: int
    slot: int
    contributions: tuple[int, ...]
    """per rank: how often it entered this sum; counted where elements are added, each must be 0 or 1"""
    bitmap: int
    """what the packet says is inside: bit r for rank r"""
    reason: str
    """complete; repeated (a complete sum, sent again); flushed (a worker asked again), evicted (another packet took the
    slot), reminded (the server asked), late (others did not come in time)"""


@dataclass(frozen=True, slots=True)
class MemoryAtEnd(Event):
    """What became of a job's part of the memory; reported when the switch stops."""

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
    """occupied values, summed over time, until the job's last packet came"""
    useful_ns: int = unless_default(-1)
    """the same, but for each value only from the first to the last contribution to a sum that became complete here; -1:
    not known"""


@dataclass(frozen=True, slots=True)
class BlockLost(Event):
    """A sum that can never be complete, or is not kept any more, although a worker waits for it."""

    job: int
    block: int
    waiting: tuple[int, ...]
    """ranks that the server informs about it"""
    missing: int
    """rank that has neither its part nor the sum any more; -1: the server itself does not keep it so long"""


@dataclass(frozen=True, slots=True)
class JobResumed(Event):
    """A server completed a sum for the first time since workers had to send another way."""

    job: int
    block: int
    took_ns: int
    """time since the failure that made it necessary"""


@dataclass(frozen=True, slots=True)
class ServerStarted(Event):
    """`tb server` receives on its interface: what comes in from now on is merged."""

    jobs: tuple[int, ...]
    """ids"""


@dataclass(frozen=True, slots=True)
class ServerStatistics(Event):
    """What a parameter server did for one job since it started; reported when it stops."""

    job: int
    bytes_in: int
    """bytes of frames, from the Ethernet header on"""
    packets_in: dict[str, int]
    """packets by kind: data (of one worker), partial, whole, resend, evicted, collided, copy, reminder_empty"""
    blocks: int
    """blocks that the server completed"""
    copies: int
    """blocks that a switch had completed and sent itself"""
    replays: int
    """frames with a result that had been sent before"""
    overlaps: int
    """packets that were discarded because a worker inside was counted already"""
    ignored: int
    """other packets that entered no sum"""
    reminders: int
    """reminders to switches"""
    nacks: int
    """NACKs to workers"""
    moved: int
    """entries of the slot table that got another index"""
    rejected: int
    """damaged or contradicting datagrams"""
    open: int
    """blocks that are not complete"""
