"""Hunts in all-reduces that are schedules of transfers: they survive what is drawn, planted bugs do not."""

from __future__ import annotations

import os

import pytest

from testbed.hunt.judge import judge_schedule
from testbed.hunt.runner import Prey
from testbed.hunt.schedule import Schedule
from tests.support.schedule_mutants import SCHEDULE_MUTANTS
from tests.support.schedules import SCHEDULES

RUNS = int(os.environ.get("SCHEDULE_HUNT", "60"))
"""drawn for each collective"""
TRIES = 60
COLLECTING = ("collected_in_another_order", "summed_before_all_is_there", "own_share_left_out")
"""bugs of a step that collects, which one of the schedules has"""


def drawn(protocol: str, number: int) -> Schedule:
    return Prey(1, TRIES, program="forward", kind=protocol).schedule(number)


@pytest.mark.parametrize("protocol", ["ring", *SCHEDULES])
@pytest.mark.timeout(3600)
def test_every_drawn_run_ends_with_the_right_sums(protocol: str) -> None:
    for number in range(RUNS):
        failure, _ = judge_schedule(drawn(protocol, number))
        assert failure is None, (protocol, number, failure)


def found_at(protocol: str, bug: str) -> tuple[int, str]:
    for number in range(TRIES):
        failure, _ = judge_schedule(drawn(protocol, number), SCHEDULE_MUTANTS[bug])
        if failure is not None:
            return number, failure.check
    return -1, ""


@pytest.mark.parametrize("bug", SCHEDULE_MUTANTS)
@pytest.mark.parametrize("protocol", SCHEDULES)
def test_planted_bugs_are_found(protocol: str, bug: str) -> None:
    kinds = {phase.kind for phase in SCHEDULES[protocol](4, 64)}
    if bug in COLLECTING and "collect" not in kinds:
        pytest.skip("nothing is collected")
    if bug == "one_buffer" and "exchange" not in kinds:
        pytest.skip("no step sums into what it sends")
    if bug == "own_part_twice" and "collect" in kinds:
        pytest.skip("nothing is summed in a second step")
    if bug == "part_one_off" and not any(phase.first_element for phase in SCHEDULES[protocol](4, 64)):
        pytest.skip("all phases work on the whole")
    if bug == "steps_exchanged" and len({phase.step for phase in SCHEDULES[protocol](4, 64)}) < 3:
        pytest.skip("of two steps the second takes what the first brought: that is another bug")
    _, check = found_at(protocol, bug)
    assert check, f"{bug} of {protocol} was not found"
