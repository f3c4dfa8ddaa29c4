from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from testbed.terminal.numbers import (
    bits_per_second,
    byte_size,
    moment,
    nanoseconds,
    quantity,
    seconds,
    significant,
    tick,
    ticks,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0338, "0.0338"), (25470, "25,500"), (1.5, "1.50"), (0, "0"), (-2.346, "-2.35"), (999.6, "1,000"),
        (123_456_789, "123,000,000"), (math.inf, "inf"), (1e-12, "1.00e-12"),
    ],
)  # fmt: skip
def test_three_significant_digits(value: float, text: str) -> None:
    assert significant(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0338, "33.8 ms"), (0.002, "2.00 ms"), (1.358, "1.36 s"), (0, "0 s"), (2.5e-6, "2.50 us"), (3e-9, "3.00 ns"),
        (0.9999, "1.00 s"), (0.0009996, "1.00 ms"), (12345.6, "12,300 s"), (-0.5, "-500 ms"), (4e-10, "0.400 ns"),
    ],
)  # fmt: skip
def test_times(value: float, text: str) -> None:
    assert seconds(value) == text


def test_rates_and_sizes() -> None:
    assert [bits_per_second(rate) for rate in (0, 999, 94.3e6, 999.9e6, 2.5e12)] == [
        "0 bit/s", "999 bit/s", "94.3 Mbit/s", "1.00 Gbit/s", "2.50 Tbit/s",
    ]  # fmt: skip
    assert [byte_size(size) for size in (1, 0, 999, 1000, 25470, 8_000_000)] == [
        "1 byte", "0 bytes", "999 bytes", "1.00 kB", "25.5 kB", "8.00 MB",
    ]  # fmt: skip
    assert quantity(1383, "") == "1,380"


@given(st.floats(1e-9, 1e14), st.sampled_from(["s", "bit/s", "B"]))
@example(99950000000000.0, "s")
def test_what_is_shown_is_the_value_with_three_digits(value: float, unit: str) -> None:
    number, shown = quantity(value, unit).split(" ")
    scale = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
    factor = 1.0 if shown == unit else scale[shown.removesuffix(unit)]
    assert float(number.replace(",", "")) * factor == pytest.approx(value, rel=0.0051)
    assert "e" not in number
    assert len(number.replace(",", "").replace(".", "").lstrip("0")) <= max(3, len(f"{value / factor * 1.0051:.0f}"))


@given(st.floats(1e-9, 1e12), st.integers(3, 10))
def test_ticks_are_round_few_and_inside(high: float, most: int) -> None:
    found = list(ticks(0.0, high, most))
    assert found[0] == 0
    assert 1 < len(found) <= most
    assert found[-1] <= high * (1 + 1e-6)
    step = found[1] if len(found) > 1 else 1.0
    assert step / 10 ** math.floor(math.log10(step) + 1e-9) == pytest.approx(
        min((1, 2, 5, 10), key=lambda each: abs(each - step / 10 ** math.floor(math.log10(step) + 1e-9)))
    )


def test_ticks_have_no_rounding_errors() -> None:
    assert [tick(value) for value in ticks(0.0, 0.31, 5)] == ["0", "0.1", "0.2", "0.3"]
    assert tick(25000) == "25,000"


def test_an_instant_is_exact_without_zeros_at_the_end() -> None:
    assert [moment(ns) for ns in (0, 338_000_000, 12_034_000_000, 33_812_512, 10**12)] == [
        "0 s", "338 ms", "12.034 s", "33.8125 ms", "1,000 s",
    ]  # fmt: skip
    assert nanoseconds(33_812_512) == "33.8 ms"
