"""The hunt's own rules of slots, on histories made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.checkers import CheckContext
from testbed.hunt.slot_rules import broken_slot_rules
from testbed.plan import make_plan
from tests.support.records import a_record, event_with
from tests.testbed.hunt.test_survival_datagrams import atp, calm


def step(state, cause, after, job=1, block=0, node="s1"):
    return a_record(0, node, "SlotChanged", job=job, slot=0, version=0, block=block, rank=0, state=state, cause=cause,
        next=after)  # fmt: skip


def broken(*history, scenario=None):
    plan = make_plan(scenario or atp(kind="esa"))
    return [rule for rule, _ in broken_slot_rules(CheckContext(plan, list(history)))]


FILLED = step("empty", "new", "filling")


@pytest.mark.protocols("switchml")
def test_a_slot_is_where_its_last_step_left_it():
    assert broken(FILLED, step("filling", "completing", "done")) == []
    assert broken(FILLED, step("empty", "new", "filling", block=1)) == ["slots_follow_table"]
    assert broken(FILLED, step("empty", "new", "filling", node="s2")) == []
    private = calm()
    assert broken(step("free", "new", "filling"), step("free", "new", "filling", job=2), scenario=private) == []


def test_a_switch_that_starts_anew_has_forgotten_slots_and_owners():
    gone = a_record(0, "s1", "NodeExited")
    assert broken(FILLED, gone, step("empty", "result_other", "empty"), FILLED) == []
    assert broken(FILLED, event_with(gone, node="s2"), FILLED) == ["slots_follow_table"], "that one did not"


def test_a_result_frees_the_slot_of_its_own_block_and_no_other():
    assert broken(FILLED, step("filling", "result_own", "empty")) == []
    assert broken(FILLED, step("filling", "result_own", "empty", job=2)) == ["slots_follow_table"]
    assert broken(FILLED, step("filling", "result_other", "filling", job=2)) == []
    assert broken(FILLED, step("filling", "result_other", "filling")) == ["slots_follow_table"]


def test_who_only_comes_by_owns_nothing_and_an_empty_slot_is_nobodys():
    passing = step("filling", "other", "filling", job=2)
    freed = step("filling", "result_own", "empty")
    assert broken(FILLED, passing, freed, step("empty", "result_other", "empty")) == []


def test_who_preempts_is_the_owner_from_then_on():
    taken = step("filling", "other_lower", "filling", job=2)
    mine = step("filling", "result_own", "empty", job=2)
    assert broken(FILLED, taken, mine) == []
    still = replace(atp(kind="esa"), switch=replace(atp().switch, knobs=replace(atp().switch.knobs, preempt=False)))
    assert broken(FILLED, taken, mine, scenario=still) == ["slots_follow_table"]


def evicted():
    return a_record(0, "s1", "PartialSent", job=1, block=0, reason="evicted")


def test_equals_stay():
    assert broken(evicted()) == []
    equal = atp(kind="esa", priority="equal")
    assert broken(evicted(), scenario=equal) == ["equals_stay"]
    assert broken(event_with(evicted(), reason="complete"), scenario=equal) == []


def test_ghosts_go():
    def met(block, owner_job=1):
        return a_record(0, "s1", "Collided", job=1, block=block, rank=0, slot=0, owner_job=owner_job,
            owner_block=1)  # fmt: skip

    assert broken(met(4)) == []  # within the window of four
    assert broken(met(5)) == ["ghosts_go"]
    assert broken(met(5, owner_job=2)) == []
    keeps = replace(atp(kind="esa"), switch=replace(atp().switch, knobs=replace(atp().switch.knobs, reclaim=False)))
    assert broken(met(5), scenario=keeps) == []


@pytest.mark.parametrize("numbers", [(5, 6), (None, None)])
def test_ghosts_are_told_by_the_number_of_their_job(numbers):
    scenario = atp(kind="esa")
    jobs = tuple(replace(job, number=number) for job, number in zip(scenario.jobs, numbers, strict=True))
    for number in numbers if numbers[0] else (1, 2):
        met = a_record(0, "s1", "Collided", job=number, block=5, rank=0, slot=0, owner_job=number,
            owner_block=1)  # fmt: skip
        assert broken(met, scenario=replace(scenario, jobs=jobs)) == ["ghosts_go"]


def test_no_server_gets_what_is_anothers():
    def refused(node, reason="unexpected"):
        return a_record(0, node, "FrameRejected", reason=reason, detail="kind 0 of job 1")

    assert broken(refused("h6")) == ["right_server"]
    assert broken(refused("h1"), refused("h6", "checksum")) == []
