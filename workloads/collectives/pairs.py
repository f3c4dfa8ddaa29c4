"""A schedule of transfers between pairs of ranks, as data; and what the schedules of pairs that meet over powers of two
share.

A schedule is a function (ranks, elements) -> phases. Each phase is a ring of two ranks over a part of the vector, on
queue pairs of its own. Phases of one step run together. A rank begins a step when its part of the one before is over.
`phased.py` runs any of them.

D is the largest power of two in N ranks. The first 2(N - D) ranks fold in first: 2i gives its whole vector to 2i + 1.
That one stands for both, and returns the result at the end. The D ranks left get new numbers (Thakur, Rabenseifner,
Gropp 2005). In step k a rank meets the one whose new number differs in bit k. Then near partners come first, so
neighbours in a rack sum before anything leaves it. Or far partners come first: their numbers differ in the bit that is
k-th from the highest.

Every element is summed as the same tree by both, on all ranks: ((x0 + x1) + (x2 + x3)) + ..., x being the D vectors.
With far partners first and D = 8 it is ((x0 + x4) + (x2 + x6)) + ((x1 + x5) + (x3 + x7)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from workloads.errors import ScenarioError

__all__ = [
    "PairPhase",
    "PairSide",
    "Schedule",
    "check_ranks",
    "folded_in",
    "folded_out",
    "meetings",
    "meetings_of_tree",
    "standing_ranks",
]


@dataclass(frozen=True, slots=True)
class PairSide:
    """What one of two ranks sends and takes in."""

    first_element: int
    """of its vector"""
    elements: int
    into_element: int
    """of its result"""
    into_elements: int


@dataclass(frozen=True, slots=True)
class PairPhase:
    """Two ranks as a ring of two, which runs over a part of the vector."""

    step: int
    """phases of one step run together; no rank's steps go down"""
    name: str
    """no rank has two phases of one name"""
    kind: str
    """a kind in PHASE_KINDS"""
    ranks: tuple[int, int]
    """the two ranks, in the order of the ring"""
    first_element: int
    elements: int
    sides: tuple[PairSide, PairSide] | None = None
    """by rank, where both send and take in different parts, instead of `first_element` and `elements`"""


Schedule: TypeAlias = Callable[..., tuple[PairPhase, ...]]
"""(ranks, elements, and options by name) -> phases in an order that is that of every rank"""


def check_ranks(ranks: int) -> None:
    """Raises ScenarioError below 2 ranks."""
    if ranks < 2:
        raise ScenarioError("no other rank to reduce with", key="ranks", found=str(ranks), allowed="at least 2")


def standing_ranks(ranks: int) -> list[int]:
    """The D ranks that stay, by their new numbers. Raises ScenarioError below 2 ranks."""
    check_ranks(ranks)
    folded = 2 * (ranks - (1 << ranks.bit_length() - 1))
    return [*range(1, folded, 2), *range(folded, ranks)]


def meetings(standing: list[int], *, far_first: bool = False) -> list[list[tuple[int, int]]]:
    """(lower, higher) of the ranks that meet, by step."""
    near_first = [
        [(rank, standing[number | 1 << bit]) for number, rank in enumerate(standing) if not number & 1 << bit]
        for bit in range(len(standing).bit_length() - 1)
    ]
    return near_first[::-1] if far_first else near_first


def folded_in(ranks: int, elements: int) -> list[PairPhase]:
    """Step 0."""
    extra = ranks - len(standing_ranks(ranks))
    return [PairPhase(0, "fold_in", "chain_reduce", (2 * i, 2 * i + 1), 0, elements) for i in range(extra)]


def folded_out(step: int, ranks: int, elements: int) -> list[PairPhase]:
    extra = ranks - len(standing_ranks(ranks))
    return [PairPhase(step, "fold_out", "chain_broadcast", (2 * i + 1, 2 * i), 0, elements) for i in range(extra)]


def meetings_of_tree(ranks: int, step: int, root: int = 0) -> list[tuple[int, int]]:
    """(parent, child) of a step of a binomial tree; rank root + r (mod ranks) has the place of rank r."""
    parents = range(0, ranks - (1 << step), 2 << step)
    return [((place + root) % ranks, (place + (1 << step) + root) % ranks) for place in parents]
