from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.errors import ScenarioError
from workloads.strategies.chain import SPLITS, parse_strategy, show_strategy


@pytest.mark.parametrize(
    ("text", "operators", "strategy"),
    [
        ("DP,MP", 2, ("DP", "MP")),
        ("dp, mp", 2, ("DP", "MP")),
        ("MP", 3, ("MP",) * 3),
        ("2xDP,MP", 3, ("DP", "DP", "MP")),
        ("3xMP", 3, ("MP",) * 3),
    ],
)
def test_what_is_written(text: str, operators: int, strategy: tuple[str, ...]) -> None:
    assert parse_strategy(text, operators) == strategy


@given(st.lists(st.sampled_from(SPLITS), min_size=1, max_size=20).map(tuple))
def test_what_is_shown_is_read_back(strategy: tuple[str, ...]) -> None:
    assert parse_strategy(show_strategy(strategy), len(strategy)) == strategy


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("DP,XP", "not a strategy; found 'XP'"),
        ("", "not a strategy"),
        ("xDP", "not a strategy"),
        ("-1xDP", "not a strategy"),
        ("99999xDP", "not a strategy"),
        ("DP,DP,DP", "another number of operators; found 3; allowed: 2"),
        ("3xDP", "another number of operators; found 3; allowed: 2"),
    ],
)
def test_what_is_none(text: str, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        parse_strategy(text, 2)
