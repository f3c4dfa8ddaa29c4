"""Schedules of all-reduces whose ranks talk in pairs, as data: recursive doubling and Rabenseifner's.

With D the largest power of two in N ranks, the first 2(N - D) ranks fold in first: 2i gives its whole vector to 2i + 1,
which stands for both, and has the result back at the end. The D ranks left are numbered anew (Thakur, Rabenseifner,
Gropp 2005). In step k a rank meets the one whose new number differs in bit k: near partners first, so that ranks that
are neighbours in a rack sum before anything leaves it.

| algorithm | the D ranks |
|---|---|
| recursive_doubling | exchange all that they hold, log2 D times |
| rabenseifner | keep one half and give the other, log2 D times; then each gives what it has, the last partner first |

Every element is summed as the same tree by both, on all ranks: ((x0 + x1) + (x2 + x3)) + ..., x being the D vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workloads.collectives.arithmetic import ELEMENT_BYTES
from workloads.collectives.schedules import chunk_bounds
from workloads.errors import ScenarioError

__all__ = ["PAIR_SCHEDULES", "PairPhase", "rabenseifner", "recursive_doubling"]


@dataclass(frozen=True, slots=True)
class PairPhase:
    """Two ranks as a ring of two, which runs over a part of the vector."""

    name: str
    """no rank has two phases of one name"""
    kind: str
    """in PHASE_KINDS"""
    ranks: tuple[int, int]
    """in the order of the ring"""
    first_element: int
    elements: int


def recursive_doubling(ranks: int, elements: int) -> tuple[PairPhase, ...]:
    """Phases in an order that is that of every rank. Raises ScenarioError below 2 ranks."""
    standing = _standing(ranks)
    steps = [
        PairPhase(f"exchange_{step}", "exchange", (low, high), 0, elements)
        for step in range(_steps(standing))
        for low, high in _pairs(standing, step)
    ]
    return (*_fold_in(ranks, elements), *steps, *_fold_out(ranks, elements))


def rabenseifner(ranks: int, elements: int) -> tuple[PairPhase, ...]:
    """As `recursive_doubling`. Also raises ScenarioError for less elements than the largest power of two in `ranks`: a
    rank would have nothing to keep."""
    standing = _standing(ranks)
    if elements < len(standing):
        raise ScenarioError(
            "not an element for each rank to keep", key="job.size", found=f"{elements} elements",
            allowed=f"at least {len(standing)} elements",
        )  # fmt: skip
    held = dict.fromkeys(standing, (0, elements))
    halving, doubling = list[PairPhase](), list[PairPhase]()
    for step in range(_steps(standing)):
        spread = []
        for low, high in _pairs(standing, step):
            first, count = held[low]
            # In a ring of two, reduce_scatter leaves chunk 1 at its rank 0, and all_gather begins so.
            ring = high, low
            halving.append(PairPhase(f"halve_{step}", "reduce_scatter", ring, first, count))
            spread.append(PairPhase(f"double_{step}", "all_gather", ring, first, count))
            for rank, (start, stop) in zip((low, high), chunk_bounds(count, 2), strict=True):
                held[rank] = first + start // ELEMENT_BYTES, (stop - start) // ELEMENT_BYTES
        doubling[:0] = spread
    return (*_fold_in(ranks, elements), *halving, *doubling, *_fold_out(ranks, elements))


PAIR_SCHEDULES: Mapping[str, Callable[[int, int], tuple[PairPhase, ...]]] = {
    "recursive_doubling": recursive_doubling,
    "rabenseifner": rabenseifner,
}
"""by `CollectiveConfig.kind`: (ranks, elements) -> phases"""


def _standing(ranks: int) -> list[int]:
    """The D ranks that stay, by their new numbers."""
    if ranks < 2:
        raise ScenarioError("nobody to reduce with", key="ranks", found=str(ranks), allowed="at least 2")
    folded = 2 * (ranks - (1 << ranks.bit_length() - 1))
    return [*range(1, folded, 2), *range(folded, ranks)]


def _steps(standing: list[int]) -> int:
    return len(standing).bit_length() - 1


def _pairs(standing: list[int], step: int) -> list[tuple[int, int]]:
    return [(rank, standing[number | 1 << step]) for number, rank in enumerate(standing) if not number & 1 << step]


def _fold_in(ranks: int, elements: int) -> list[PairPhase]:
    extra = ranks - len(_standing(ranks))
    return [PairPhase("fold_in", "chain_reduce", (2 * i, 2 * i + 1), 0, elements) for i in range(extra)]


def _fold_out(ranks: int, elements: int) -> list[PairPhase]:
    extra = ranks - len(_standing(ranks))
    return [PairPhase("fold_out", "chain_broadcast", (2 * i + 1, 2 * i), 0, elements) for i in range(extra)]
