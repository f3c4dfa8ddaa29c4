"""Planted bugs of repair jobs: the hunter finds each, and by a check that means something."""

from __future__ import annotations

import pytest

from testbed.hunt.runner import Prey
from tests.support.hunted import found_bug, passes_where_bugs_fail
from tests.support.repair_mutants import REPAIR_PLANTED
from tests.support.selection import some_at_once

SEED, SCHEDULES = 1, 2000
CHECKS = {"bit_exact", "exactly_once", "liveness", "credit_bound", "slots_private"}


def test_there_are_ten_and_more():
    assert len(REPAIR_PLANTED) >= 10


@pytest.mark.parametrize("name", some_at_once(REPAIR_PLANTED, quick=list(REPAIR_PLANTED)[::2]))
def test_a_planted_bug_is_found(name):
    found = found_bug(name, Prey(SEED, SCHEDULES, program="repair", kind="repair"), REPAIR_PLANTED[name])
    assert found.failure is not None
    assert found.failure.check in CHECKS, found.failure


def test_ours_survives_the_schedules_that_find_bugs():
    assert passes_where_bugs_fail(Prey(SEED, SCHEDULES, program="repair", kind="repair")) > 4
