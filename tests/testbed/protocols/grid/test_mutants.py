"""Planted bugs of GRID: the hunter finds each, and by a check that means something."""

from __future__ import annotations

import pytest

from testbed.hunt.judge import CRASH
from testbed.hunt.runner import Prey
from testbed.protocols.grid.hunt_rules import GRID_RULES
from tests.support.grid_planted import GRID_NOT_HUNTED, GRID_PLANTED
from tests.support.hunted import found_bug
from tests.support.selection import some_at_once

GRID = "grid"

SEED, SCHEDULES = 1, 2000
QUICK = ("AddsToAnyOwner", "CopiesAreAdded", "TokensForEachPacket", "ForgetsValuesOnly", "partial merged twice")
"""found within a few schedules; the others are for long"""
CHECKS = {"bit_exact", "exactly_once", "liveness", "credit_bound", "slots_private", CRASH, *GRID_RULES}
ASKED_FOR = {
    "any block's result frees the slot that it hashes to": "AnyResultFrees",
    "the packet that asked for a flush is not told as gone around": "AskerIsNotGone",
    "flush without its asker": "FlushWithoutAsker",
    "overflow of an earlier addition forgotten": "LastOverflow",
}


def test_what_was_asked_for_is_planted():
    assert set(ASKED_FOR.values()) <= set(GRID_PLANTED)
    assert set(QUICK) <= set(GRID_PLANTED)
    assert len(GRID_PLANTED) >= 12
    assert not set(GRID_NOT_HUNTED) & set(GRID_PLANTED)


@pytest.mark.parametrize("name", some_at_once(GRID_PLANTED, QUICK))
def test_a_planted_bug_is_found(name):
    found = found_bug(name, Prey(SEED, SCHEDULES, program=GRID, kind=GRID), GRID_PLANTED[name])
    assert found.failure is not None
    assert found.failure.check in CHECKS, found.failure
