"""Quantities: exact, refused with what would have been right, and written back so that they read the same."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.reading.units import (
    UnitError,
    format_drift,
    format_duration,
    format_probability,
    format_rate,
    format_size,
    parse_drift,
    parse_duration,
    parse_probability,
    parse_rate,
    parse_size,
)


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_rate, "100Mbps", 100_000_000),
        (parse_rate, "1Gbps", 10**9),
        (parse_rate, "1.5 Gbps", 1_500_000_000),
        (parse_rate, "64kbps", 64_000),
        (parse_rate, "9600bps", 9600),
        (parse_rate, 0, 0),
        (parse_duration, "2ms", 2_000_000),
        (parse_duration, "500us", 500_000),
        (parse_duration, "0.5us", 500),
        (parse_duration, "1min", 60 * 10**9),
        (parse_duration, "0.1s", 10**8),
        (parse_duration, 0, 0),
        (parse_drift, "100ppm", 100_000),
        (parse_drift, "50ppb", 50),
        (parse_drift, "0.5ppm", 500),
        (parse_drift, "1%", 10_000_000),
        (parse_drift, 0, 0),
        (parse_size, "4MB", 4_000_000),
        (parse_size, "4MiB", 4 << 20),
        (parse_size, "1GiB", 1 << 30),
        (parse_size, 1234, 1234),
        (parse_probability, "1%", 0.01),
        (parse_probability, 0.01, 0.01),
        (parse_probability, "0.3%", 0.003),
        (parse_probability, 1e-7, 1e-7),
        (parse_probability, 1, 1.0),
        (parse_probability, "100%", 1.0),
    ],
)
def test_a_quantity_is_read_exactly(parse, text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "problem"),
    [
        (parse_rate, "100", "a rate without a unit"),
        (parse_rate, 100, "a rate without a unit"),
        (parse_rate, "100MBps", "unknown unit 'MBps' of a rate"),
        (parse_rate, "-1Mbps", "a rate below zero"),
        (parse_rate, "0.5bps", "a rate is not a whole number of bits per second"),
        (parse_rate, True, "not a rate"),
        (parse_rate, "fast", "not a rate"),
        (parse_rate, None, "not a rate"),
        (parse_duration, "2", "a duration without a unit"),
        (parse_duration, "2m", "unknown unit 'm' of a duration"),
        (parse_duration, "0.5ns", "a duration is not a whole number of nanoseconds"),
        (parse_duration, float("inf"), "not a duration"),
        (parse_duration, float("nan"), "not a duration"),
        (parse_size, "4mb", "unknown unit 'mb' of a size"),
        (parse_size, "1.5", "a size without a unit"),
        (parse_size, -4, "a size without a unit"),
        (parse_probability, 3, "a probability outside 0 to 1"),
        (parse_probability, "101%", "a probability outside 0 to 1"),
        (parse_probability, "-1%", "a probability outside 0 to 1"),
        (parse_probability, "1ms", "unknown unit 'ms' of a probability"),
        (parse_size, "9" * 5000, "not a size"),
        (parse_duration, f"0.{'0' * 40}1s", "not a duration"),
        (parse_rate, f"1{'x' * 5000}", f"unknown unit '{'x' * 20}...' of a rate"),
        (parse_probability, f"1{'x' * 5000}", f"unknown unit '{'x' * 20}...' of a probability"),
    ],
)
def test_a_bad_quantity_says_what_is_wrong(parse, text, problem):
    with pytest.raises(UnitError) as caught:
        parse(text)
    assert caught.value.problem == problem
    assert caught.value.allowed


def test_the_unit_that_was_meant_is_named():
    with pytest.raises(UnitError) as caught:
        parse_rate("100mbps")
    assert caught.value.hint == "did you mean Mbps?"
    with pytest.raises(UnitError) as caught:
        parse_probability(3)
    assert caught.value.hint == "did you mean '3%'?"


@given(st.integers(0, 10**15))
def test_whole_quantities_survive_being_written(number):
    assert parse_rate(format_rate(number)) == number
    assert parse_duration(format_duration(number)) == number
    assert parse_size(format_size(number)) == number
    assert parse_drift(format_drift(number)) == number


@given(st.floats(0, 1))
def test_probabilities_survive_being_written(share):
    assert parse_probability(format_probability(share)) == share


def test_written_quantities_are_short():
    assert format_rate(100_000_000) == "100Mbps"
    assert format_duration(1_500_000_000) == "1500ms"
    assert format_size(4 << 20) == "4MiB"
    assert format_drift(150_000) == "150ppm"
    assert format_probability(0.01) == "1%"
    assert format_probability(1.0) == "100%"


@given(st.one_of(st.text(max_size=20), st.integers(), st.floats(), st.none(), st.booleans(), st.lists(st.integers())))
def test_nothing_but_unit_errors_comes_out(value):
    for parse in (parse_rate, parse_duration, parse_size, parse_drift, parse_probability):
        with contextlib.suppress(UnitError):
            assert parse(value) >= 0
