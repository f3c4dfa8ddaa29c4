"""Planted bugs of DLCP jobs: the hunter finds each, and by a check that means something."""

from __future__ import annotations

import pytest

from testbed.hunt.runner import Prey, run_hunt
from testbed.hunt.state import Store
from tests.support.dlcp_mutants import DLCP_PLANTED
from tests.support.selection import some_at_once

SEED, SCHEDULES = 1, 2000
CHECKS = {"bounded_loss", "liveness"}
LATE = (
    "AddsCopies", "CountsCopies up", "ForgetsWhatIsEarly", "TakesOldGradients", "TakesOldSums", "AcknowledgesBefore",
    "DropsNewcomers", "NeverLate",
)  # fmt: skip


def test_there_are_ten_and_more():
    assert len(DLCP_PLANTED) >= 10


@pytest.mark.parametrize(
    "name", some_at_once(DLCP_PLANTED, quick=[name for name in DLCP_PLANTED if name not in LATE][::2])
)
def test_a_planted_bug_is_found(name):
    prey = Prey(SEED, SCHEDULES, program="forward", kind="dlcp")
    found = run_hunt(prey, 1, Store(), machines=DLCP_PLANTED[name])
    assert found.failure is not None
    assert found.failure.check in CHECKS, found.failure


def test_ours_survives_as_many_schedules_as_the_quick_ones_need():
    assert run_hunt(Prey(SEED, 150, program="forward", kind="dlcp"), 1, Store()).failure is None
