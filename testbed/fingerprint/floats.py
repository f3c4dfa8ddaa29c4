"""From sums to the model of a reducer that adds floating-point numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from testbed.fingerprint.choosing import Calibration, choose
from testbed.fingerprint.formats import FLOAT32, FLOAT64, Format, Rounding, format_of_bits
from testbed.fingerprint.masking import EXACT, measure_orders
from testbed.fingerprint.models import CompensatedModel, Conversions, ExactModel, FloatModel, Flush, FusedModel
from testbed.fingerprint.nans import NanRule, measure_nans
from testbed.fingerprint.reducer import Counted, ReducerRefused, Unusable
from testbed.fingerprint.trees import Orders, Tree, in_line, line_of
from testbed.fingerprint.values import Passed

__all__ = ["FLUSHES", "conversions", "float_model", "in_sight"]

_SPAN = 100
"""powers of two between the mask and the unit, as far as there is room"""
_WIDEST = 1023
_Any = FloatModel | CompensatedModel | ExactModel | FusedModel
FLUSHES = tuple(
    Flush(*which, keeps_sign=keeps)
    for keeps in (True, False)
    for which in (
        (False, False, False, False), (True, False, False, False), (False, False, True, False),
        (True, False, True, False), (True, True, False, False), (True, True, True, False), (False, True, False, False),
        (False, False, False, True), (True, False, False, True), (True, True, False, True),
    )
)  # fmt: skip


def float_model(reducer: Counted, passed: Passed, sums: Calibration) -> tuple[_Any, Orders | None]:
    """The model that explains all sums, or as many as any, and the orders that can be seen. Raises Unusable where the
    order is none."""
    form = passed.form
    most = min(form.most, passed.most, 126)
    unit = 2.0 ** max(form.least, most - _SPAN)
    orders = measure_orders(reducer, 2.0**most, unit)
    models: Sequence[_Any]
    if isinstance(orders, Orders):
        precision = _precision(reducer, orders, unit, most)
        models = choose(_adding(orders, form, precision), sums, in_sight(sums, form))
    elif orders == EXACT:
        whole = Orders.of(tuple(range(reducer.ranks)), reducer.elements)
        models = choose(_exact(whole, form, reducer.ranks), sums, in_sight(sums, form))
    else:
        raise Unusable(orders)
    model = _edges(reducer, models, sums, passed)
    if isinstance(model, ExactModel):
        return model, None
    return model, model.orders


def in_sight(sums: Calibration, form: Format) -> Any:
    """Elements that show formats and roundings, and nothing of the ends of the range."""
    at = sums.of("normal", "cancelling", "ties")
    large_enough = np.abs(sums.found[at]) >= 2.0 ** (form.least + 1)
    return at[large_enough]


def conversions(form: Format) -> Iterator[Conversions]:
    """Where values come back in `form`."""
    if form == FLOAT32:
        yield Conversions()
        return
    for both, rounding in product((True, False), Rounding):
        if both:
            yield Conversions(form, rounding, form, rounding)
        else:
            yield Conversions(into=form, into_rounding=rounding)
            yield Conversions(out=form, out_rounding=rounding)
    for into, out in product(Rounding, Rounding):
        if into != out:
            yield Conversions(form, into, form, out)


def _precision(reducer: Counted, orders: Orders, unit: float, most: int) -> int | None:
    """Bits of the accumulator: the least power of two that hides a unit next to it. None: not seen."""
    if reducer.ranks == 2:
        return None
    span = most - int(np.log2(unit))
    places = np.arange(reducer.elements)
    powers = 1 + places % span
    gradient = np.zeros((reducer.ranks, reducer.elements), np.float32)
    for number, tree in enumerate(orders.trees):
        there = orders.which == number
        large, small, opposite = _triple(tree)
        gradient[large, there] = np.ldexp(unit, powers[there])
        gradient[opposite, there] = -gradient[large, there]
        gradient[small, there] = unit
    hidden = powers[reducer.one(gradient) != np.float32(unit)]
    return int(hidden.min()) if len(hidden) else None


def _triple(tree: Tree) -> tuple[int, int, int]:
    """Two ranks that meet before the third comes."""
    assert isinstance(tree, tuple)
    if isinstance(tree[0], int):  # all at once
        return int(tree[0]), _any(tree[1]), _any(tree[2])
    return _any(tree[0][0]), _any(tree[0][1]), _any(tree[1])


def _any(tree: Tree) -> int:
    while isinstance(tree, tuple):
        tree = tree[0]
    return tree


def _adding(orders: Orders, form: Format, precision: int | None) -> Iterator[_Any]:
    """The likeliest first."""
    binary = all(_is_binary(tree) for tree in orders.trees)
    if not binary:
        yield from _fused(orders, form, precision)
        return
    if precision is None:
        accumulators = list(dict.fromkeys([form, FLOAT32, FLOAT64]))
    else:
        accumulators = [form if precision == form.precision else format_of_bits(precision)]
    for accumulator in accumulators:
        for ways in _ways(form, accumulator):
            for rounding in Rounding:
                yield FloatModel(orders, accumulator, rounding, ways, seen_wider=precision is not None)
                if accumulator.precision < FLOAT32.precision and rounding != Rounding.NEAREST_EVEN:
                    yield FloatModel(orders, accumulator, rounding, ways, by_float32=True)
    if form == FLOAT32 and all(in_line(tree) is not None for tree in orders.trees):
        for method, swapped in product(("Kahan", "Neumaier"), (False, True)):
            yield CompensatedModel(orders, method=method, swapped=swapped)


def _ways(form: Format, accumulator: Format) -> Iterator[Conversions]:
    yield from conversions(form)
    if form != FLOAT32 and accumulator == form:
        yield Conversions()
    if form == FLOAT32 and accumulator.precision > FLOAT32.precision:
        yield from (Conversions(out_rounding=rounding) for rounding in Rounding if rounding != Rounding.NEAREST_EVEN)


def _is_binary(tree: Tree) -> bool:
    return isinstance(tree, int) or (len(tree) == 2 and all(map(_is_binary, tree)))


def _fused(orders: Orders, form: Format, precision: int | None) -> Iterator[_Any]:
    if precision is None or any(isinstance(child, tuple) for tree in orders.trees for child in _children(tree)):
        return
    for width, cut, ways, out in product(
        (precision, precision + 1, precision - 1), (Rounding.TOWARDS_ZERO, Rounding.NEAREST_EVEN), conversions(form),
        Rounding,
    ):  # fmt: skip
        yield FusedModel(orders, replace(ways, out_rounding=out), width=width, cut=cut)


def _children(tree: Tree) -> tuple[Tree, ...]:
    return tree if isinstance(tree, tuple) else ()


def _exact(orders: Orders, form: Format, ranks: int) -> Iterator[_Any]:
    for ways in conversions(form):
        for rounding in Rounding if form == FLOAT32 else (ways.out_rounding,):
            yield ExactModel(orders, replace(ways, out_rounding=rounding))
    if form == FLOAT32:
        for line, swapped in product((range(ranks), range(ranks - 1, -1, -1)), (False, True)):
            yield CompensatedModel(Orders.of(line_of(line), len(orders.which)), method="Neumaier", swapped=swapped)


def _edges(reducer: Counted, models: Sequence[_Any], sums: Calibration, passed: Passed) -> _Any:
    """Subnormals, zeros, overflow and NaNs."""
    if not models:
        raise Unusable("all ranks are added at once, in a way that no model has")
    below, large = sums.of("subnormal", "wide"), sums.of("large")
    left: Sequence[_Any] = choose((replace(model, flush=flush) for flush in FLUSHES for model in models), sums, below)
    zeros = np.full((reducer.ranks, reducer.elements), np.float32(-0.0))
    from_zero = not bool(np.signbit(reducer.one(zeros))[0])
    left = choose((_with_end(model, end) for end in range(4) for model in left), sums, large)
    rule = _nans(reducer, left[0].orders, takes_special=passed.takes_special)
    left = [_with_rule(replace(model, from_zero=from_zero), rule) for model in left]
    return choose(left, sums, np.arange(reducer.elements), 1)[0] if len(left) > 1 else left[0]


def _with_end(model: _Any, end: int) -> _Any:
    """Another end of the range, where the model has one: 0 is its own."""
    if not isinstance(model, FloatModel):
        return model
    accumulator = replace(model.accumulator, most=_WIDEST) if end & 1 else model.accumulator
    return replace(model, accumulator=accumulator, saturates=bool(end & 2))


def _with_rule(model: _Any, rule: NanRule) -> _Any:
    if not isinstance(model, FloatModel) and rule.is_known and rule.constant is None:
        rule = NanRule("a NaN stays a NaN; no rule found for its bits", is_known=False)
    return replace(model, nans=rule)


def _nans(reducer: Counted, orders: Orders, *, takes_special: bool) -> NanRule:
    if not takes_special:
        return NanRule("infinities and NaNs are refused", is_known=False)
    ordinary = np.random.default_rng(11).uniform(1, 2, (reducer.ranks, reducer.elements)).astype(np.float32)
    try:
        return measure_nans(reducer, orders, ordinary)
    except ReducerRefused:
        return NanRule("some NaNs are refused", is_known=False)
