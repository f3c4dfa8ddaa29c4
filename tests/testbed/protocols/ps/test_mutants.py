"""Planted bugs of the plain parameter server: the hunter finds each."""

from __future__ import annotations

import pytest

from testbed.hunt.runner import Prey
from tests.support.hunted import found_bug
from tests.support.ps_planted import PS_PLANTED
from tests.support.selection import some_at_once

LATE = ("AddsSumsAgain", "TakesAnotherTree", "ResendAllocates", "ReclaimsNothing", "FreesForAnyJob")


def test_at_least_ten_are_planted():
    assert len(PS_PLANTED) >= 10


@pytest.mark.parametrize("name", some_at_once(PS_PLANTED, quick=[name for name in PS_PLANTED if name not in LATE][::2]))
def test_a_planted_bug_is_found(name):
    found = found_bug(name, Prey(1, 2000, program="ps", kind="ps"), PS_PLANTED[name])
    assert found.failure is not None
