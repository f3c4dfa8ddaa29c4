"""Two levels, on the real programs, and each broken program caught by its case."""

from __future__ import annotations

import pytest

from tests.support.aggregator_bench import REAL
from tests.support.aggregator_levels import LEVEL_CASES, LEVEL_MUTANTS
from tests.support.aggregator_mutants import Mutant, programs_of


@pytest.mark.parametrize("name", LEVEL_CASES)
def test_case(name: str) -> None:
    LEVEL_CASES[name](REAL)


@pytest.mark.parametrize(("mutant", "name"), LEVEL_MUTANTS.items(), ids=lambda value: getattr(value, "__name__", value))
def test_mutant_is_killed(mutant: Mutant, name: str) -> None:
    with pytest.raises(AssertionError):
        LEVEL_CASES[name](programs_of(mutant))
