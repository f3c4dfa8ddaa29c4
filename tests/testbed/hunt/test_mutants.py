"""Planted bugs: the hunter finds each, and by a check that means something."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.faults.model import Duplicate, Loss
from testbed.hunt.draw_fabric import FABRIC
from testbed.hunt.endpoint_rules import ENDPOINT_RULES
from testbed.hunt.judge import CRASH, Machines, run_and_judge
from testbed.hunt.runner import Prey
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from tests.support.endpoint_mutants import ENDPOINT_MUTANTS, ENDPOINT_NOT_HUNTED
from tests.support.fabric_more_mutants import MORE_FABRIC_MUTANTS
from tests.support.fabric_mutants import FABRIC_MUTANTS, FABRIC_NOT_HUNTED
from tests.support.hunt_mutants import (
    FABRIC_PLANTED,
    HELD_PLANTED,
    IRN_PLANTED,
    NOT_HUNTED,
    NOT_UNDER_IRN,
    ORDER_PLANTED,
    PLANTED,
)
from tests.support.hunted import found_bug
from tests.support.netreduce_more_mutants import MORE_MUTANTS
from tests.support.netreduce_mutants import MUTANTS
from tests.support.selection import some_at_once
from topologies import LinkShape, rack
from workloads.wire import PSN_MODULUS

SEED, SCHEDULES = 1, 2000
FOUND_LATE = {"KeepsReleased": 6000}
"""those that need more schedules"""
ENDPOINT_NAMES = [change.__name__ for change in ENDPOINT_MUTANTS]
LATE = (
    "ValueTakenBeforeTheRack", "InferredAsTheNewest", "ClearedOnPartial",
    *(program.__name__ for program in MORE_FABRIC_MUTANTS),
)  # fmt: skip
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


QUICK = ("msn_off_by_one", "takes_one_more", "duplicates_unanswered", "NanNotCanonical", "ClampsAtEachStep")
"""of what was planted for rules of endpoints and for extreme gradients; the others are for long"""
FURTHER = {*(each.__name__ for each in (*ENDPOINT_MUTANTS, *MORE_MUTANTS)), "InferenceWithoutAnnouncement"} - set(QUICK)
CHECKS = {"bit_exact", "exactly_once", "liveness", "credit_bound", "slots_private", "transparency", *ENDPOINT_RULES}


def test_every_two_level_bug_is_hunted_or_says_why_not():
    assert set(FABRIC_NOT_HUNTED) <= set(FABRIC_MUTANTS)
    names = {program.__name__ for program in (*FABRIC_MUTANTS, *MORE_FABRIC_MUTANTS)}
    assert names == {*FABRIC_PLANTED, *(program.__name__ for program in FABRIC_NOT_HUNTED)}
    assert len(FABRIC_PLANTED) >= 18


@pytest.mark.parametrize("name", some_at_once(FABRIC_PLANTED, late=LATE))
def test_a_planted_two_level_bug_is_found(name):
    found = found_bug(name, Prey(SEED, SCHEDULES, kind=FABRIC), FABRIC_PLANTED[name])
    assert found.failure is not None
    # A value before its rack is complete finds no headers to leave under.
    assert found.failure.check in CHECKS | ({CRASH} if name == "ValueTakenBeforeTheRack" else set()), found.failure


def test_every_broken_endpoint_is_hunted_or_says_why_not():
    left_out = {change.__name__ for change in ENDPOINT_NOT_HUNTED}
    assert {change.__name__ for change in ENDPOINT_MUTANTS} <= {*PLANTED, *left_out}
    assert not left_out & set(PLANTED)
    asked_for = {
        "rnr_wait_ignored",
        "msn_off_by_one",
        "believes_what_was_never_sent",
        "takes_one_more",
        "NanNotCanonical",
    }
    assert asked_for <= set(PLANTED)


@pytest.mark.parametrize("name", some_at_once(PLANTED, late=FURTHER & PLANTED.keys()))
def test_a_planted_bug_is_found(name):
    found = found_bug(name, Prey(SEED, FOUND_LATE.get(name, SCHEDULES)), PLANTED[name])
    assert found.failure is not None
    assert found.number is not None
    # Connections that a cleared slot says to have served are in no table.
    assert found.failure.check in CHECKS | ({CRASH} if name == "KeepsReleased" else set()), found.failure


QUICK_IRN = ("RecoveryLeftTooEarly", "OffsetOneLess", "gap_names_what_is_missing", "msn_before_the_gap_is_filled")
"""the others are for long"""


def test_there_are_enough_bugs_of_irn():
    asked_for = {"BitmapShiftedByOne", "RecoveryLeftTooEarly", "SelectiveAnswersIgnored",
        "duplicate_counted_as_a_message",
                 "rto_low_with_many_in_flight"}  # fmt: skip
    assert asked_for <= set(IRN_PLANTED)
    assert len(IRN_PLANTED) >= 15


@pytest.mark.parametrize("name", some_at_once(IRN_PLANTED, QUICK_IRN))
def test_a_planted_bug_of_irn_is_found(name):
    found = found_bug(name, Prey(SEED, SCHEDULES), IRN_PLANTED[name])
    assert found.failure is not None
    assert found.failure.check in CHECKS, found.failure


_SHAPE = LinkShape(rate_bps=100_000_000, delay_ns=20_000)
_LINKS = ("h1-s1", "h2-s1")


def _troubled(recovery: str, seed: int = 1) -> Scenario:
    """PSNs wrap, windows go round, packets of all kinds are lost and doubled."""
    return Scenario(
        "irn", rack(2, _SHAPE), _SHAPE, seed=seed, world="simulated", trace=True,
        transport=Transport(timeout_code=8, path_mtu=256, recovery=recovery, start_psn=PSN_MODULUS - 11),
        switch=SwitchOptions("netreduce"),
        job=Job(size_bytes=256 * 39, message_packets=4, window_messages=2, iterations=2),
        faults=(Loss("lost", _LINKS, rate=0.1), Duplicate("twice", _LINKS, rate=0.1, delay_ns=300_000)),
        time_limit_ns=60_000_000_000,
    )  # fmt: skip


@pytest.mark.minutes
@pytest.mark.parametrize("name", [name for name in NOT_UNDER_IRN if name != "KeepsReleased"])
def test_what_is_never_reached_under_irn_changes_nothing_there(name):
    assert name in PLANTED
    for seed in range(3):
        assert run_and_judge(_troubled("irn", seed), PLANTED[name]) == run_and_judge(_troubled("irn", seed))


@pytest.mark.parametrize("name", [name for name in NOT_UNDER_IRN if name not in (*ENDPOINT_NAMES, "KeepsReleased")])
def test_what_is_never_reached_under_irn_changes_something_under_go_back_n(name):
    """The other endpoints of go-back-N are found there by the hunt."""
    runs = (_troubled("gbn", seed) for seed in range(12))
    assert any(run_and_judge(run, PLANTED[name]) != run_and_judge(run) for run in runs)


def test_a_slot_that_keeps_whom_it_answered_costs_time_alone_under_irn():
    calm = replace(_troubled("irn"), faults=())
    (ours, before), (theirs, after) = (
        run_and_judge(calm, machines) for machines in (Machines(), PLANTED["KeepsReleased"])
    )
    assert (ours, theirs) == (None, None)
    assert after[-1].t > before[-1].t


LATE_HELD = ("EveryClearBitIsALoss", "MapsReadOneTooHigh", "SelectiveAnswersForgotten")


@pytest.mark.parametrize("name", some_at_once(HELD_PLANTED, late=LATE_HELD))
def test_a_planted_bug_of_irn_held_is_found(name):
    prey = Prey(SEED, SCHEDULES, kind=FABRIC, recovery="irn-held")
    found = found_bug(name, prey, HELD_PLANTED[name])
    assert found.failure is not None
    assert found.failure.check in CHECKS, found.failure


def test_there_are_enough_bugs_of_irn_held():
    assert len(HELD_PLANTED) >= 9


QUICK_ORDER = ("LaterMessageClosesTheEarlier", "RackTimersAtOnce")


@pytest.mark.parametrize("name", some_at_once(ORDER_PLANTED, QUICK_ORDER))
def test_a_planted_bug_that_assumes_order_is_found(name):
    found = found_bug(name, Prey(SEED, SCHEDULES, kind=FABRIC), ORDER_PLANTED[name])
    assert found.failure is not None
    # A packet without a header of its own cannot leave.
    assert found.failure.check in CHECKS | ({CRASH} if name == "LeafTakesValuesInOrder" else set()), found.failure
