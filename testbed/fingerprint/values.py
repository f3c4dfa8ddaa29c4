"""What single values become on their way through a reducer: which it takes, their range and precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from testbed.fingerprint.formats import FLOAT32, Format, known_format
from testbed.fingerprint.reducer import Array, Counted, ReducerRefused, Unusable, same_bits

__all__ = ["Passed", "largest_taken", "measure_block", "measure_values"]

_LOWEST = -149
_WRONG = 0.4
"""relative error from which on a value did not come through"""
_SIGNIFICANDS = 0.7
"""significands stay below 1.7: larger ones may be rounded to infinity in a format that has their exponent"""
_STEPS = 6
"""powers of two over which the relative error of integers grows by about as many"""


@dataclass(frozen=True)
class Passed:
    """Of one value, with zeros at all other ranks."""

    form: Format
    """format of values that come back"""
    is_grid: bool
    """whether values come back as multiples of one number"""
    most: int
    """exponent of the largest value that the target takes"""
    takes_special: bool
    """whether the target takes infinities and NaNs"""
    given: Array
    """float32, shape (elements,)"""
    found: Array


def measure_values(reducer: Counted, most: int) -> Passed:
    """`most`: as `largest_taken` gives it. Raises Unusable when values do not come back."""
    given, exponents = _values(reducer.elements, most)
    found = reducer.one(_alone(given, reducer.ranks))
    with np.errstate(all="ignore"):
        error = np.abs(found.astype(np.float64) - given) / np.abs(given)
    error = np.where(np.isfinite(error), error, 1.0)
    worst = np.zeros(most - _LOWEST + 1)
    np.maximum.at(worst, exponents - _LOWEST, error)
    good = np.flatnonzero(worst < _WRONG)
    if not len(good):
        there = np.argmin(np.where(error < _WRONG, np.inf, np.abs(np.log2(np.abs(given)))))
        raise Unusable(f"{given[there]!s} at one rank and 0 at the others gave {found[there]!s}")
    runs = np.split(good, np.flatnonzero(np.diff(good) > 1) + 1)
    longest = max(runs, key=len)
    while len(longest) > 2 and worst[longest[-1]] > 4 * max(worst[longest[-2]], 2.0**-FLOAT32.precision):
        longest = longest[:-1]  # its larger values are beyond the range
    first, last = int(longest[0]) + _LOWEST, int(longest[-1]) + _LOWEST
    inside = worst[longest]
    form, is_grid = _form(inside, found, exponents, (first, last, most))
    return Passed(form, is_grid, most, _takes_special(reducer), given, found)


def measure_block(reducer: Counted, most: int) -> int:
    """Elements that share an exponent, or 0. Raises Unusable where they depend on each other in another way."""
    base = np.zeros((reducer.ranks, reducer.elements), np.float32)
    base[0] = 1 + np.random.default_rng(7).random(reducer.elements, np.float32)
    expected = reducer.one(base)
    if not same_bits(expected, reducer.one(base)).all():
        raise Unusable("the same inputs gave different sums, even with zeros at all ranks but one")
    large = np.float32(2.0 ** min(most, 60))

    def changed(places: Array) -> Array:
        given = base.copy()
        given[0, places] = large
        there = reducer.one(given).view(np.uint32) != expected.view(np.uint32)
        there[places] = True
        return np.flatnonzero(there)

    middle = reducer.elements // 2
    around = changed(np.array([0, middle]))
    if len(around) == 2:
        return 0
    if len(around) == reducer.elements:
        return reducer.elements
    size = int(np.searchsorted(around, middle // 2))
    if size < 2:
        raise Unusable("elements of a gradient depend on each other, and not in blocks of one size")
    for start in (0, size):
        found = changed(np.arange(start, reducer.elements, 2 * size))
        wanted = np.flatnonzero((np.arange(reducer.elements) // size) % 2 == start // size)
        if not np.array_equal(found, wanted):
            raise Unusable("elements of a gradient depend on each other, and not in blocks of one size")
    return size


def _values(elements: int, most: int) -> tuple[Array, Array]:
    """Values of all powers of two, and these exponents."""
    rng = np.random.default_rng(5)
    exponents = _LOWEST + np.arange(elements) % (most - _LOWEST + 1)
    significands = 1 + rng.random(elements) * _SIGNIFICANDS
    given = np.ldexp(significands, exponents).astype(np.float32)
    bits = np.where(given == 0, np.float32(2.0**_LOWEST), given)
    return bits * rng.choice(np.array([-1, 1], np.float32), elements), np.frexp(bits)[1] - 1


def _alone(values: Array, ranks: int) -> Array:
    places = np.arange(len(values))
    gradient = np.zeros((ranks, len(values)), np.float32)
    gradient[places // 300 % ranks, places] = values
    return gradient


def _takes(reducer: Counted, value: float) -> bool:
    gradient = np.zeros((reducer.ranks, reducer.elements), np.float32)
    gradient[0] = value
    try:
        reducer.one(gradient)
    except ReducerRefused:
        return False
    return True


def largest_taken(reducer: Counted) -> int:
    """Exponent of the largest value that the target takes. Raises Refused when it takes none."""
    largest = float(np.finfo(np.float32).max)
    if _takes(reducer, largest):
        return FLOAT32.most
    low, high = _LOWEST - 1, FLOAT32.most
    while high - low > 1:
        middle = (low + high) // 2
        if _takes(reducer, 2.0**middle * (2 - 2.0**-20)):
            low = middle
        else:
            high = middle
    if low < _LOWEST:
        reducer.one(np.zeros((reducer.ranks, reducer.elements), np.float32))  # raises Refused, with its words
        raise Unusable("no value but zero is taken")
    return low


def _takes_special(reducer: Counted) -> bool:
    return _takes(reducer, np.inf) and _takes(reducer, np.nan)


def _form(worst: Array, found: Array, exponents: Array, ends: tuple[int, int, int]) -> tuple[Format, bool]:
    """`worst`: largest relative error of each exponent from the first to the last that comes through; `ends`: these
    two, and the last that is taken."""
    first, last, most = ends
    wrong = np.flatnonzero(worst > 0)
    if not len(wrong):
        return FLOAT32, False
    top = int(wrong[-1])
    steps = min(_STEPS, top)
    if top < 3 or worst[top - steps] >= worst[top] * 2.0 ** (steps - 2):
        return Format(FLOAT32.precision, first, last), True
    there = (exponents <= last) & (exponents > last - 4)
    significands = np.abs(found[there]).view(np.uint32) & np.uint32(0x7FFFFF) | np.uint32(0x800000)
    trailing = np.log2((significands & -significands.astype(np.int64)).astype(np.float64))
    precision = FLOAT32.precision - int(trailing.min())
    usual = float(np.median(worst[-8:]))
    plain = np.flatnonzero(worst <= 1.5 * usual)
    return known_format(Format(precision, first + int(plain[0]), last), most), False
