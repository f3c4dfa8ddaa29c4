"""What a repair costs at the two ends of the trade between storage and traffic (A. G. Dimakis et al., Network coding
for distributed storage systems, IEEE Transactions on Information Theory 56(9), 2010), as exact fractions.

A file of size M is stored on n nodes, and any k of them have all of it. Each node stores alpha. A newcomer gets beta
from each of d donors, gamma = d beta in total. This is possible if the sum over i < k of min(alpha, (d - i) beta) is at
least M (the cut-set bound).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

__all__ = ["RepairCost", "mbr_cost", "msr_cost", "rs_cost"]


@dataclass(frozen=True, slots=True)
class RepairCost:
    """Storage and traffic of a repair, in units of the file's size."""

    alpha: Fraction
    """a node stores"""
    beta: Fraction
    """a donor sends"""
    ingress: Fraction
    """the newcomer gets"""
    egress: Fraction
    """all donors send"""


def _cost(alpha: Fraction, beta: Fraction, d: int, combined: bool) -> RepairCost:
    return RepairCost(alpha, beta, beta if combined else d * beta, d * beta)


def msr_cost(k: int, d: int, file: Fraction) -> RepairCost:
    return _cost(file / k, file / (k * (d - k + 1)), d, combined=False)


def mbr_cost(k: int, d: int, file: Fraction) -> RepairCost:
    beta = 2 * file / (k * (2 * d - k + 1))
    return _cost(d * beta, beta, d, combined=False)


def rs_cost(k: int, file: Fraction, *, combined: bool) -> RepairCost:
    """`combined`: switches on the way make one block of what the donors send."""
    return _cost(file / k, file / k, k, combined)
