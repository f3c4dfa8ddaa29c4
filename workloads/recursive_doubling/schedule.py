"""Recursive doubling, the butterfly: the D ranks that stay (`pairs.py`) exchange all that they hold, log2 D times."""

from __future__ import annotations

from workloads.collectives.pairs import PairPhase, folded_in, folded_out, meetings, standing_ranks

__all__ = ["recursive_doubling"]


def recursive_doubling(ranks: int, elements: int) -> tuple[PairPhase, ...]:
    """Raises ScenarioError below 2 ranks."""
    met = meetings(standing_ranks(ranks))
    steps = [
        PairPhase(1 + step, f"exchange_{step}", "exchange", pair, 0, elements)
        for step, pairs in enumerate(met)
        for pair in pairs
    ]
    return (*folded_in(ranks, elements), *steps, *folded_out(1 + len(met), ranks, elements))
