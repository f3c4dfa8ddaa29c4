"""The merging rules of the parameter server, one by one, and that a broken server is caught by one of them."""

from __future__ import annotations

from functools import partial

import pytest

from tests.support.server_bench import ServerBench
from tests.support.server_cases import CASES
from tests.support.server_mutants import MUTANTS

pytestmark = pytest.mark.protocols("esa")


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    CASES[name](ServerBench)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_server_is_caught(name: str) -> None:
    caught = []
    for case, check in CASES.items():
        try:
            check(partial(ServerBench, make=MUTANTS[name].make))
        except (AssertionError, KeyError, IndexError, ValueError):
            caught.append(case)
    assert MUTANTS[name].caught_by in caught
