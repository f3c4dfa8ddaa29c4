"""Calibration: sums of known vectors, and which of some models explains them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from testbed.fingerprint.models import ReducerModel, predicted
from testbed.fingerprint.reducer import Array
from testbed.fingerprint.vectors import CLASSES

__all__ = ["Calibration", "choose"]

_FEW, _MANY = 256, 6000
_M = TypeVar("_M", bound=ReducerModel)


@dataclass(frozen=True)
class Calibration:
    vectors: Array
    """shape (ranks, elements)"""
    found: Array
    """their sums"""
    kinds: Array
    """class of each element, an index of CLASSES"""

    def of(self, *names: str) -> Array:
        """Elements of these classes."""
        there: Array = np.flatnonzero(np.isin(self.kinds, [CLASSES.index(name) for name in names]))
        return there

    def equal(self, model: ReducerModel, at: Array) -> Array:
        """Which of these elements are as the model has them."""
        return predicted(model, self.vectors[:, at], at, self.found[at])


def choose(models: Iterable[_M], sums: Calibration, at: Collection[int] | Array, most: int = 8) -> Sequence[_M]:
    """The models that explain all these elements, in their order, at most `most`; else the one that explains most."""
    places = np.asarray(at, np.intp)
    some = places[np.linspace(0, len(places) - 1, min(_MANY, len(places)), dtype=np.intp)] if len(places) else places
    few = some[:: max(1, len(some) // _FEW)]
    found: list[_M] = []
    best: tuple[int, _M | None] = (-1, None)
    for model in models:
        if any(model == other for other in found):
            continue
        score = int(sums.equal(model, few).sum())
        if score == len(few):
            score = int(sums.equal(model, some).sum())
            if score == len(some):
                found.append(model)
                if len(found) == most:
                    break
        if score > best[0]:
            best = score, model
    return found or ([] if best[1] is None else [best[1]])
