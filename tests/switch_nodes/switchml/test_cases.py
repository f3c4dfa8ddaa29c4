"""The regression list and our own rules, on the real program, and each broken program caught by its case."""

from __future__ import annotations

import pytest

from switch_nodes.switchml import SwitchMlProgram
from tests.support.switchml_cases import CASES
from tests.support.switchml_mutants import MUTANTS


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    CASES[name](SwitchMlProgram)


@pytest.mark.parametrize(("mutant", "name"), MUTANTS.items(), ids=lambda value: getattr(value, "__name__", value))
def test_mutant_is_killed(mutant: type[SwitchMlProgram], name: str) -> None:
    with pytest.raises(AssertionError):
        CASES[name](mutant)
