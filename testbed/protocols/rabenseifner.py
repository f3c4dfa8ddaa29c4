"""Rabenseifner's all-reduce: recursive halving, then doubling, between pairs of hosts (docs/pairs.md)."""

from __future__ import annotations

from testbed.checkers.orders import in_pairs
from testbed.protocols.parts.scheduled import scheduled
from testbed.scenario.checks_pairs import check_halves
from workloads.collectives.rabenseifner import rabenseifner

__all__ = ["PROTOCOL"]


def _gradients(ranks: int) -> float:
    """2 (D - 1) / D, D being the largest power of two in the ranks, and one to fold in and one out where they are
    more."""
    within = 1 << ranks.bit_length() - 1
    return 2 * (within - 1) / within + 2 * (ranks != within)


PROTOCOL = scheduled(
    "rabenseifner",
    "Rabenseifner's all-reduce: recursive halving, then doubling",
    rabenseifner,
    in_pairs,
    gradients=_gradients,
    checks=(check_halves,),
)
