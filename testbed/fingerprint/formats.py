"""Binary floating-point formats and roundings, emulated in binary64 for arrays.

An exact sum of two numbers is a pair (s, tail) with s = round(a + b) and tail = a + b - s (TwoSum, exact). Rounding to
odd first makes every later rounding to at most 51 bits correct.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from testbed.fingerprint.reducer import Array

__all__ = [
    "BFLOAT16",
    "FLOAT16",
    "FLOAT32",
    "FLOAT64",
    "X87",
    "Format",
    "Rounding",
    "add",
    "fit",
    "format_of_bits",
    "known_format",
    "whole_numbers",
]

_EMULATED = 51
"""bits of precision that rounding from binary64 can give"""


class Rounding(StrEnum):
    NEAREST_EVEN = "to nearest, ties to even"
    TOWARDS_ZERO = "towards zero (truncation)"
    NEAREST_AWAY = "to nearest, ties away from zero"
    UP = "upwards"
    DOWN = "downwards"


@dataclass(frozen=True, slots=True)
class Format:
    precision: int
    """bits of the significand, the first one included"""
    least: int
    """exponent of the smallest normal number"""
    most: int
    """exponent of the largest number"""

    def __str__(self) -> str:
        for name, known in _NAMES.items():
            if known == self:
                return name
        return f"{self.precision} bits of precision, exponents {self.least} to {self.most}"

    @property
    def largest(self) -> float:
        return float(np.ldexp(2.0 - 2.0 ** (1 - min(self.precision, 53)), min(self.most, 1023)))


FLOAT32 = Format(24, -126, 127)
FLOAT64 = Format(53, -1022, 1023)
BFLOAT16 = Format(8, -126, 127)
FLOAT16 = Format(11, -14, 15)
X87 = Format(64, -16382, 16383)
_NAMES = {
    "float32": FLOAT32, "float64": FLOAT64, "bfloat16": BFLOAT16, "float16": FLOAT16, "x87 extended (64 bits)": X87,
    "TF32": Format(11, -126, 127), "float8 e5m2": Format(3, -14, 15), "float8 e4m3": Format(4, -6, 8),
}  # fmt: skip


def format_of_bits(precision: int) -> Format:
    """That a wider accumulator of that precision most likely has."""
    for known in (FLOAT32, FLOAT64, X87):
        if known.precision == precision:
            return known
    ends = FLOAT32 if precision < FLOAT32.precision else FLOAT64
    return Format(precision, ends.least, ends.most)


def known_format(form: Format, reached: int) -> Format:
    """The one with a name, where it differs only above `reached`, beyond which nothing was measured."""
    for known in _NAMES.values():
        if (known.precision, known.least) == (form.precision, form.least) and form.most == min(known.most, reached):
            return known
    return form


def fit(
    values: Array, form: Format, rounding: Rounding, *, tail: Array | None = None, saturates: bool = False
) -> Array:
    """`values` (binary64, or the platform's long double) plus `tail`, rounded to a format."""
    if values.dtype != np.float64:  # long double
        if form == X87:
            return values
        high, rest = _split(values)
        return fit(high, form, rounding, tail=rest, saturates=saturates)
    if form.precision > FLOAT64.precision:
        return values.astype(np.longdouble)
    if form.precision > _EMULATED:
        return values if tail is None else _directed(values, tail, rounding)
    finite = np.isfinite(values)
    odd = np.where(finite, values if tail is None else _to_odd(values, tail), 0.0)
    exponents = np.frexp(odd)[1] - 1
    quantum = np.maximum(exponents, form.least) - (form.precision - 1)
    result = np.ldexp(whole_numbers(np.ldexp(odd, -quantum), rounding), quantum)
    beyond = np.abs(result) > form.largest
    if beyond.any():
        to_largest = saturates | (rounding == Rounding.TOWARDS_ZERO)
        inward = (result < 0) if rounding == Rounding.UP else (result > 0) & (rounding == Rounding.DOWN)
        ends = np.where(to_largest | inward, form.largest, np.inf)
        result = np.where(beyond, np.copysign(ends, result), result)
    kept = np.copysign(form.largest, values) if saturates else values
    return np.where(finite, np.copysign(result, values), np.where(np.isnan(values), values, kept))


def add(a: Array, b: Array, form: Format, rounding: Rounding, *, saturates: bool = False) -> Array:
    """a + b, rounded once; both are numbers of `form`."""
    if form == X87:
        total: Array = a + b
        return total
    if form == FLOAT32 and rounding == Rounding.NEAREST_EVEN and not saturates:
        # Two roundings are as one: 53 >= 2 * 24 + 2.
        return (a + b).astype(np.float32).astype(np.float64)
    total = a + b
    part = total - a
    tail = (a - (total - part)) + (b - part)
    tail = np.where(np.isfinite(total), tail, 0.0)
    result = fit(total, form, rounding, tail=tail, saturates=saturates)
    if rounding == Rounding.DOWN:
        cancelled = (total == 0) & (tail == 0) & ((a != 0) | (np.signbit(a) != np.signbit(b)))
        result = np.where(cancelled, -0.0, result)
    return result


def _split(values: Array) -> tuple[Array, Array]:
    high = values.astype(np.float64)
    rest = np.where(np.isfinite(high), values - np.where(np.isfinite(high), high, 0), 0)
    return high, rest.astype(np.float64)


def _to_odd(values: Array, tail: Array) -> Array:
    """Of the two numbers around an exact value, the one whose last bit is set."""
    even = (values.view(np.uint64) & np.uint64(1)) == 0
    return np.where((tail != 0) & even, np.nextafter(values, np.copysign(np.inf, tail)), values)


def _directed(values: Array, tail: Array, rounding: Rounding) -> Array:
    """Of binary64, rounded to nearest before."""
    match rounding:
        case Rounding.TOWARDS_ZERO:
            return np.where(tail * np.sign(values) < 0, np.nextafter(values, 0.0), values)
        case Rounding.UP:
            return np.where(tail > 0, np.nextafter(values, np.inf), values)
        case Rounding.DOWN:
            return np.where(tail < 0, np.nextafter(values, -np.inf), values)
    return values


def whole_numbers(values: Array, rounding: Rounding) -> Array:
    """Of binary64 numbers."""
    match rounding:
        case Rounding.NEAREST_EVEN:
            return np.rint(values)
        case Rounding.TOWARDS_ZERO:
            return np.trunc(values)
        case Rounding.UP:
            return np.ceil(values)
        case Rounding.DOWN:
            return np.floor(values)
    whole = np.trunc(values)
    return np.where(np.abs(values - whole) >= 0.5, whole + np.copysign(1.0, values), whole)
