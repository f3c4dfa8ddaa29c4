"""Rabenseifner's all-reduce. The D ranks that stay (`pairs.py`) keep one half of what they hold and give the other,
log2 D times. Then each gives what it has, the last partner first."""

from __future__ import annotations

from workloads.collectives.pairs import PairPhase, folded_in, folded_out, meetings, standing_ranks
from workloads.collectives.schedules import chunk_bounds
from workloads.config import ELEMENT_BYTES
from workloads.errors import ScenarioError

__all__ = ["rabenseifner"]


def rabenseifner(ranks: int, elements: int, *, far_first: bool = False) -> tuple[PairPhase, ...]:
    """Raises ScenarioError below 2 ranks, and for less elements than the largest power of two in `ranks`: a rank would
    have nothing to keep."""
    standing = standing_ranks(ranks)
    if elements < len(standing):
        raise ScenarioError(
            "not an element for each rank to keep", key="job.size", found=f"{elements} elements",
            allowed=f"at least {len(standing)} elements",
        )  # fmt: skip
    held = dict.fromkeys(standing, (0, elements))
    halving, doubling = list[PairPhase](), list[PairPhase]()
    met = meetings(standing, far_first=far_first)
    for step, pairs in enumerate(met):
        spread = []
        for low, high in pairs:
            first, count = held[low]
            # In a ring of two, reduce_scatter leaves chunk 1 at its rank 0, and all_gather begins so.
            ring = high, low
            halving.append(PairPhase(1 + step, f"halve_{step}", "reduce_scatter", ring, first, count))
            spread.append(PairPhase(2 * len(met) - step, f"double_{step}", "all_gather", ring, first, count))
            for rank, (start, stop) in zip((low, high), chunk_bounds(count, 2), strict=True):
                held[rank] = first + start // ELEMENT_BYTES, (stop - start) // ELEMENT_BYTES
        doubling[:0] = spread
    return (*folded_in(ranks, elements), *halving, *doubling, *folded_out(1 + 2 * len(met), ranks, elements))
