"""A fingerprint from beginning to end: probe, infer, predict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from testbed.fingerprint.arrival import MOST_RANKS, arrival_model
from testbed.fingerprint.choosing import Calibration
from testbed.fingerprint.finding import Finding, SumDifference
from testbed.fingerprint.fixed import Overflow
from testbed.fingerprint.floats import float_model
from testbed.fingerprint.integers import IntegerModel, integer_candidates
from testbed.fingerprint.models import ReducerModel, predicted
from testbed.fingerprint.quantised import block_model, fixed_model, with_halves
from testbed.fingerprint.reducer import Array, Counted, Reducer, ReducerRefused, Unusable, same_bits
from testbed.fingerprint.trees import Orders
from testbed.fingerprint.values import Passed, largest_taken, measure_block, measure_values
from testbed.fingerprint.vectors import CLASSES, Limits, draw_floats, draw_integers, layout

__all__ = ["fingerprint"]

_TIES = CLASSES.index("ties")


class _Named(Protocol):
    """What was inferred."""

    def traits(self) -> dict[str, str]: ...


@dataclass(frozen=True)
class _Inferred:
    model: _Named
    orders: Orders | None
    limits: Limits
    equal: Callable[[Array, Array], Array]
    """(vectors of a whole gradient, sums) -> which are as predicted"""
    expect: Callable[[Array], Array] | None
    """bits of all sums; None: several are possible"""
    notes: tuple[str, ...] = ()


def fingerprint(
    reducer: Reducer, target: str, seed: int = 1, tell: Callable[[int], None] = lambda runs: None
) -> Finding:
    """`seed`: of the fresh vectors. `tell` is called with the number of gradients that were summed so far."""
    counted = Counted(reducer, tell)
    empty = Finding(target, counted.ranks, counted.elements, counted.dtype, {}, None)
    try:
        inferred = _of_integers(counted) if counted.dtype == "int32" else _of_floats(counted)
        found = _held_against(counted, inferred, empty, seed)
    except (ReducerRefused, Unusable) as error:
        found = replace(empty, reason=str(error))
    return replace(found, runs=counted.runs)


def _held_against(counted: Counted, inferred: _Inferred, empty: Finding, seed: int) -> Finding:
    """Predict fresh vectors."""
    fresh = _draw(counted, inferred.limits, seed)
    sums = counted.one(fresh)
    equal = inferred.equal(fresh, sums)
    traits = inferred.model.traits()
    if inferred.orders is not None:
        traits = {"order": inferred.orders.words(counted.ranks), **traits}
    known = replace(
        empty, traits=traits, orders=inferred.orders, vectors=len(equal), predicted=int(equal.sum()),
        notes=inferred.notes,
    )  # fmt: skip
    if equal.all():
        return known
    first = int(np.flatnonzero(~equal)[0])
    expected = "the sum of some order" if inferred.expect is None else _hex(inferred.expect(fresh)[first])
    words = tuple(_hex(word) for word in fresh[:, first].view(np.uint32))
    return replace(
        known, traits={}, orders=None,
        reason=f"no known arithmetic explains all sums; the nearest one: {_short(traits)}",
        difference=SumDifference(first, words, expected, _hex(sums.view(np.uint32)[first])),
    )  # fmt: skip


def _short(traits: dict[str, str]) -> str:
    return "; ".join(traits[key] for key in ("order", "accumulator", "rounding") if key in traits)


def _hex(word: np.uint32) -> str:
    return f"0x{int(word):08x}"


def _draw(counted: Counted, limits: Limits, seed: int) -> Array:
    if counted.dtype == "int32":
        return draw_integers(counted.ranks, counted.elements, seed)
    return draw_floats(counted.ranks, counted.elements, limits, seed)


def _differs(counted: Counted, vectors: Array, sums: Array) -> bool:
    """Whether the same inputs give other sums, when the order of arrival may be another one."""
    ways = range(counted.provocations)
    return any(not same_bits(counted.one(vectors, way), sums).all() for way in ways)


def _of_integers(counted: Counted) -> _Inferred:
    vectors = draw_integers(counted.ranks, counted.elements, 0)
    sums = counted.one(vectors)
    if _differs(counted, vectors, sums):
        raise Unusable("the same integers gave different sums")
    at, best = np.arange(counted.elements), IntegerModel(Overflow.WRAP)
    for model in integer_candidates(counted):
        best = model
        if (model.predict(vectors, at) == sums.view(np.uint32)).all():
            break
    return _inferred(best, best.orders, Limits())


def _inferred(model: ReducerModel, orders: Orders | None, limits: Limits, notes: tuple[str, ...] = ()) -> _Inferred:
    def equal(vectors: Array, sums: Array) -> Array:
        return predicted(model, vectors, np.arange(len(sums)), sums)

    return _Inferred(
        model, orders, limits, equal, lambda vectors: model.predict(vectors, np.arange(vectors.shape[1])), notes
    )


def _of_floats(counted: Counted) -> _Inferred:
    most = largest_taken(counted)
    block = measure_block(counted, most)
    if block:
        limits, sums = _calibrated(counted, Limits(most=most, takes_special=False))
        model = block_model(counted, block, sums)
        return _inferred(model, None, limits, _notes(limits, "integers: no order can be seen"))
    passed = measure_values(counted, most)
    form = passed.form
    limits = Limits(form.least, min(form.most, passed.most), form.precision, takes_special=passed.takes_special)
    limits, sums = _calibrated(counted, limits)
    if _differs(counted, sums.vectors, sums.found):
        return _by_arrival(sums, passed, limits)
    if passed.is_grid:
        model = fixed_model(counted, passed, sums, takes_large=limits.takes_large)
        halves = with_halves(sums.vectors, sums.kinds, _TIES, model.scale.number)
        sums = Calibration(halves, counted.one(halves), sums.kinds)
        model = fixed_model(counted, passed, sums, takes_large=limits.takes_large)
        return _without_special(_inferred(model, model.orders, limits, _notes(limits, *_unseen(model.orders))), sums)
    found, orders = float_model(counted, passed, sums)
    return _without_special(_inferred(found, orders, limits, _notes(limits, *_unseen(orders))), sums)


def _without_special(inferred: _Inferred, sums: Calibration) -> _Inferred:
    """Where only sums with infinities and NaNs are not as inferred, none is predicted, and a note says so."""
    wrong = ~inferred.equal(sums.vectors, sums.found)
    if not wrong.any() or not np.isin(np.flatnonzero(wrong), sums.of("special")).all():
        return inferred
    note = "no rule was found for sums of infinities and NaNs: no vector has them"
    limits = replace(inferred.limits, takes_special=False)
    return replace(inferred, limits=limits, notes=(*inferred.notes, note))


def _unseen(orders: Orders | None) -> tuple[str, ...]:
    return () if orders is not None else ("the order makes no difference",)


def _notes(limits: Limits, *more: str) -> tuple[str, ...]:
    if limits.takes_large:
        return more
    return (*more, f"the target refuses sums from about 2^{limits.most + 1} on: no vector has them")


def _calibrated(counted: Counted, limits: Limits) -> tuple[Limits, Calibration]:
    """Sums of vectors of all classes that the target takes."""
    for tried in (limits, replace(limits, takes_special=False), replace(limits, takes_large=False)):
        for special in dict.fromkeys((tried.takes_special, False)):
            allowed = replace(tried, takes_special=special)
            vectors = draw_floats(counted.ranks, counted.elements, allowed, 0)
            try:
                found = counted.one(vectors)
            except ReducerRefused:
                continue
            return allowed, Calibration(vectors, found, layout(counted.elements, allowed, 0))
    raise ReducerRefused("the target refuses vectors with values that it takes one by one")


def _by_arrival(sums: Calibration, passed: Passed, limits: Limits) -> _Inferred:
    model = arrival_model(sums, passed)
    if model is None:
        more = f"; orders of more than {MOST_RANKS} ranks are not tried" if len(sums.vectors) > MOST_RANKS else ""
        raise Unusable(f"the same inputs gave different sums, which no order of arrival explains{more}")
    return _Inferred(model, None, limits, model.equal, None)
