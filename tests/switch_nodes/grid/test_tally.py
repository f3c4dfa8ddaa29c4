"""What a slot was in use for, and what is nobody's any more."""

from __future__ import annotations

from switch_nodes.grid.tally import Tally
from tests.support.aggregator_bench import job_config


def test_a_slot_is_busy_until_the_last_packet_that_somebody_needs() -> None:
    tally = Tally(job_config(workers=3))
    tally.arrive(1, 1, 100)
    tally.occupy(1, 100)
    tally.arrive(1, 2, 130)
    tally.leave(1, 3)
    tally.occupy(-1, 130)
    tally.arrive(1, 2, 150)
    tally.occupy(1, 150)
    tally.arrive(1, 2, 900)
    assert (tally.busy_ns, tally.peak) == (30, 1)
    tally.arrive(2, 1, 1000)
    assert tally.busy_ns == 30 + 850, "the copy's slot was in somebody's way"


def test_what_left_before_is_a_copy_and_what_came_beside_it_is_none() -> None:
    tally = Tally(job_config(workers=3))
    tally.leave(4, 1)
    tally.leave(4, 2)
    assert tally.is_copy(4, 3)
    assert not tally.is_copy(4, 4)
    assert not tally.is_copy(5, 1)


def test_under_a_new_plan_only_what_has_a_result_is_a_copy() -> None:
    tally = Tally(job_config(workers=3))
    tally.leave(4, 3)
    tally.deliver(5, 0)
    tally.forget()
    assert not tally.is_copy(4, 1)
    assert tally.is_copy(5, 4)


def test_at_the_end_what_left_under_any_plan_is_a_copy() -> None:
    tally = Tally(job_config(workers=3))
    tally.leave(4, 1)
    tally.forget()
    tally.leave(4, 2)
    tally.forget()
    assert tally.is_ghost(4, 3)
    assert not tally.is_ghost(4, 4)
    assert not tally.is_ghost(5, 1)
    tally.deliver(5, 0)
    assert tally.is_ghost(5, 1)
