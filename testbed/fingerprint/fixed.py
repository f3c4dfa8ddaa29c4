"""Reducers that add floats as integers: with one scale for all, or with a scale for each block by its largest value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from itertools import product

import numpy as np

from testbed.fingerprint.formats import Rounding, whole_numbers
from testbed.fingerprint.nans import NanRule
from testbed.fingerprint.reducer import Array
from testbed.fingerprint.trees import Orders, Tree

__all__ = [
    "FixedModel",
    "Overflow",
    "Scale",
    "fixed_candidates",
    "largest_of",
    "measure_scale",
    "plain_scales",
    "saturating",
]

_LOW, _HIGH = -(1 << 31), (1 << 31) - 1
_ULP = 2.0**-24


class Overflow(StrEnum):
    NONE = "sums are wider than 32 bits"
    WRAP = "sums wrap at 32 bits"
    ONCE = "sums saturate at 32 bits, once at the end"
    STEP = "sums saturate at 32 bits after each addition"
    UNSEEN = "refused, or out of reach of the scale"


class Beyond(StrEnum):
    """What becomes of a single value that is too large."""

    CLAMPED = "become the largest of their sign"
    LOWEST = "become -2^31, as in a conversion of x86"
    MODULO = "wrap at 32 bits"


class Quotient(StrEnum):
    DOUBLE = "sum / scale in float64"
    INVERSE = "sum x (1 / scale) in float64"
    SINGLE = "sum / scale in float32"


@dataclass(frozen=True, slots=True)
class Scale:
    number: float
    """of all elements; or of a block whose exponent is 0"""
    words: str
    block: int = 0
    """elements that share an exponent; 0: there is one scale"""
    lowest: int = -1000
    """exponents are not below"""
    rule: str = "above"
    """`above`: the least E with |x| < 2^E; `from`: with |x| <= 2^E; `largest`: the scale is the number over the largest
    |x|"""

    def of(self, vectors: Array, at: Array, largest: Array | None) -> Array:
        """Of each element. `largest`: by block, of the whole gradient."""
        if not self.block or largest is None:
            return np.full(vectors.shape[1], self.number)
        if self.rule == "largest":
            shares: Array = (self.number / np.where(largest == 0, 1.0, largest))[at // self.block]
            return shares
        significands, exponents = np.frexp(largest)
        if self.rule == "from":
            exponents = exponents - (significands == 0.5)
        exponents = np.maximum(np.where(largest == 0, self.lowest, exponents), self.lowest)
        scales: Array = np.ldexp(self.number, -exponents)[at // self.block]
        return scales


@dataclass(frozen=True)
class FixedModel:
    """q = round(x * scale), as integers; result = sum(q) / scale."""

    scale: Scale
    rounding: Rounding
    quotient: Quotient
    overflow: Overflow = Overflow.NONE
    single: bool = False
    """x * scale is rounded to float32 first"""
    beyond: Beyond = Beyond.CLAMPED
    orders: Orders | None = None
    """where sums saturate after each addition"""
    nans: NanRule = NanRule("refused", is_known=True)

    def predict(self, vectors: Array, at: Array, largest: Array | None = None) -> Array:
        if self.scale.block and largest is None:
            largest = largest_of(vectors, self.scale.block)
        with np.errstate(all="ignore"):
            scale = self.scale.of(vectors, at, largest)
            scaled = vectors.astype(np.float64) * scale
            if self.single:
                scaled = (vectors * scale.astype(np.float32)).astype(np.float64)
            numbers = self._integers(whole_numbers(scaled, self.rounding))
            result = self._divided(self._total(numbers, at), scale)
        bits: Array = result.view(np.uint32)
        return bits

    def _integers(self, whole: Array) -> Array:
        """int64. Beyond that, conversions give the lowest one, as on x86."""
        fits = np.abs(whole) < 2.0**63
        numbers = np.where(fits, whole, -(2.0**63)).astype(np.int64)
        if self.overflow == Overflow.NONE:
            return numbers
        outside = ~fits | (numbers > _HIGH) | (numbers < _LOW)
        match self.beyond:
            case Beyond.CLAMPED:
                ends = np.where(np.isnan(whole), 0, np.where(whole > 0, _HIGH, _LOW))
                return np.where(outside, ends, numbers)
            case Beyond.LOWEST:
                return np.where(outside, _LOW, numbers)
        return numbers.astype(np.uint32).view(np.int32).astype(np.int64)

    def _total(self, numbers: Array, at: Array) -> Array:
        if self.overflow == Overflow.STEP:
            assert self.orders is not None
            result = np.empty(numbers.shape[1], np.int64)
            for number in np.unique(self.orders.which[at]):
                there = self.orders.which[at] == number
                result[there] = saturating(self.orders.trees[number], numbers[:, there])
            return result
        total: Array = numbers.sum(axis=0)
        if self.overflow == Overflow.WRAP:
            return total.astype(np.uint32).view(np.int32).astype(np.int64)
        return np.clip(total, _LOW, _HIGH) if self.overflow == Overflow.ONCE else total

    def _divided(self, total: Array, scale: Array) -> Array:
        match self.quotient:
            case Quotient.DOUBLE:
                return (total / scale).astype(np.float32)
            case Quotient.INVERSE:
                return (total * (1 / scale)).astype(np.float32)
        return total.astype(np.float32) / scale.astype(np.float32)

    def traits(self) -> dict[str, str]:
        shared = self.scale.block
        found = {
            "accumulator": "integers (fixed point)" if not shared else "integers with block exponents (fixed point)",
            "scale": self.scale.words,
        }
        if shared:
            if self.scale.rule == "largest":
                found["scale"] += f" / the largest |x| of {shared} elements of all ranks"
            law = "|x| < 2^E" if self.scale.rule == "above" else "|x| <= 2^E"
            least = f", at least {self.scale.lowest}" if self.scale.lowest > -1000 else ""
            if self.scale.rule != "largest":
                found["scale"] += (
                    f" x 2^-E; E is the least exponent with {law} for {shared} elements of all ranks{least}"
                )
        found["rounding"] = f"of each input {self.rounding}{', of a float32 product' if self.single else ''}"
        found["result"] = f"{self.quotient}, rounded to float32"
        if not shared:
            found["overflow"] = f"{self.overflow}"
            if self.overflow not in (Overflow.NONE, Overflow.UNSEEN):
                found["overflow"] += f"; single values beyond {self.beyond}"
        return found | {"NaN": self.nans.words}


def saturating(tree: Tree, numbers: Array) -> Array:
    """int64, shape (n,): each addition clamped to 32 bits. All at once: clamped once."""
    total: Array
    if isinstance(tree, int):
        total = numbers[tree]
        return total
    total = np.sum([saturating(child, numbers) for child in tree], axis=0)
    return np.clip(total, _LOW, _HIGH)


def measure_scale(given: Array, found: Array) -> tuple[float, float] | None:
    """Bounds of the scale, from single values and what they became; None: no scale explains them."""
    there = np.isfinite(found) & (found != 0)
    with np.errstate(all="ignore"):
        there &= np.abs(found.astype(np.float64) / given - 1) < 0.6
    values = np.sort(np.abs(found[there]).astype(np.float64))
    if not len(values):
        return None
    low, high = (1 - 2 * _ULP) / values[0], (1 + 2 * _ULP) / values[0]
    for _ in range(64):
        whole = np.rint(values * (low + high) / 2)
        sure = (values * (high - low) < 0.25) & (whole > 0)
        lower, upper = whole / (values * (1 + 3 * _ULP)), whole / (values * (1 - 3 * _ULP))
        better = max(low, float(lower[sure].max(initial=low))), min(high, float(upper[sure].min(initial=high)))
        if better[0] > better[1]:
            return None
        if better == (low, high):
            break
        low, high = better
    return low, high


def plain_scales(low: float, high: float, ranks: int) -> dict[float, str]:
    """The plainest numbers between the bounds, and how to write them; the last is their middle."""
    middle = (low + high) / 2
    found: dict[float, str] = {}
    for number, words in _plain_numbers(middle, ranks):
        if low <= number <= high:
            found.setdefault(number, words)
    found.setdefault(middle, f"about {middle:.10g}")
    return found


def _plain_numbers(middle: float, ranks: int) -> Iterator[tuple[float, str]]:
    power = round(math.log2(middle))
    yield 2.0**power, f"2^{power}"
    for digits in range(3):
        number = float(f"{middle:.{digits}e}")
        yield number, f"{number:.10g}"
    for count, share in ((ranks, f" / {ranks}"), (1, "")):
        for bits in (31, 30, 15, 7, *range(8, 31)):
            whole = (1 << bits) - 1
            shift = round(math.log2(middle * count / whole))
            tail = "" if not shift else f" x 2^{shift}"
            yield math.ldexp(whole / count, shift), f"(2^{bits} - 1){share}{tail}"
    power = round(math.log2(middle * ranks))
    yield 2.0**power / ranks, f"2^{power} / {ranks}"
    for digits in range(3, 10):
        number = float(f"{middle:.{digits}e}")
        yield number, f"{number:.10g}"
    simple = Fraction(middle).limit_denominator(1000)
    yield float(simple), f"{simple}"


def fixed_candidates(scales: Sequence[Scale], overflows: tuple[Overflow, ...]) -> Iterator[FixedModel]:
    """The likeliest first."""
    shapes = [(scales[0].rule, -1000)]
    if scales[0].block and scales[0].rule != "largest":
        shapes = list(product(("above", "from"), (-1000, -126, -127, -125)))
    for (rule, lowest), overflow, quotient, single, beyond, rounding, scale in product(
        shapes, overflows, Quotient, (False, True), Beyond, Rounding, scales
    ):
        if beyond == Beyond.CLAMPED or overflow not in (Overflow.NONE, Overflow.UNSEEN):
            yield FixedModel(replace(scale, rule=rule, lowest=lowest), rounding, quotient, overflow, single, beyond)


def largest_of(vectors: Array, block: int) -> Array:
    """|x| of each block of a whole gradient."""
    tops = np.abs(vectors.astype(np.float64)).max(axis=0)
    found: Array = np.maximum.reduceat(tops, np.arange(0, len(tops), block))
    return found
