"""Reducers that add in the order of arrival: which sums they may return."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from testbed.fingerprint.choosing import Calibration
from testbed.fingerprint.floats import conversions, in_sight
from testbed.fingerprint.formats import FLOAT32, FLOAT64, Rounding
from testbed.fingerprint.models import Conversions, FloatModel
from testbed.fingerprint.reducer import Array
from testbed.fingerprint.trees import Orders, line_of
from testbed.fingerprint.values import Passed

__all__ = ["MOST_RANKS", "ArrivalModel", "arrival_model"]

MOST_RANKS = 7
"""of more ranks there are too many orders"""
_TRIED = 3000


@dataclass(frozen=True)
class ArrivalModel:
    """Each sum is that of some order, one rank after the other."""

    base: FloatModel

    def equal(self, vectors: Array, found: Array) -> Array:
        """Which sums some order explains; shape (n,)."""
        explained = np.zeros(vectors.shape[1], bool)
        for line in permutations(range(len(vectors))):
            if line[0] > line[1]:
                continue  # the first two commute
            open_ = np.flatnonzero(~explained)
            if not len(open_):
                break
            model = FloatModel(
                Orders.of(line_of(line), len(open_)), self.base.accumulator, self.base.rounding, self.base.conversions,
                from_zero=self.base.from_zero,
            )  # fmt: skip
            bits = model.predict(vectors[:, open_], np.arange(len(open_)))
            both_nan = np.isnan(bits.view(np.float32)) & np.isnan(found[open_])
            explained[open_] = (bits == found[open_].view(np.uint32)) | both_nan
        return explained

    def traits(self) -> dict[str, str]:
        base = self.base.traits()
        return {
            "order": "by arrival: the same inputs gave different sums; each is that of one rank after the other",
            **{
                subject: base[subject] for subject in ("accumulator", "rounding", "inputs", "result") if subject in base
            },
            "NaN": "a NaN stays a NaN",
        }


def arrival_model(sums: Calibration, passed: Passed) -> ArrivalModel | None:
    """None: no order of single ranks explains the sums."""
    ranks, elements = sums.vectors.shape
    if ranks > MOST_RANKS:
        return None
    at = in_sight(sums, passed.form)[:_TRIED]
    for model in _candidates(Orders.of(line_of(range(ranks)), elements), passed):
        if all(
            model.equal(sums.vectors[:, at[part]], sums.found[at[part]]).all() for part in (slice(100), slice(None))
        ):
            zeros = sums.of("special")
            if model.equal(sums.vectors[:, zeros], sums.found[zeros]).all():
                return model
    return None


def _candidates(orders: Orders, passed: Passed) -> Iterator[ArrivalModel]:
    for accumulator, ways, rounding, from_zero in product(
        dict.fromkeys((passed.form, FLOAT32, FLOAT64)), (*conversions(passed.form), Conversions()), Rounding,
        (False, True),
    ):  # fmt: skip
        yield ArrivalModel(FloatModel(orders, accumulator, rounding, ways, from_zero=from_zero))
