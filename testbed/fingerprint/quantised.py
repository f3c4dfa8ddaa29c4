"""From sums to the model of a reducer that adds floats as integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from testbed.fingerprint.choosing import Calibration, choose
from testbed.fingerprint.fixed import FixedModel, Overflow, Scale, fixed_candidates, measure_scale, plain_scales
from testbed.fingerprint.masking import measure_saturating, orders_of_sizes
from testbed.fingerprint.nans import NanRule
from testbed.fingerprint.reducer import Array, Counted, Refused, Unusable
from testbed.fingerprint.trees import Orders
from testbed.fingerprint.values import Passed

__all__ = ["block_model", "fixed_model", "with_halves"]

_FEW, _LEAST_PREFIX = 1024, 8192
_PILOT = 0.75


def fixed_model(reducer: Counted, passed: Passed, sums: Calibration, *, takes_large: bool) -> FixedModel:
    """One scale for all. Raises Unusable where no scale explains single values."""
    scales = _scales(passed.given, passed.found, reducer.ranks)
    beyond = (Overflow.NONE, Overflow.WRAP, Overflow.ONCE, Overflow.STEP) if takes_large else (Overflow.UNSEEN,)
    orders = _saturating_orders(reducer, scales[0].number) if takes_large else None
    models = (
        replace(model, orders=orders) if model.overflow == Overflow.STEP else model
        for model in fixed_candidates(scales, beyond)
        if orders is not None or model.overflow != Overflow.STEP
    )
    model = choose(models, sums, np.arange(reducer.elements), 1)[0]
    nans = "become integers, as other values" if passed.takes_special else "infinities and NaNs are refused"
    return replace(model, nans=NanRule(nans, constant=0))


def block_model(reducer: Counted, block: int, sums: Calibration, *, takes_special: bool) -> FixedModel:
    """A scale for each block. Raises Unusable as `fixed_model`."""
    places = np.arange(reducer.elements)
    rng = np.random.default_rng(13)
    gradient = np.zeros((reducer.ranks, reducer.elements), np.float32)
    values = rng.uniform(-_PILOT, _PILOT, reducer.elements) * 2.0 ** -rng.integers(0, 30, reducer.elements)
    gradient[places % reducer.ranks, places] = values
    gradient[:, ::block] = 0
    gradient[0, ::block] = _PILOT
    found = reducer.one(gradient)
    inside = places % block != 0
    own = gradient.sum(axis=0)
    scales = [replace(scale, block=block) for scale in _scales(own[inside], found[inside], reducer.ranks)]
    end = min(reducer.elements, -(-_LEAST_PREFIX // block) * block)
    first = Calibration(sums.vectors[:, :end], sums.found[:end], sums.kinds[:end])
    model = _whole_blocks(scales, first)
    nans = "become integers, as other values" if takes_special else "infinities and NaNs are refused"
    return replace(model, nans=NanRule(nans, constant=0))


def with_halves(vectors: Array, kinds: Array, ties: int, scale: float) -> Array:
    """Values half-way between two integers, where floats can be, in place of those of class `ties`."""
    there = np.flatnonzero(kinds == ties)
    changed = vectors.copy()
    rng = np.random.default_rng(17)
    halves = rng.integers(-(1 << 12), 1 << 12, (len(vectors), len(there))) + 0.5
    changed[:, there] = (halves / scale).astype(np.float32)
    return changed


def _whole_blocks(scales: Sequence[Scale], sums: Calibration) -> FixedModel:
    """An exponent follows from a whole block, so all elements from the first on are tried."""
    best: tuple[int, FixedModel | None] = (-1, None)
    block, end = scales[0].block, len(sums.found)
    few, every = np.arange(min(end, -(-_FEW // block) * block)), np.arange(end)
    for model in fixed_candidates(scales, (Overflow.NONE,)):
        score = int(sums.equal(model, few).sum())
        if score == len(few):
            score = int(sums.equal(model, every).sum())
            if score == len(every):
                return model
        if score > best[0]:
            best = score, model
    assert best[1] is not None
    return best[1]


def _scales(given: Array, found: Array, ranks: int) -> Sequence[Scale]:
    bounds = measure_scale(given, found)
    if bounds is None:
        raise Unusable("single values come back as multiples of nothing")
    return [Scale(number, words) for number, words in plain_scales(*bounds, ranks).items()]


def _saturating_orders(reducer: Counted, scale: float) -> Orders | None:
    def make(numbers: Array) -> Array:
        return (numbers / scale).astype(np.float32)

    try:
        sizes = measure_saturating(reducer, make, lambda total: total.astype(np.float64) * scale)
    except (Refused, Unusable):
        return None
    orders = orders_of_sizes(reducer.ranks, sizes)
    return orders if isinstance(orders, Orders) else None
