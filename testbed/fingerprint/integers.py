"""Reducers that add int32."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from testbed.fingerprint.fixed import Overflow, saturating
from testbed.fingerprint.masking import measure_saturating, orders_of_sizes
from testbed.fingerprint.nans import NanRule
from testbed.fingerprint.reducer import Array, Counted, Unusable
from testbed.fingerprint.trees import Orders

__all__ = ["IntegerModel", "integer_candidates"]

_LOW, _HIGH = -(1 << 31), (1 << 31) - 1


@dataclass(frozen=True)
class IntegerModel:
    overflow: Overflow
    orders: Orders | None = None
    """where sums saturate after each addition"""
    nans: NanRule = NanRule("int32 has none", constant=0)

    def predict(self, vectors: Array, at: Array) -> Array:
        numbers = vectors.astype(np.int64)
        if self.overflow == Overflow.STEP:
            assert self.orders is not None
            result = np.empty(numbers.shape[1], np.int64)
            for number in np.unique(self.orders.which[at]):
                there = self.orders.which[at] == number
                result[there] = saturating(self.orders.trees[number], numbers[:, there])
        else:
            result = numbers.sum(axis=0)
            if self.overflow == Overflow.ONCE:
                result = np.clip(result, _LOW, _HIGH)
        bits: Array = result.astype(np.uint32)
        return bits

    def traits(self) -> dict[str, str]:
        return {"accumulator": "int32", "overflow": f"{self.overflow}"}


def integer_candidates(reducer: Counted) -> Iterator[IntegerModel]:
    """The orders are measured only where sums saturate after each addition."""
    yield IntegerModel(Overflow.WRAP)
    yield IntegerModel(Overflow.ONCE)
    try:
        sizes = measure_saturating(reducer, lambda numbers: numbers.astype(np.int32), lambda total: total)
    except Unusable:
        return
    orders = orders_of_sizes(reducer.ranks, sizes)
    if isinstance(orders, Orders):
        yield IntegerModel(Overflow.STEP, orders)
