"""What stands behind KEY= on a command line, and behind a key of `axes` in a file."""

from __future__ import annotations

from typing import Any

import pytest

from testbed.reading.problems import Problems
from testbed.sweeps.values import number_of, parse_axis, read_values, shown_value, split_axis
from workloads.errors import ScenarioError


def values_of(text: str) -> tuple[Any, ...]:
    problems = Problems("--axis", {})
    values = read_values(problems, ("axes", "key"), parse_axis(text))
    problems.raise_if_any()
    assert values is not None
    return values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0,0.1%,1%,5%", (0, "0.1%", "1%", "5%")),
        ("[a, b]", ("a", "b")),
        ("true,false", (True, False)),
        ("100Mbps", ("100Mbps",)),
        ("{from: 1%, to: 8%, factor: 2}", ("1%", "2%", "4%", "8%")),
        ("{from: 10Mbps, to: 1000Mbps, points: 3}", ("10Mbps", "100Mbps", "1000Mbps")),
        ("{from: 0, to: 6, step: 2}", (0, 2, 4, 6)),
        ("{from: 0, to: 2%, step: 1%}", ("0%", "1%", "2%")),
        ("{from: 0.0, to: 20Mbps, step: 10Mbps}", ("0Mbps", "10Mbps", "20Mbps")),
        ("{from: 0ms, to: 1ms, step: 0.5ms}", ("0ms", "0.5ms", "1ms")),
        ("{from: 0.001, to: 0.1, factor: 10}", (0.001, 0.01, 0.1)),
        ("[[h1, h2], [h1]]", (["h1", "h2"], ["h1"])),
    ],
)
def test_values(text: str, values: tuple[Any, ...]) -> None:
    assert values_of(text) == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1%,1%", "--axis: axes.key: a value stands twice; found 1%; allowed: each value once"),
        ("[]", "--axis: axes.key: an empty list; allowed: at least one value"),
        ("{from: 1%, to: 2, points: 3}", "--axis: axes.key: two units; found '1%' to 2; allowed: one unit"),
        ("{from: 0%, to: 2, step: 1}", "--axis: axes.key: two units; found '0%' to 2; allowed: one unit"),
        ("{from: 0, to: 2%, step: 1}", "--axis: axes.key.step: not a step; found 1; allowed: more than 0, with unit %"),
        ("{from: 0, to: 2%, points: 3}", ("--axis: axes.key.from: a range of factors cannot begin at 0; allowed: more "
                                         "than 0, or step")),
        ("{from: 2, to: 1, points: 3}", "--axis: axes.key: ends before it begins; found 2 to 1"),
        ("{from: 0, to: 1, points: 3}", ("--axis: axes.key.from: a range of factors cannot begin at 0; allowed: more "
                                        "than 0, or step")),
        ("{from: 1, to: 2}", ("--axis: axes.key: not a range; found from, to; allowed: from, to, and one of factor, "
                             "points, step")),
        ("{from: 1, to: 2, pionts: 3}", ("--axis: axes.key.pionts: unknown key of a range; allowed: from, to, factor, "
                                        "points, step; did you mean 'points'?")),
        ("{from: a, to: 2, points: 3}", ("--axis: axes.key.from: not a quantity; found 'a'; allowed: a number, with a "
                                        "unit if it has one, as 5%")),
        ("{from: 1s, to: 2s, step: 1ms}", ("--axis: axes.key.step: not a step; found '1ms'; allowed: more than 0, with "
                                          "unit s")),
        ("{from: 1, to: 1000000000, step: 1}", ("--axis: axes.key.step: too many values; found 1,000,000,000; allowed: "
                                               "at most 10,000")),
    ],
)  # fmt: skip
def test_what_is_no_axis(text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        values_of(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["faults.loss.rate", "=1", "key="])
def test_an_axis_has_a_key_and_values(text: str) -> None:
    with pytest.raises(ScenarioError, match=r"--axis: not an axis; found '.*'; allowed: KEY=VALUE,VALUE"):
        split_axis(text)


@pytest.mark.parametrize(
    ("value", "number"),
    [("1%", 0.01), ("100Mbps", 1e8), ("2ms", 2e6), ("4kB", 4000), (0, 0), (0.5, 0.5), ("atp", None), (True, None),
        (None, None)],
)  # fmt: skip
def test_where_a_value_stands_on_an_axis_of_numbers(value: Any, number: float | None) -> None:
    assert number_of(value) == number


def test_values_are_shown_as_they_were_written() -> None:
    assert [shown_value(value) for value in (0, "0.1%", None, True, ["a", 1], {"a": 1})] == [
        "0", "0.1%", "null", "true", "[a, 1]", "{a: 1}",
    ]  # fmt: skip
