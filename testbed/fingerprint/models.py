"""Models of reducers that add floats: what each of them would return, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from testbed.fingerprint.formats import FLOAT32, X87, Format, Rounding, add, fit
from testbed.fingerprint.nans import NanRule, nan_words
from testbed.fingerprint.reducer import Array
from testbed.fingerprint.trees import Orders, Tree, in_line, leaves

__all__ = [
    "CompensatedModel",
    "Conversions",
    "ExactModel",
    "FloatModel",
    "Flush",
    "FusedModel",
    "ReducerModel",
    "predicted",
]  # fmt: skip

_PLAIN_NAN = np.uint32(0x7FC00000)


class ReducerModel(Protocol):
    """A whole arithmetic."""

    @property
    def nans(self) -> NanRule: ...

    def predict(self, vectors: Array, at: Array) -> Array:
        """`vectors`: shape (ranks, n), for the elements `at` of a gradient. Bits of the sums, uint32, shape (n,)."""
        ...

    def traits(self) -> dict[str, str]:
        """What it is, in plain words, by subject."""
        ...


def predicted(model: ReducerModel, vectors: Array, at: Array, found: Array) -> Array:
    """Which sums are as predicted; `found`: float32. Where no rule for NaNs is known, any NaN is as good as another."""
    expected = model.predict(vectors, at)
    equal: Array = expected == found.view(np.uint32)
    if not model.nans.is_known:
        equal |= np.isnan(expected.view(np.float32)) & np.isnan(found)
    return equal


@dataclass(frozen=True, slots=True)
class Flush:
    """Which subnormal numbers become zero."""

    inputs: bool = False
    """those of the gradients"""
    operands: bool = False
    """partial sums, when they are added"""
    results: bool = False
    """of every addition"""
    output: bool = False
    """of the last one only"""
    keeps_sign: bool = True

    def words(self) -> str:
        parts = [
            words
            for is_so, words in (
                (self.inputs and self.operands, "of inputs and partial sums, when they are added"),
                (self.inputs and not self.operands, "of inputs"),
                (self.operands and not self.inputs, "of partial sums, when they are added"),
                (self.results, "of results"),
                (self.output, "of the last result"),
            )
            if is_so
        ]
        if not parts:
            return "kept"
        return f"flushed to {'zero' if self.keeps_sign else '+0'}: those {' and '.join(parts)}"

    def apply(self, values: Array, least: int) -> Array:
        """`least`: exponent of the smallest normal number."""
        tiny = np.abs(values) < 2.0**least
        zeros = np.copysign(0.0, values) if self.keeps_sign else np.zeros_like(values)
        return np.where(tiny, zeros, values)


@dataclass(frozen=True, slots=True)
class Conversions:
    """What is rounded on the way in and on the way out."""

    into: Format = FLOAT32
    into_rounding: Rounding = Rounding.NEAREST_EVEN
    out: Format = FLOAT32
    out_rounding: Rounding = Rounding.NEAREST_EVEN

    def traits(self) -> dict[str, str]:
        found = {}
        if self.into != FLOAT32:
            found["inputs"] = f"rounded to {self.into}, {self.into_rounding}"
        if self.out != FLOAT32:
            found["result"] = f"rounded to {self.out}, {self.out_rounding}"
        return found


@dataclass(frozen=True)
class FloatModel:
    """Additions of two numbers, in the order of a tree, each rounded."""

    orders: Orders
    accumulator: Format
    rounding: Rounding
    conversions: Conversions = Conversions()
    flush: Flush = Flush()
    from_zero: bool = False
    """the first number is added to +0"""
    saturates: bool = False
    by_float32: bool = False
    """each addition is rounded to float32 first"""
    seen_wider: bool = True
    """False: with two ranks, a wider accumulator gives the same sums"""
    nans: NanRule = NanRule("not tried", is_known=False)

    def predict(self, vectors: Array, at: Array) -> Array:
        result = np.empty(vectors.shape[1], np.uint32)
        for number in np.unique(self.orders.which[at]):
            there = self.orders.which[at] == number
            result[there] = self._of_tree(int(number), vectors[:, there])
        return result

    def _of_tree(self, number: int, vectors: Array) -> Array:
        tree = self.orders.trees[number]
        with np.errstate(all="ignore"):
            given = self._converted(vectors)
            total = self._out(self._sum(tree, given, leaves(tree)[0]))
            lost = np.isnan(total)
            bits = total.view(np.uint32).copy()
            if lost.any():
                bits[lost] = _PLAIN_NAN
                if self.nans.constant is not None:
                    bits[lost] = np.uint32(self.nans.constant)
                elif self.nans.is_known:
                    words = self.nans.leaf(vectors[:, lost].view(np.uint32))
                    bits[lost] = self._nan(tree, given[:, lost], words, number)[1]
        return bits

    def _converted(self, vectors: Array) -> Array:
        values = vectors.astype(np.float64)
        ways = self.conversions
        if ways.into != FLOAT32:
            values = fit(values, ways.into, ways.into_rounding, saturates=self.saturates)
        if self.flush.inputs:
            values = self.flush.apply(values, ways.into.least)
        if self.accumulator.precision < ways.into.precision or self.accumulator.most < ways.into.most:
            values = fit(values, self.accumulator, self.rounding, saturates=self.saturates)
        return values.astype(np.longdouble) if self.accumulator == X87 else values

    def _out(self, total: Array) -> Array:
        ways = self.conversions
        total = fit(total, ways.out, ways.out_rounding, saturates=self.saturates)
        if self.flush.output:
            total = self.flush.apply(total, ways.out.least)
        return total.astype(np.float32)

    def _add(self, a: Array, b: Array) -> Array:
        least = max(self.accumulator.least, FLOAT32.least)
        if self.flush.operands:
            a, b = self.flush.apply(a, least), self.flush.apply(b, least)
        if self.by_float32:
            total = fit(
                add(a, b, FLOAT32, Rounding.NEAREST_EVEN), self.accumulator, self.rounding, saturates=self.saturates
            )
        else:
            total = add(a, b, self.accumulator, self.rounding, saturates=self.saturates)
        return self.flush.apply(total, least) if self.flush.results else total

    def _sum(self, tree: Tree, given: Array, first: int) -> Array:
        if isinstance(tree, int):
            own: Array = given[tree]
            return own + 0.0 if self.from_zero and tree == first else own
        left, right = tree
        return self._add(self._sum(left, given, first), self._sum(right, given, first))

    def _nan(self, tree: Tree, given: Array, words: Array, number: int) -> tuple[Array, Array]:
        """The sum, and the bits of those that are NaN."""
        if isinstance(tree, int):
            return given[tree], words[tree]
        (a, a_bits), (b, b_bits) = (self._nan(child, given, words, number) for child in tree)
        total = self._add(a, b)
        left_wins = self.nans.first_wins[number][leaves(tree[0])[0], leaves(tree[1])[0]]
        both = a_bits if left_wins else b_bits
        of_one = np.where(np.isnan(a), a_bits, np.where(np.isnan(b), b_bits, np.uint32(self.nans.invalid)))
        return total, np.where(np.isnan(a) & np.isnan(b), both, of_one)

    def traits(self) -> dict[str, str]:
        found = {
            "accumulator": f"{self.accumulator}{'' if self.seen_wider else ', or wider: two ranks do not show it'}",
            "rounding": f"{self.rounding}{', of sums that were rounded to float32' if self.by_float32 else ''}",
            **self.conversions.traits(),
            "subnormals": self.flush.words(),
        }  # fmt: skip
        if self.saturates:
            found["overflow"] = "saturates at the largest finite value"
        elif self.accumulator.most > self.conversions.out.most:
            found["overflow"] = f"partial sums may be larger than {self.conversions.out}; the result becomes infinite"
        elif self.rounding == Rounding.NEAREST_EVEN or self.rounding == Rounding.NEAREST_AWAY:
            found["overflow"] = "becomes infinite"
        else:
            found["overflow"] = "becomes infinite, or the largest finite value where this rounding says so"
        found["zeros"] = "-0 and -0 make +0: the sum begins at +0" if self.from_zero else "-0 and -0 make -0"
        return found | {"NaN": nan_words(self.nans)}


@dataclass(frozen=True)
class _Whole:
    """Models that work on finite values as a whole; infinities and NaNs as any IEEE sum has them."""

    orders: Orders
    conversions: Conversions = Conversions()
    flush: Flush = Flush()
    from_zero: bool = False
    nans: NanRule = NanRule("not tried", is_known=False)

    def predict(self, vectors: Array, at: Array) -> Array:
        ways = self.conversions
        with np.errstate(all="ignore"):
            values = vectors.astype(np.float64)
            if ways.into != FLOAT32:
                values = fit(values, ways.into, ways.into_rounding)
            if self.flush.inputs:
                values = self.flush.apply(values, ways.into.least)
            total = self._total(values, at)
            if self.flush.output or self.flush.results:
                total = self.flush.apply(total, ways.out.least)
            minus = np.signbit(values).all(axis=0) & (values == 0).all(axis=0) & (not self.from_zero)
            total = np.where(total == 0, np.where(minus, -0.0, np.where(total == 0, np.abs(total), total)), total)
            bits = total.astype(np.float32).view(np.uint32).copy()
        lost = np.isnan(total)
        bits[lost] = _PLAIN_NAN if self.nans.constant is None else np.uint32(self.nans.constant)
        return bits

    def _total(self, values: Array, at: Array) -> Array:
        raise NotImplementedError

    def _edges(self) -> dict[str, str]:
        zeros = f"-0 and -0 make {'+0' if self.from_zero else '-0'}"
        return {
            **self.conversions.traits(), "subnormals": self.flush.words(), "zeros": zeros, "NaN": nan_words(self.nans),
        }  # fmt: skip


@dataclass(frozen=True)
class ExactModel(_Whole):
    """The exact sum, rounded once."""

    def _total(self, values: Array, at: Array) -> Array:
        sums, tails = np.empty(values.shape[1]), np.zeros(values.shape[1])
        for place, column in enumerate(values.T.tolist()):
            try:
                sums[place] = total = math.fsum(column)
                if total - total == 0:
                    tails[place] = math.fsum([*column, -total])
            except (OverflowError, ValueError):  # infinities of both signs
                sums[place] = math.nan
        return fit(sums, self.conversions.out, self.conversions.out_rounding, tail=tails)

    def traits(self) -> dict[str, str]:
        return {
            "accumulator": "wide enough for the exact sum", "rounding": f"once, {self.conversions.out_rounding}",
            **self._edges(),
        }  # fmt: skip


@dataclass(frozen=True)
class FusedModel(_Whole):
    """All numbers at once: aligned to the largest, cut to a number of bits, added exactly, and rounded once."""

    width: int = 24
    """bits that are kept from the first bit of the largest number on"""
    cut: Rounding = Rounding.TOWARDS_ZERO

    def _total(self, values: Array, at: Array) -> Array:
        largest = np.abs(np.where(np.isfinite(values), values, 0)).max(axis=0)
        quantum = np.maximum(np.frexp(largest)[1] - self.width, -1000)
        whole = np.ldexp(values, -quantum)
        whole = np.where(
            np.isfinite(whole), np.rint(whole) if self.cut == Rounding.NEAREST_EVEN else np.trunc(whole), values
        )
        total: Array = np.ldexp(whole.sum(axis=0), quantum)
        return fit(total, self.conversions.out, self.conversions.out_rounding)

    def traits(self) -> dict[str, str]:
        return {
            "accumulator": f"fixed point, {self.width} bits from the largest number of the sum on; the rest of each "
            f"number is rounded {self.cut}",
            "rounding": f"of the sum, once, {self.conversions.out_rounding}", **self._edges(),
        }  # fmt: skip


@dataclass(frozen=True)
class CompensatedModel(_Whole):
    """One rank after the other in float32, with the error of each addition kept in a second float32."""

    method: str = "Kahan"
    """Kahan, or Neumaier, which adds the errors at the end"""
    swapped: bool = False
    """the sum begins with the second of the two ranks that the tree puts first"""

    def _total(self, values: Array, at: Array) -> Array:
        result = np.empty(values.shape[1])
        step: Callable[[Array], Array] = _kahan if self.method == "Kahan" else _neumaier
        for number in np.unique(self.orders.which[at]):
            there = self.orders.which[at] == number
            result[there] = step(values[self.line(int(number))][:, there].astype(np.float32))
        return result

    def line(self, number: int) -> list[int]:
        """The ranks in their order."""
        line = in_line(self.orders.trees[number])
        assert line is not None
        return [line[1], line[0], *line[2:]] if self.swapped else line

    def traits(self) -> dict[str, str]:
        second = "a second float32 keeps the error of each addition"
        return {
            "accumulator": f"float32, compensated ({self.method}): {second}",
            "rounding": f"{Rounding.NEAREST_EVEN}", **self._edges(),
        }  # fmt: skip


def _kahan(rows: Array) -> Array:
    total: Array = rows[0].copy()
    error: Array = np.zeros_like(rows[0])
    for row in rows[1:]:
        corrected = row - error
        following = total + corrected
        error = (following - total) - corrected
        total = following
    return total


def _neumaier(rows: Array) -> Array:
    total: Array = rows[0].copy()
    error: Array = np.zeros_like(rows[0])
    for row in rows[1:]:
        following = total + row
        error += np.where(np.abs(total) >= np.abs(row), (total - following) + row, (row - following) + total)
        total = following
    return total + error
