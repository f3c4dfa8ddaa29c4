"""What a fingerprint found, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from testbed.fingerprint.trees import Orders, written
from workloads.visible import visible

__all__ = ["Finding", "SumDifference"]

_SHOWN_PIECES = 16


@dataclass(frozen=True, slots=True)
class SumDifference:
    """The first vector whose sum is not as predicted; words of 32 bits in hexadecimal."""

    element: int
    inputs: tuple[str, ...]
    """by rank"""
    expected: str
    got: str


@dataclass(frozen=True)
class Finding:
    target: str
    ranks: int
    elements: int
    dtype: str
    traits: Mapping[str, str]
    """what the arithmetic is, by subject; empty: nothing fits"""
    orders: Orders | None
    """None: no order can be seen, or it differs from run to run"""
    predicted: int = 0
    """fresh vectors whose sums are as predicted"""
    vectors: int = 0
    """fresh vectors that were tried"""
    difference: SumDifference | None = None
    reason: str = ""
    """why it is unknown; empty: it is known"""
    notes: tuple[str, ...] = ()
    runs: int = field(default=0, compare=False)
    """gradients that were summed"""

    @property
    def is_known(self) -> bool:
        return not self.reason

    @property
    def exit_code(self) -> int:
        return 0 if self.is_known else 2

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "target": self.target, "known": self.is_known, "ranks": self.ranks, "elements": self.elements,
            "dtype": self.dtype, "traits": dict(self.traits), "orders": self._pieces(),
            "predicted": {"vectors": self.vectors, "equal": self.predicted}, "reason": self.reason or None,
            "first_difference": None
            if self.difference is None
            else {
                "element": self.difference.element, "inputs": list(self.difference.inputs),
                "expected": self.difference.expected, "got": self.difference.got,
            },
            "notes": list(self.notes), "runs": self.runs,
        }  # fmt: skip

    def _pieces(self) -> list[dict[str, Any]]:
        if self.orders is None:
            return []
        return [{"first": first, "end": end, "sum": written(tree)} for first, end, tree in self.orders.pieces()]

    def lines(self) -> Iterator[str]:
        """For a terminal; the caller folds them."""
        yield f"{visible(self.target)}: {'known' if self.is_known else 'unknown'}; {self.ranks} ranks, {self.dtype}"
        for subject, words in self.traits.items():
            yield f"  {subject:<12}  {words}"
        yield from self._sums()
        if self.vectors:
            yield f"  {'predicted':<12}  {self.predicted:,} of {self.vectors:,} fresh vectors, bit for bit"
        for note in self.notes:
            yield f"  {'note':<12}  {note}"
        if self.reason:
            yield f"  {'unknown':<12}  {visible(self.reason)}"
        if self.difference is not None:
            yield f"  {'first':<12}  element {self.difference.element} differs:"
            for rank, word in enumerate(self.difference.inputs):
                yield f"    rank {rank:<5}  {word}"
            yield f"    expected    {self.difference.expected}"
            yield f"    got         {self.difference.got}"

    def _sums(self) -> Iterator[str]:
        if self.orders is None or self.ranks == 2:
            return
        pieces = self.orders.pieces()
        if len(pieces) == 1:
            yield f"  {'sum':<12}  {written(pieces[0][2])}"
            return
        for first, end, tree in pieces[:_SHOWN_PIECES]:
            yield f"  {'sum':<12}  {written(tree)}, elements {first:,} to {end - 1:,}"
        if len(pieces) > _SHOWN_PIECES:
            yield f"  {'':<12}  and {len(pieces) - _SHOWN_PIECES:,} pieces more"
