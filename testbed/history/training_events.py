"""Facts about the training processes, in addition to those of the workers (node "world")."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.machine import Event, unless_default

__all__ = [
    "AllReduceCarried",
    "AllReducePosted",
    "PieceBounded",
    "PieceExpected",
    "RankJoined",
    "RankLeft",
    "RankStepped",
    "StoreCollectives",
    "TrainingFailed",
]


@dataclass(frozen=True, slots=True)
class RankJoined(Event):
    """A training process reached the network."""

    rank: int
    pid: int


@dataclass(frozen=True, slots=True)
class RankStepped(Event):
    """The optimizer of the slowest rank stepped."""

    step: int
    """number of the step, from 1"""


@dataclass(frozen=True, slots=True)
class RankLeft(Event):
    rank: int
    error: str
    """what ended its program; empty: it left in order"""
    collectives: int
    """collectives that it had posted"""


@dataclass(frozen=True, slots=True)
class AllReducePosted(Event):
    """All ranks have posted it: it goes to the network."""

    number: int
    """among all collectives of the training, from 0"""
    elements: int
    first_iteration: int
    """first iteration of the job, which sums piece by piece"""
    pieces: int
    what: str = unless_default("")
    """collective that crossed the mesh; empty: an all-reduce of all ranks"""


@dataclass(frozen=True, slots=True)
class PieceExpected(Event):
    """What the reference makes of the ranks' gradients."""

    iteration: int
    sha256: tuple[str, ...]
    """hash of the result's bytes, by rank"""


@dataclass(frozen=True, slots=True)
class PieceBounded(Event):
    """A piece that may lack a bounded share: what was left out, and what its judge found wrong. Later facts about it
    come in another event."""

    iteration: int
    results: int
    """results of hosts that were compared"""
    different: int
    """results among those that the hosts reported"""
    left_out: int
    """packets of gradients that did not count, of all their `packets`"""
    packets: int
    sums_left_out: int
    """the same of sums"""
    sum_packets: int
    filled: int = unless_default(0)
    """elements, zeros, that made it as long as all others"""
    wrong: tuple[str, ...] = unless_default(())


@dataclass(frozen=True, slots=True)
class AllReduceCarried(Event):
    """Every rank has its sum."""

    number: int
    network_ns: int
    """since it was posted; virtual time stands still while the ranks compute"""


@dataclass(frozen=True, slots=True)
class StoreCollectives(Event):
    """Collectives that were not aggregated in the network."""

    counts: dict[str, int]
    """numbers of collectives, by kind"""


@dataclass(frozen=True, slots=True)
class TrainingFailed(Event):
    """Nothing was summed any more from here on."""

    reason: str
