"""Planted bugs of datagram protocols: the hunter finds each, and by a check that means something."""

from __future__ import annotations

import pytest

from testbed.hunt.runner import Prey, run_hunt
from testbed.hunt.state import Store
from tests.support.datagram_planted import DATAGRAM_NOT_HUNTED, DATAGRAM_PLANTED
from tests.support.switchml_mutants import MUTANTS

SEED, SCHEDULES = 1, 1000
LATE = ("AnswersOnce",)
"""bugs that take more than a few schedules"""
CHECKS = {"bit_exact", "exactly_once", "liveness", "credit_bound", "slots_private"}
ASKED_FOR = {
    "switchml": {
        "version bit not continued across tensors": "versions_begin_anew",
        "seen not cleared in the other version": "NeverForgets",
        "first writer by count": "FirstByCount",
        "shadow copy shared": "NoShadowCopy",
    }
}
ALL = {"switchml": tuple(MUTANTS)}


@pytest.mark.parametrize("program", DATAGRAM_PLANTED)
def test_every_broken_program_is_hunted_or_says_why_not(program):
    planted, left_out = DATAGRAM_PLANTED[program], DATAGRAM_NOT_HUNTED[program]
    assert set(ASKED_FOR[program].values()) <= set(planted)
    assert {mutant.__name__ for mutant in ALL[program]} <= {*planted, *(mutant.__name__ for mutant in left_out)}
    assert not {mutant.__name__ for mutant in left_out} & set(planted)


@pytest.mark.parametrize(
    ("program", "name"),
    [
        pytest.param(program, name, marks=[pytest.mark.slow] if name in LATE else [])
        for program, planted in DATAGRAM_PLANTED.items()
        for name in planted
    ],
)
def test_a_planted_bug_is_found(program, name):
    prey = Prey(SEED, SCHEDULES, program=program, kind=program)
    found = run_hunt(prey, 1, Store(), machines=DATAGRAM_PLANTED[program][name])
    assert found.failure is not None
    assert found.failure.check in CHECKS, found.failure
