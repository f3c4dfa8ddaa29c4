"""Planted bugs: the hunter finds each, and by a check that means something."""

from __future__ import annotations

import pytest

from testbed.hunt.runner import Prey, run_hunt
from testbed.hunt.state import Store
from tests.support.hunt_mutants import NOT_HUNTED, PLANTED
from tests.support.netreduce_mutants import MUTANTS

SEED, SCHEDULES = 1, 2000
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


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_found(name):
    found = run_hunt(Prey(SEED, SCHEDULES), 1, Store(), machines=PLANTED[name])
    assert found.failure is not None
    assert found.number is not None
    expected = {
        "bit_exact", "exactly_once", "liveness", "credit_bound", "slots_private", "transparency",
    }  # fmt: skip
    assert found.failure.check in expected, found.failure
