"""Planted bugs: the hunter finds each, and by a check that means something."""

from __future__ import annotations

import pytest

from testbed.hunt.draw_fabric import FABRIC
from testbed.hunt.judge import CRASH
from testbed.hunt.runner import Prey, run_hunt
from testbed.hunt.state import Store
from tests.support.fabric_mutants import FABRIC_MUTANTS, FABRIC_NOT_HUNTED
from tests.support.hunt_mutants import FABRIC_PLANTED, NOT_HUNTED, PLANTED
from tests.support.netreduce_mutants import MUTANTS

SEED, SCHEDULES = 1, 2000
LATE = ("ValueTakenBeforeTheRack", "InferredAsTheNewest", "ClearedOnPartial")
"""bugs that take more than a few schedules"""
ASKED_FOR = {
    "slots cleared on arrival": "ClearedOnArrival",
    "N slots instead of 2N": "NSlots",
    "bitmap without expected PSN (tag)": "NoTag",
    "replay to all": "ReplayToAll",
    "replay of a cleared slot": "ClearedSlotReplayed",
    "NAK swallowed": "NakSwallowed",
    "connection table keeps only the newest message": "NewestMessageOnly",
    "PSN compared without wrap": "PsnWithoutWrap",
    "credit returned on send completion": "credit_on_ack",
    "INA header summed with the payload": "HeaderSummed",
}


def test_every_broken_program_is_hunted_or_says_why_not():
    assert set(ASKED_FOR.values()) <= set(PLANTED)
    assert {program.__name__ for program in MUTANTS} <= {*PLANTED, *(program.__name__ for program in NOT_HUNTED)}
    assert not {program.__name__ for program in NOT_HUNTED} & set(PLANTED)


CHECKS = {"bit_exact", "exactly_once", "liveness", "credit_bound", "slots_private", "transparency"}


def test_every_two_level_bug_is_hunted_or_says_why_not():
    assert set(FABRIC_NOT_HUNTED) <= set(FABRIC_MUTANTS)
    names = {program.__name__ for program in FABRIC_MUTANTS}
    assert names == {*FABRIC_PLANTED, *(program.__name__ for program in FABRIC_NOT_HUNTED)}
    assert len(FABRIC_PLANTED) >= 18


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LATE else []) for name in FABRIC_PLANTED]
)
def test_a_planted_two_level_bug_is_found(name):
    found = run_hunt(Prey(SEED, SCHEDULES, kind=FABRIC), 1, Store(), machines=FABRIC_PLANTED[name])
    assert found.failure is not None
    # A value before its rack is complete finds no headers to leave under.
    assert found.failure.check in CHECKS | ({CRASH} if name == "ValueTakenBeforeTheRack" else set()), found.failure


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_found(name):
    found = run_hunt(Prey(SEED, SCHEDULES), 1, Store(), machines=PLANTED[name])
    assert found.failure is not None
    assert found.number is not None
    assert found.failure.check in CHECKS, found.failure
