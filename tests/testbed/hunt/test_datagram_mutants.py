"""Planted bugs of datagram protocols: the hunter finds each, and by a check that means something."""

from __future__ import annotations

import pytest

from testbed.hunt.aggregator_rules import AGGREGATOR_RULES
from testbed.hunt.judge import CRASH
from testbed.hunt.runner import Prey
from testbed.hunt.slot_rules import SLOT_RULES
from tests.support.datagram_planted import (
    DATAGRAM_BROKEN,
    DATAGRAM_FURTHER,
    DATAGRAM_NOT_HUNTED,
    DATAGRAM_PLANTED,
    DATAGRAM_UNTIMED,
)
from tests.support.hunted import found_bug
from tests.support.switchml_mutants import MUTANTS
from tests.support.switchml_tier_cases import MUTANTS as TIER_MUTANTS

SEED, SCHEDULES = 1, 2000
QUICK = {
    "switchml": (
        "NoShadowCopy",
        "NeverForgets",
        "FirstByCount",
        "versions_begin_anew",
        "takes_any_result",
        "SaturatingPool",
    ),
    "atp": (
        "partial merged twice",
        "FreesBeforeTheResult",
        "FreesOnEveryResult",
        "ReclaimsNothing",
        "EarlierOverflowForgotten",
    ),
    "esa": (
        "PreemptsOnATie",
        "ReclaimsNothing",
        "EvictsToTheWrongServer",
        "PriorityInverted",
        "FlushesWithoutItsAsker",
    ),
}
"""found within a few schedules; the others are for long"""
ALL = {program: {**planted, **DATAGRAM_FURTHER[program]} for program, planted in DATAGRAM_PLANTED.items()}
CHECKS = {
    "bit_exact",
    "exactly_once",
    "liveness",
    "credit_bound",
    "slots_private",
    CRASH,
    *SLOT_RULES,
    *AGGREGATOR_RULES,
}
ASKED_FOR = {
    "switchml": {
        "version bit not continued across tensors": "versions_begin_anew",
        "seen not cleared in the other version": "NeverForgets",
        "first writer by count": "FirstByCount",
        "shadow copy shared": "NoShadowCopy",
    },
    "atp": {
        "partial merged twice at the server": "partial merged twice",
        "slot freed before the result is safe": "FreesBeforeTheResult",
        "ghost slot never drained": "ReclaimsNothing",
        "ACK that frees a foreign slot": "FreesOnEveryResult",
        "overflow of an earlier addition forgotten": "EarlierOverflowForgotten",
    },
    "esa": {
        "partial merged twice at the server": "partial merged twice",
        "preemption on equal priority": "PreemptsOnATie",
        "ghost slot never drained": "ReclaimsNothing",
        "ACK that frees a foreign slot": "FreesForAnyJob",
        "overflow of an earlier addition forgotten": "EarlierOverflowForgotten",
        "priority inverted": "PriorityInverted",
        "reclaim window off by one": "ReclaimsOneTooSoon",
        "flush without its asker": "FlushesWithoutItsAsker",
        "newer block from the server's cache": "newer block from the cache",
    },
}


@pytest.mark.parametrize("program", DATAGRAM_PLANTED)
def test_what_was_asked_for_is_planted(program):
    assert set(ASKED_FOR[program].values()) <= set(ALL[program])
    assert set(QUICK[program]) <= set(ALL[program])
    assert len(ALL[program]) == len(DATAGRAM_PLANTED[program]) + len(DATAGRAM_FURTHER[program])


def test_every_broken_switchml_program_is_hunted_or_says_why_not():
    planted, left_out = DATAGRAM_PLANTED["switchml"], DATAGRAM_NOT_HUNTED["switchml"]
    assert {mutant.__name__ for mutant in MUTANTS} <= {*planted, *left_out}
    assert {f"leaf {mutant.__name__}" for mutant in TIER_MUTANTS} <= {*DATAGRAM_FURTHER["switchml"], *left_out}
    assert not set(left_out) & set(planted)


@pytest.mark.parametrize("program", ["atp", "esa"])
def test_every_broken_switch_and_server_is_hunted_or_says_why_not(program):
    parts = DATAGRAM_PLANTED[program], DATAGRAM_UNTIMED[program], DATAGRAM_NOT_HUNTED[program]
    assert set().union(*parts) == DATAGRAM_BROKEN
    assert sum(map(len, parts)) == len(DATAGRAM_BROKEN), "one of them only"
    assert all(len(reason) > 10 for reason in DATAGRAM_NOT_HUNTED[program].values())


@pytest.mark.parametrize(
    ("program", "name"),
    [
        pytest.param(program, name, marks=[] if name in QUICK[program] else [pytest.mark.minutes])
        for program, planted in ALL.items()
        for name in planted
    ],
)
def test_a_planted_bug_is_found(program, name):
    prey = Prey(SEED, SCHEDULES, program=program, kind=program)
    found = found_bug(name, prey, ALL[program][name])
    assert found.failure is not None
    assert found.failure.check in CHECKS, found.failure
