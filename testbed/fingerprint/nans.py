"""What becomes of NaNs: a rule for the bits of every NaN in a sum, measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

import numpy as np

from testbed.fingerprint.reducer import Array, Counted
from testbed.fingerprint.trees import Orders

__all__ = ["NanRule", "measure_nans", "nan_words"]

_QUIET: Final = np.uint32(0x00400000)
_SIGN: Final = np.uint32(0x80000000)
_PLAIN: Final = np.uint32(0x7FC00000)
_PATTERNS = np.array(
    [0x7FC00000, 0xFFC00000, 0x7FC12345, 0xFFD54321, 0x7F812345, 0xFF854321, 0x7FFFFFFF, 0x7F800001], np.uint32
)
"""quiet and signalling, of either sign, with payloads in their high and low bits"""
_FIRST, _SECOND = np.array([0x7FD10000], np.uint32), np.array([0xFFE20000], np.uint32)
_KEPT: Final[dict[str, Callable[[Array], Array]]] = {
    "every NaN keeps sign and payload, and becomes quiet": lambda bits: bits | _QUIET,
    "every NaN keeps its bits": lambda bits: bits,
    "every NaN keeps its sign only": lambda bits: (bits & _SIGN) | _PLAIN,
    "every NaN keeps sign and the high 16 bits, and becomes quiet": lambda bits: (
        (bits | _QUIET) & np.uint32(0xFFFF0000)
    ),
    "every NaN keeps sign and the high 19 bits, and becomes quiet": lambda bits: (
        (bits | _QUIET) & np.uint32(0xFFFFE000)
    ),
}


@dataclass(frozen=True, eq=False)
class NanRule:
    words: str
    constant: int | None = None
    """bits of every NaN; None: it depends on the inputs"""
    kept: str = ""
    """what becomes of the NaN of one rank, a key of `_KEPT`"""
    invalid: int = int(_PLAIN)
    """bits of infinity minus infinity"""
    first_wins: Mapping[int, Array] = field(default_factory=dict)
    """by tree: whether, of NaNs at ranks i and j, that of i stays"""
    is_known: bool = True
    """False: only that a sum is NaN can be predicted"""

    def leaf(self, bits: Array) -> Array:
        """Of one rank's NaNs."""
        kept: Array = _KEPT[self.kept](bits)
        return kept


def nan_words(rule: NanRule) -> str:
    """As `rule.words`, with the bits of infinity minus infinity."""
    if rule.constant is not None or not rule.is_known:
        return rule.words
    return f"{rule.words}; infinity - infinity is {rule.invalid:#010x}"


def measure_nans(reducer: Counted, orders: Orders, ordinary: Array) -> NanRule:
    """`ordinary`: a gradient of finite values, shape (ranks, elements), that is added. Raises Refused where NaNs are
    refused."""
    ranks, places = reducer.ranks, np.arange(reducer.elements)
    single = ordinary.copy()
    owner, pattern = places % ranks, _PATTERNS[places // ranks % len(_PATTERNS)]
    single.view(np.uint32)[owner, places] = pattern
    opposite = places % (2 * ranks + 3) == 0
    single[:, opposite] = 0
    single[0, opposite], single[1, opposite] = np.inf, -np.inf
    found = reducer.one(single)
    bits = found.view(np.uint32)
    if not np.isnan(found).all():
        return NanRule("some NaNs get lost in sums", is_known=False)
    if (bits == bits[0]).all():
        return NanRule(f"every NaN becomes {int(bits[0]):#010x}", constant=int(bits[0]))
    invalid = np.unique(bits[opposite])
    kept = next(
        (name for name, make in _KEPT.items() if (make(pattern[~opposite]) == bits[~opposite]).all()),
        None,
    )
    if kept is None or len(invalid) != 1:
        return NanRule("a NaN stays a NaN; no rule found for its bits", is_known=False)
    return _with_winners(reducer, orders, ordinary, NanRule(kept, kept=kept, invalid=int(invalid[0])))


def _with_winners(reducer: Counted, orders: Orders, ordinary: Array, rule: NanRule) -> NanRule:
    ranks, places = reducer.ranks, np.arange(reducer.elements)
    pairs = np.array(list(combinations(range(ranks), 2)))
    pair = places % len(pairs)
    both = ordinary.copy()
    words = both.view(np.uint32)
    words[pairs[pair, 0], places], words[pairs[pair, 1], places] = _FIRST, _SECOND
    bits = reducer.one(both).view(np.uint32)
    first, second = bits == rule.leaf(_FIRST), bits == rule.leaf(_SECOND)
    if rule.leaf(_FIRST) == rule.leaf(_SECOND) or not (first | second).all():
        return NanRule("a NaN stays a NaN; no rule found for two that meet", is_known=False)
    winners: dict[int, Array] = {}
    for tree in range(len(orders.trees)):
        matrix = np.zeros((ranks, ranks), bool)
        for number, (i, j) in enumerate(pairs):
            votes = first[(pair == number) & (orders.which == tree)]
            if len(votes) and votes.min() != votes.max():
                return NanRule("a NaN stays a NaN; which of two stays differs", is_known=False)
            matrix[i, j] = bool(len(votes) and votes[0])
            matrix[j, i] = not matrix[i, j]
        winners[tree] = matrix
    lower = {bool(matrix[i, j]) for matrix in winners.values() for i, j in pairs}
    of_two = "that of the lower rank" if lower == {True} else "that of the higher rank" if lower == {False} else "one"
    return NanRule(f"{rule.words}; of two {of_two} stays", kept=rule.kept, invalid=rule.invalid, first_wins=winners)
