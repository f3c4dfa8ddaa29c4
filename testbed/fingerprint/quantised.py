"""From sums to the model of a reducer that adds floats as integers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from testbed.fingerprint.choosing import Calibration, choose
from testbed.fingerprint.fixed import (
    FixedModel,
    Overflow,
    Scale,
    fixed_candidates,
    largest_of,
    measure_scale,
    plain_scales,
)
from testbed.fingerprint.masking import measure_saturating, orders_of_sizes
from testbed.fingerprint.nans import NanRule
from testbed.fingerprint.reducer import Array, Counted, ReducerRefused, Unusable
from testbed.fingerprint.trees import Orders
from testbed.fingerprint.values import Passed

__all__ = ["block_model", "fixed_model", "with_halves"]

_FEW, _MANY = 600, 8192
_PILOT = 0.75
_IN_BLOCKS = "elements of a gradient depend on each other: next to a larger one, they"


def fixed_model(reducer: Counted, passed: Passed, sums: Calibration, *, takes_large: bool) -> FixedModel:
    """One scale for all. Raises Unusable where no scale explains single values."""
    scales = _scales(passed.given, passed.found, reducer.ranks, "single values")
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


def block_model(reducer: Counted, block: int, sums: Calibration) -> FixedModel:
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
    own, found = gradient.sum(axis=0)[inside], found[inside]
    powers = [replace(scale, block=block) for scale in _scales(own, found, reducer.ranks, _IN_BLOCKS)]
    shares = [
        replace(scale, block=block, rule="largest") for scale in _scales(own, found, reducer.ranks, _IN_BLOCKS, _PILOT)
    ]
    both = (fixed_candidates(scales, (Overflow.NONE,)) for scales in (powers, shares))
    model = _of_blocks(chain.from_iterable(both), sums, block)
    return replace(model, nans=NanRule("not tried: they would change their whole block", constant=0))


def with_halves(vectors: Array, kinds: Array, ties: int, scale: float) -> Array:
    """Values half-way between two integers, where floats can be, in place of those of class `ties`."""
    there = np.flatnonzero(kinds == ties)
    changed = vectors.copy()
    rng = np.random.default_rng(17)
    halves = rng.integers(-(1 << 12), 1 << 12, (len(vectors), len(there))) + 0.5
    changed[:, there] = (halves / scale).astype(np.float32)
    return changed


def _of_blocks(models: Iterable[FixedModel], sums: Calibration, block: int) -> FixedModel:
    """The first that explains some elements; an exponent follows from a whole block of the gradient."""
    rng, elements = np.random.default_rng(19), len(sums.found)
    finite = np.where(np.isfinite(sums.vectors), sums.vectors, 0)
    largest = largest_of(finite, block)
    at = rng.permutation(elements)[:_MANY]
    best: tuple[int, FixedModel | None] = (-1, None)
    for model in models:
        score = 0
        for part in (at[:_FEW], at):
            bits = model.predict(sums.vectors[:, part], part, largest)
            score = int((bits == sums.found[part].view(np.uint32)).sum())
            if score < len(part):
                break
        else:
            return model
        if score > best[0]:
            best = score, model
    assert best[1] is not None
    return best[1]


def _scales(given: Array, found: Array, ranks: int, which: str, factor: float = 1.0) -> Sequence[Scale]:
    """`factor`: of the scale that is measured, in the number that is wanted. `which`: the values, for messages."""
    bounds = measure_scale(given, found)
    if bounds is None:
        raise Unusable(f"{which} come back as multiples of no number")
    low, high = (bound * factor for bound in bounds)
    return [Scale(number, words) for number, words in plain_scales(low, high, ranks).items()]


def _saturating_orders(reducer: Counted, scale: float) -> Orders | None:
    def make(numbers: Array) -> Array:
        return (numbers / scale).astype(np.float32)

    try:
        sizes = measure_saturating(reducer, make, lambda total: total.astype(np.float64) * scale)
    except (ReducerRefused, Unusable):
        return None
    orders = orders_of_sizes(reducer.ranks, sizes)
    return orders if isinstance(orders, Orders) else None
