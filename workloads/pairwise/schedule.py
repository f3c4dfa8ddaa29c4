"""All-to-all by pairwise exchange: in each step every rank swaps one chunk with one partner.

The partners are those of a round robin: rank P - 1 stays (of an odd number of ranks: an empty place), and the others
move round by one place from step to step. So each pair meets once, in P - 1 steps (P steps, of an odd number of ranks).

Rank i gives rank j chunk j of its vector. Rank j holds what came from rank i as block i of its result, and every block
of it has the length of chunk j.
"""

from __future__ import annotations

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
            if sides[0].elements or sides[1].elements or not elements:
                phases.append(PairPhase(step, f"swap_{step}", "swap", pair, 0, 0, sides))
    return tuple(phases)


def _side(chunks: list[tuple[int, int]], own: int, peer: int) -> PairSide:
    start, stop = chunks[peer]
    length = chunks[own][1] - chunks[own][0]
    return PairSide(start, stop - start, peer * length, length)


def _rounds(ranks: int) -> list[list[tuple[int, int]]]:
    """(lower, higher) of the ranks that meet, by step."""
    seats = ranks + ranks % 2
    found = []
    for step in range(seats - 1):
        ring = [(place + step) % (seats - 1) for place in range(seats - 1)]
        meetings = [(ring[0], seats - 1), *((ring[place], ring[-place]) for place in range(1, seats // 2))]
        found.append([(min(pair), max(pair)) for pair in meetings if max(pair) < ranks])
    return found
