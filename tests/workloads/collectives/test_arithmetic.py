"""The fold against scalar arithmetic written out by hand: struct and Python ints and floats, no NumPy sums."""

import itertools
import math
import random
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workloads.collectives.arithmetic import fold
from workloads.config import ArithmeticSpec

FLOAT_BITS = st.one_of(
    st.integers(0, 2**32 - 1),
    st.sampled_from(
        [
            0,
            0x80000000,
            1,
            0x80000001,
            0x7F800000,
            0xFF800000,
            0x7FC00000,
            0x7F800001,
            0xFFFFFFFF,
            0x7F7FFFFF,
            0xFF7FFFFF,
        ]
    ),
)


def as_float(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def round_to_float32(value: float) -> int:
    """A double rounds to binary32 exactly once; the sum of two binary32 in double is innocuous (2p+2 <= 53)."""
    try:
        return struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        return 0x7F800000 if value > 0 else 0xFF800000


def table(rows: list[list[int]]) -> np.ndarray:
    return np.array(rows, dtype="<u4").view(np.uint8)


def folded(rows: list[list[int]], op: str, dtype: str) -> list[int]:
    return fold(table(rows), ArithmeticSpec(op, dtype)).view("<u4").tolist()


@settings(max_examples=300, deadline=None)
@given(st.lists(FLOAT_BITS, min_size=2, max_size=8))
def test_float32_sum_rounds_at_every_step_in_row_order(column: list[int]) -> None:
    total = column[0]
    for bits in column[1:]:
        value = as_float(total) + as_float(bits)
        total = 0x7FC00000 if math.isnan(value) else round_to_float32(value)
    if math.isnan(as_float(total)):
        total = 0x7FC00000
    assert folded([[bits] for bits in column], "sum", "float32") == [total]


def test_float32_sum_depends_on_the_order_and_keeps_it() -> None:
    big, one = round_to_float32(2.0**24), round_to_float32(1.0)
    minus_big = round_to_float32(-(2.0**24))
    assert folded([[big], [one], [minus_big]], "sum", "float32") == [0]
    assert folded([[big], [minus_big], [one]], "sum", "float32") == [one]


def test_float32_subnormals_are_kept() -> None:
    assert folded([[1], [1], [1]], "sum", "float32") == [3]


@settings(max_examples=200, deadline=None)
@given(st.lists(FLOAT_BITS, min_size=2, max_size=6))
def test_float32_max_is_the_same_in_every_order(column: list[int]) -> None:
    values = [as_float(bits) for bits in column]
    if any(math.isnan(value) for value in values):
        expected = 0x7FC00000
    else:
        expected = max(column, key=lambda bits: (as_float(bits), math.copysign(1, as_float(bits))))
    shuffled = random.Random(1).sample(column, len(column))
    assert folded([[bits] for bits in column], "max", "float32") == [expected]
    assert folded([[bits] for bits in shuffled], "max", "float32") == [expected]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=2, max_size=8))
def test_integers(column: list[int]) -> None:
    rows = [[value & 0xFFFFFFFF] for value in column]
    total = sum(column)
    assert folded(rows, "sum", "int32") == [total & 0xFFFFFFFF]
    assert folded(rows, "sum", "int32sat") == [max(-(2**31), min(2**31 - 1, total)) & 0xFFFFFFFF]
    assert folded(rows, "max", "int32") == folded(rows, "max", "int32sat") == [max(column) & 0xFFFFFFFF]


def test_saturation_clamps_once_at_the_end() -> None:
    top = 2**31 - 1
    assert folded([[top], [top], [(-top) & 0xFFFFFFFF]], "sum", "int32sat") == [top]
    assert folded([[top], [5], [(-10) & 0xFFFFFFFF]], "sum", "int32sat") == [top - 5]


@pytest.mark.parametrize("dtype", ["float32", "int32", "int32sat"])
def test_xor_is_bitwise_for_every_type(dtype: str) -> None:
    assert folded([[0x7FC00001], [0x0000FFFF], [0x12345678]], "xor", dtype) == [0x7FC00001 ^ 0xFFFF ^ 0x12345678]


@pytest.mark.parametrize(
    ("op", "dtype"), list(itertools.product(["sum", "max", "xor"], ["float32", "int32", "int32sat"]))
)
def test_operands_stay_as_they_were(op: str, dtype: str) -> None:
    operands = table([[1, 2, 0x7F800001], [3, 0xFFFFFFFF, 4]])
    before = operands.copy()
    result = fold(operands, ArithmeticSpec(op, dtype))
    assert result.shape == (12,)
    result[:] = 0
    assert np.array_equal(operands, before)


def test_rows_may_be_strided() -> None:
    wide = np.zeros((3, 64), np.uint8)
    wide[:, :8] = table([[1, 2], [3, 4], [5, 6]])
    assert fold(wide[:, :8], ArithmeticSpec("sum", "int32")).view("<u4").tolist() == [9, 12]


def test_empty_payloads_fold_to_nothing() -> None:
    assert fold(np.zeros((4, 0), np.uint8), ArithmeticSpec()).shape == (0,)


def test_what_cannot_be_folded_says_so() -> None:
    with pytest.raises(ValueError, match="5 bytes are no whole number of 4-byte elements"):
        fold(np.zeros((2, 5), np.uint8), ArithmeticSpec())
    with pytest.raises(ValueError, match="cannot fold mean of float32; known: sum of float32"):
        fold(np.zeros((2, 4), np.uint8), ArithmeticSpec("mean"))
    with pytest.raises(ValueError, match="no rows"):
        fold(np.zeros((0, 4), np.uint8), ArithmeticSpec())
