"""All-to-all by pairwise exchange: in each step every rank gives one chunk and gets one.

Of an even number of ranks, the partners are those of a round robin: rank P - 1 stays, and the others move round by one
place from step to step. So each pair meets once, in P - 1 steps.

Of an odd number, a round robin would leave one rank out of each step, and the others would disturb each other. So in
step s, from 1 to P - 1, rank i gives to rank i + s and gets from rank i - s (modulo P).

Rank i gives rank j chunk j of its vector. Rank j holds what came from rank i as block i of its result, and every block
of it has the length of chunk j.
"""

from __future__ import annotations

from dataclasses import replace

from workloads.collectives.pairs import PairPhase, PairSide, check_ranks
from workloads.collectives.schedules import chunk_bounds
from workloads.config import ELEMENT_BYTES

__all__ = ["pairwise"]


def pairwise(ranks: int, elements: int) -> tuple[PairPhase, ...]:
    """Raises ScenarioError below 2 ranks."""
    check_ranks(ranks)
    chunks = [(start // ELEMENT_BYTES, stop // ELEMENT_BYTES) for start, stop in chunk_bounds(elements, ranks)]
    phases = []
    for step, pairs in enumerate(_rounds(ranks)):
        for pair in pairs:
            sides = (_side(chunks, *pair), _side(chunks, *reversed(pair)))
            if ranks % 2:
                sides = (replace(sides[0], into_elements=0), replace(sides[1], elements=0))
            if sides[0].elements or sides[1].elements or not elements:
                phases.append(PairPhase(step, f"swap_{step}", "swap", pair, 0, 0, sides))
    return tuple(phases)


def _side(chunks: list[tuple[int, int]], own: int, peer: int) -> PairSide:
    start, stop = chunks[peer]
    length = chunks[own][1] - chunks[own][0]
    return PairSide(start, stop - start, peer * length, length)


def _rounds(ranks: int) -> list[list[tuple[int, int]]]:
    """(lower, higher) of the ranks that meet, by step; of an odd number (giver, taker)."""
    if ranks % 2:
        return [[(rank, (rank + step) % ranks) for rank in range(ranks)] for step in range(1, ranks)]
    found = []
    for step in range(ranks - 1):
        ring = [(place + step) % (ranks - 1) for place in range(ranks - 1)]
        meetings = [(ring[0], ranks - 1), *((ring[place], ring[-place]) for place in range(1, ranks // 2))]
        found.append([(min(pair), max(pair)) for pair in meetings])
    return found
