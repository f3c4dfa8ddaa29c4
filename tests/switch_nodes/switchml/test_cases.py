"""The regression list and our own rules, over UDP and over UC, on the real program, and each broken program caught by
its case."""

from __future__ import annotations

from functools import partial

import pytest

from switch_nodes.switchml import SwitchMlProgram
from tests.support.switchml_bench import Bench
from tests.support.switchml_cases import CASES
from tests.support.switchml_framings import FRAMINGS
from tests.support.switchml_mutants import MUTANTS


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("name", CASES)
def test_case(name: str, framing: str) -> None:
    CASES[name](partial(Bench, SwitchMlProgram, framing=FRAMINGS[framing]))


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize(("mutant", "name"), MUTANTS.items(), ids=lambda value: getattr(value, "__name__", value))
def test_mutant_is_killed(mutant: type[SwitchMlProgram], name: str, framing: str) -> None:
    with pytest.raises(AssertionError):
        CASES[name](partial(Bench, mutant, framing=FRAMINGS[framing]))
