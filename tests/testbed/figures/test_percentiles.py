"""Percentiles of messages and iterations, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from testbed.checkers.context import CheckContext
from testbed.figures.percentiles import iteration_times, message_times, nearest_rank
from testbed.history import Record
from testbed.plan import make_plan
from testbed.scenario.model import Job, Scenario
from tests.support.records import a_record
from topologies import LinkShape, rack

PLAN = make_plan(Scenario("t", rack(2, LinkShape()), LinkShape(), job=Job(size_bytes=4096, iterations=2)))
ENDED = [a_record(10_000, host, "WorkerFinished") for host in ("h1", "h2")]
NONE = {"count": 0, "p50_s": None, "p95_s": None, "p99_s": None}


def _iteration(node: str, number: int, since: int, until: int) -> list[Record[Any]]:
    return [
        a_record(since, node, "CollectiveStarted", iteration=number),
        a_record(until + 5, node, "CollectiveCompleted", iteration=number, completed_ns=until),
    ]


def _message(node: str, number: int, since: int, until: int | None, phase: str = "") -> list[Record[Any]]:
    posted = a_record(since, node, "MessagePosted", message=number, phase=phase)
    return [posted] if until is None else [posted, a_record(until, node, "MessageAcked", message=number, phase=phase)]


@pytest.mark.parametrize(
    ("count", "expected"),
    [(1, (1, 1, 1)), (2, (1, 2, 2)), (3, (2, 3, 3)), (20, (10, 19, 20)), (100, (50, 95, 99)), (101, (51, 96, 100))],
)
def test_nearest_rank(count: int, expected: tuple[int, ...]) -> None:
    values = list(range(1, count + 1))
    assert tuple(nearest_rank(values, percent) for percent in (50, 95, 99)) == expected


def test_iterations_of_all_workers() -> None:
    """100, 200, 300 and 400 ns; what a record says, not when it came."""
    records = [
        *_iteration("h1", 0, 0, 100), *_iteration("h2", 0, 0, 200),
        *_iteration("h1", 1, 300, 600), *_iteration("h2", 1, 300, 700), *ENDED,
    ]  # fmt: skip
    assert iteration_times(CheckContext(PLAN, records)) == {
        "count": 4, "p50_s": 200e-9, "p95_s": 400e-9, "p99_s": 400e-9,
    }  # fmt: skip
    assert iteration_times(CheckContext(PLAN, records[:-1])) == NONE, "the slowest did not end"


def test_an_iteration_that_begins_again_counts_from_its_first_start() -> None:
    again = a_record(80, "h1", "CollectiveStarted", iteration=0)
    found = iteration_times(CheckContext(PLAN, [again, *_iteration("h1", 0, 90, 100), *ENDED]))
    assert found["p50_s"] == 20e-9


def test_messages_from_their_post_to_their_acknowledgement() -> None:
    records = [
        *_message("h1", 0, 0, 5), *_message("h1", 1, 10, 40), *_message("h1", 2, 20, 80),
        *_message("h2", 1, 10, 100), *_message("h2", 2, 30, None), *ENDED,
    ]  # fmt: skip
    found = message_times(CheckContext(PLAN, records))
    assert found == {"count": 3, "p50_s": 60e-9, "p95_s": 90e-9, "p99_s": 90e-9}, "30, 60 and 90 ns; no hello"
    greeted = replace(PLAN.scenario, job=replace(PLAN.scenario.job, hello=False))
    assert message_times(CheckContext(make_plan(greeted), records))["count"] == 4


def test_phases_number_their_messages_on_their_own() -> None:
    records = [*_message("h1", 1, 10, 40, "up"), *_message("h1", 1, 20, 30, "down"), *ENDED]
    found = message_times(CheckContext(PLAN, sorted(records, key=lambda record: record.t)))
    assert (found["p50_s"], found["p95_s"]) == (10e-9, 30e-9)


def test_a_message_of_another_life_counts_from_its_second_post() -> None:
    records = [*_message("h1", 1, 10, None), *_message("h1", 1, 50, 70), *ENDED]
    assert message_times(CheckContext(PLAN, records)) == {"count": 1, "p50_s": 20e-9, "p95_s": 20e-9, "p99_s": 20e-9}


def test_a_message_counts_once() -> None:
    again = a_record(90, "h1", "MessageAcked", message=1)
    assert message_times(CheckContext(PLAN, [*_message("h1", 1, 10, 30), again, *ENDED]))["count"] == 1


def test_without_messages_there_are_no_times() -> None:
    assert message_times(CheckContext(PLAN, ENDED)) == NONE
    assert message_times(CheckContext(PLAN, _message("h1", 1, 10, 40))) == NONE
