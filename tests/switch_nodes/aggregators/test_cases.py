"""The regression list and our own rules, on the real programs, and each broken program caught by its case."""

from __future__ import annotations

import pytest

from tests.support import aggregator_cases
from tests.support.aggregator_bench import REAL
from tests.support.aggregator_esa_cases import MORE_CASES
from tests.support.aggregator_more_mutants import MORE_MUTANTS
from tests.support.aggregator_mutants import MUTANTS, Mutant, programs_of

CASES = aggregator_cases.CASES | MORE_CASES


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    CASES[name](REAL)


@pytest.mark.parametrize(
    ("mutant", "name"), (MUTANTS | MORE_MUTANTS).items(), ids=lambda value: getattr(value, "__name__", value)
)
def test_mutant_is_killed(mutant: Mutant, name: str) -> None:
    with pytest.raises(AssertionError):
        CASES[name](programs_of(mutant))
