"""Planted bugs of repair jobs: the hunter finds each, and by a check that means something."""

from __future__ import annotations

import pytest

from testbed.hunt.runner import Prey, run_hunt
from testbed.hunt.state import Store
from tests.support.repair_mutants import REPAIR_PLANTED
from tests.support.selection import some_at_once

SEED, SCHEDULES = 1, 2000
CHECKS = {"bit_exact", "exactly_once", "liveness", "credit_bound", "slots_private"}


def test_there_are_ten_and_more():
    assert len(REPAIR_PLANTED) >= 10


@pytest.mark.parametrize("name", some_at_once(REPAIR_PLANTED, quick=list(REPAIR_PLANTED)[::2]))
def test_a_planted_bug_is_found(name):
    found = run_hunt(Prey(SEED, SCHEDULES, program="repair", kind="repair"), 1, Store(), machines=REPAIR_PLANTED[name])
    assert found.failure is not None
    assert found.failure.check in CHECKS, found.failure


def test_ours_survives_as_many_schedules_as_the_quick_ones_need():
    assert run_hunt(Prey(SEED, 150, program="repair", kind="repair"), 1, Store()).failure is None
