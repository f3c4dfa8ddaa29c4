"""Every row of the loss-case table and every rule, on the real program, and each broken program caught by its case."""

from __future__ import annotations

import pytest

from switch_nodes.netreduce import NetReduceProgram
from tests.support.netreduce_cases import CASES
from tests.support.netreduce_mutants import MUTANTS


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    CASES[name](NetReduceProgram)


@pytest.mark.parametrize(("mutant", "name"), MUTANTS.items(), ids=lambda value: getattr(value, "__name__", value))
def test_mutant_is_killed(mutant: type[NetReduceProgram], name: str) -> None:
    with pytest.raises(AssertionError):
        CASES[name](mutant)
