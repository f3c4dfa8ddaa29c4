"""The hunt's rules of GRID's slots and detours, on histories made by hand: three workers, one switch, two slots."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.checkers import CheckContext
from testbed.hunt.slot_rules import broken_slot_rules
from testbed.plan import make_plan
from tests.support.records import a_record, event_with
from tests.testbed.protocols.grid.test_hunt_survival import SHAPE, calm
from topologies import rack

BASE = replace(
    calm(topology=rack(4, SHAPE), routing={"capacity_bps": 10**12, "servers": ("h4",)}), trace=True
)  # fmt: skip
BASE = replace(BASE, job=replace(BASE.job, hosts=("h1", "h2", "h3"), server="h4"))
PLAN = a_record(0, "s1", "PlanInstalled")
GONE = a_record(0, "s1", "NodeExited")


def step(state, cause, after, rank=0, block=0, slot=0):
    return a_record(0, "s1", "SlotChanged", job=1, slot=slot, version=0, block=block, rank=rank, state=state,
        cause=cause, next=after)  # fmt: skip


def sent(reason, bitmap, block=0):
    return a_record(0, "s1", "PartialSent", block=block, reason=reason, bitmap=bitmap)


def opens(rank=0, block=0):
    return step("empty", "new", "filling", rank, block)


def joins(rank, block=0, cause="new"):
    return step("filling", cause, "empty" if cause == "completing" else "filling", rank, block)


def flushed(rank, block=0):
    return step("filling", "resend_own", "empty", rank, block)


def around(rank, block=0, cause="refused", state="empty"):
    return step(state, cause, state, rank, block)


def result(block=0, state="empty", cause="result_other", after="empty"):
    return step(state, cause, after, -1, block)


def broken(*history, scenario=BASE):
    return [rule for rule, _ in broken_slot_rules(CheckContext(make_plan(scenario), [PLAN, *history]))]


def test_a_sum_is_whole_when_all_are_inside_and_no_sooner():
    assert broken(opens(), joins(1), joins(2, cause="completing"), opens(1, 7)) == []
    assert broken(opens(), joins(1, cause="completing")) == ["slots_follow_table"]
    assert broken(opens(), joins(1), joins(2)) == ["slots_follow_table"], "it has all, and waits"


def test_a_slot_is_where_its_last_step_left_it():
    assert broken(opens(), opens(0, 1)) == ["slots_follow_table"]
    assert broken(opens(), joins(1, block=1))[0] == "slots_follow_table"
    assert broken(opens(), PLAN, opens(0, 1)) == [], "a new plan forgets"
    assert broken(opens(), GONE, PLAN, opens(0, 1)) == [], "so does a new life"


def test_a_result_frees_the_slot_of_its_own_block_and_no_other():
    assert broken(opens(), result(0, "filling", "result_own", "empty"), opens(1, 1)) == []
    assert broken(opens(), result(1, "filling", "result_own", "empty")) == ["slots_follow_table"]
    assert broken(opens(), result(0, "filling", "result_other", "filling")) == ["slots_follow_table"]
    assert broken(opens(), result(1, "filling", "result_other", "filling")) == []


def test_a_flush_names_its_asker():
    assert broken(opens(), flushed(1), sent("flushed", 3)) == []
    assert broken(opens(), flushed(1), sent("flushed", 1)) == ["flush_names_asker"]
    assert broken(opens(), flushed(0), sent("flushed", 1)) == []


def test_what_asked_for_a_flush_went_around_with_it():
    """Ranks 0 and 1 left with the flush, rank 2 alone: the detour is over, and a copy opens a slot like any other
    packet."""
    over = opens(), flushed(1), around(2)
    assert broken(*over, opens(0)) == []
    assert broken(*over, around(0)) == ["rest_goes_around"]


@pytest.mark.parametrize("first", [(opens(), flushed(0)), (around(0, cause="resend_other"),)])
def test_the_rest_of_a_block_goes_around_until_all_have_or_its_sum_passes(first):
    assert broken(*first, around(1), around(2), opens(1)) == []
    assert broken(*first, opens(1)) == ["rest_goes_around"]
    assert broken(*first, result(), opens(1)) == []
    assert broken(*first, PLAN, opens(1)) == []
    assert broken(*first, result(), around(1)) == ["rest_goes_around"]


def test_without_tokens_any_block_goes_around_and_the_rest_of_it():
    poor = replace(BASE, routing=replace(BASE.routing, capacity_bps=10**5))
    assert broken(around(0), scenario=poor) == []
    assert broken(around(0)) == ["rest_goes_around"]
    assert broken(around(0), opens(1), scenario=poor) == ["rest_goes_around"]


def test_collisions_go_around_where_they_go_to_the_server():
    met = step("filling", "other", "filling", 1, 1)
    server = replace(BASE, routing=replace(BASE.routing, on_collision="to_ps"))
    late = step("filling", "result_own", "empty", -1, 0), opens(0, 1)
    assert broken(opens(), met, *late) == []
    assert broken(opens(), met, *late, scenario=server) == ["rest_goes_around"]


def test_ghosts_go_and_nothing_else_does():
    window = BASE.job.window_packets
    older = step("filling", "successor", "empty", 0, window), opens(0, window)
    assert broken(opens(), *older) == []
    assert broken(opens(), step("filling", "successor", "empty", 0, window - 1)) == ["ghosts_go"]
    assert broken(opens(), step("filling", "other", "filling", 0, window)) == ["ghosts_go"]
    assert broken(opens(), step("filling", "other", "filling", 0, window - 1)) == []


def test_no_switch_gets_what_the_plan_sends_elsewhere():
    elsewhere = replace(BASE, routing=replace(BASE.routing, planner="shortest"))
    assert broken(around(0), scenario=elsewhere) == ["right_node"]


def test_what_was_turned_away_asks_in_the_end():
    again = a_record(0, "h1", "DatagramResent", cause="rate", job=1, block=3)
    untraced = replace(BASE, trace=False)
    assert broken(again, again, again, scenario=untraced) == []
    assert broken(*[again] * 4, scenario=untraced) == ["asks_the_server_in_the_end"]
    reborn = a_record(0, "h1", "NodeExited")
    assert broken(again, again, reborn, again, again, again, scenario=untraced) == []
    assert broken(*[event_with(again, cause="timeout")] * 9, scenario=untraced) == []


def test_untraced_runs_tell_no_steps():
    assert broken(opens(), opens(0, 1), scenario=replace(BASE, trace=False)) == []
