"""Roundings, against those of NumPy and against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from testbed.fingerprint.formats import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    Format,
    Rounding,
    add,
    fit,
    format_of_bits,
    known_format,
)


def numbers(seed: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """float32 values of all magnitudes."""
    words = np.random.default_rng(seed).integers(0, 1 << 32, 20_000, np.uint64).astype(np.uint32)
    values = words.view(np.float32)
    return values[np.isfinite(values)][:15_000].astype(np.float64)


def test_float16_is_numpys() -> None:
    values = numbers(1) * 2.0**-60
    values = np.concatenate([values, np.linspace(-70_000, 70_000, 9_999), np.linspace(-1e-4, 1e-4, 9_999)])
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16).astype(np.float64)
    found = fit(values, FLOAT16, Rounding.NEAREST_EVEN)
    assert np.array_equal(found, expected)
    assert np.array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("form", [FLOAT32, BFLOAT16, Format(30, -1022, 1023), FLOAT64])
@pytest.mark.parametrize("rounding", [each for each in Rounding if each != Rounding.NEAREST_AWAY])
def test_a_sum_is_next_to_the_exact_one(form: Format, rounding: Rounding) -> None:
    a, b = numbers(2), numbers(3)
    b[::2] = -a[::2] * (1 + np.random.default_rng(4).normal(size=len(a))[::2] * 2.0**-20)
    a, b = (fit(each.astype(np.float32).astype(np.float64), form, Rounding.TOWARDS_ZERO) for each in (a, b))
    with np.errstate(over="ignore"):
        found = add(a, b, form, rounding)
    for x, y, total in list(zip(a.tolist(), b.tolist(), found.tolist(), strict=True))[:3_000]:
        exact = Fraction(x) + Fraction(y)
        if not np.isfinite(total) or abs(total) == form.largest:
            assert abs(exact) >= Fraction(form.largest)
            continue
        error = Fraction(total) - exact
        exponent = max(int(np.frexp(total)[1]) - 1, form.least)
        unit = Fraction(2) ** (exponent - form.precision + 1)
        match rounding:
            case Rounding.NEAREST_EVEN:
                assert abs(error) <= unit / 2
            case Rounding.TOWARDS_ZERO:
                assert abs(error) < unit
                assert error * (1 if exact > 0 else -1) <= 0
            case Rounding.UP:
                assert 0 <= error < unit
            case Rounding.DOWN:
                assert 0 <= -error < unit


def test_ends_and_zeros() -> None:
    large = np.array([3e38, -3e38])
    with np.errstate(over="ignore"):
        assert add(large, large, FLOAT32, Rounding.NEAREST_EVEN).tolist() == [np.inf, -np.inf]
        assert add(large, large, FLOAT32, Rounding.TOWARDS_ZERO).tolist() == [FLOAT32.largest, -FLOAT32.largest]
        assert add(large, large, FLOAT32, Rounding.UP).tolist() == [np.inf, -FLOAT32.largest]
        assert add(large, large, FLOAT32, Rounding.NEAREST_EVEN, saturates=True)[0] == FLOAT32.largest
    one = np.array([1.0])
    assert np.signbit(add(one, -one, FLOAT32, Rounding.DOWN))[0]
    assert not np.signbit(add(one, -one, FLOAT32, Rounding.TOWARDS_ZERO))[0]
    assert fit(np.array([2.5, -2.5]), Format(2, -10, 10), Rounding.NEAREST_AWAY).tolist() == [3.0, -3.0]


def test_names() -> None:
    assert str(FLOAT16) == "float16"
    assert str(Format(9, -5, 6)) == "9 bits of precision, exponents -5 to 6"
    assert format_of_bits(53) == FLOAT64
    assert format_of_bits(30) == Format(30, -1022, 1023)
    assert known_format(Format(8, -126, 100), 100) == BFLOAT16
    assert known_format(Format(8, -126, 100), 127) == Format(8, -126, 100)
