"""Occupancy of slots, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from testbed.checkers.context import CheckContext
from testbed.figures.slots import slot_occupancy
from testbed.history import Record
from testbed.plan import make_plan
from testbed.scenario.model import Job, Scenario
from tests.support.records import a_record
from topologies import LinkShape, rack

PLAN = make_plan(Scenario("t", rack(2, LinkShape()), LinkShape(), job=Job(size_bytes=4096)))


def _ended(at: int) -> list[Record[Any]]:
    names = "CollectiveStarted", "CollectiveCompleted", "WorkerFinished"
    return [
        a_record(at, host, name, **({"completed_ns": at} if name == "CollectiveCompleted" else {}))
        for host in ("h1", "h2")
        for name in names
    ]


def _look(at: int, slots: int | None, switch: str = "s1") -> Record[Any]:
    return a_record(at, switch, "SwitchSampled", slots_in_use=slots)


def _ring(peak: int, slots: int = 10, ring_id: int = 1, switch: str = "s1") -> Record[Any]:
    return a_record(2000, switch, "SlotsAtEnd", ring_id=ring_id, slots=slots, peak_occupied=peak)


def _memory(peak: int, job: int, first_slot: int = 0, values: int = 20) -> Record[Any]:
    return a_record(2000, "s1", "MemoryAtEnd", job=job, first_slot=first_slot, values=values, peak_occupied=peak)


def _found(*records: Record[Any], end: int = 1000) -> dict[str, Any]:
    return slot_occupancy(CheckContext(PLAN, [*records, *_ended(end)]))


def test_the_mean_is_over_time() -> None:
    """4 slots for 100 ns, 8 for 300 ns, 2 for 500 ns, of 10: 3800 of 9000."""
    found = _found(_look(100, 4), _look(200, 8), _look(500, 2), _look(1000, 9), _look(1500, 3), _ring(9))
    assert found == {"mean": pytest.approx(3800 / 9000), "peak": 0.9}


def test_the_fullest_switch_and_ring_count() -> None:
    found = _found(_look(0, 1), _look(0, 3, "s2"), _ring(2), _ring(5, 20, 2), _ring(4, 4, switch="s2"))
    assert found == {"mean": pytest.approx(3 / 4), "peak": 1.0}
    assert _found(_look(0, 3), _ring(2), _ring(5, 20, 2))["mean"] == pytest.approx(3 / 30)


def test_jobs_that_share_a_memory_share_its_capacity() -> None:
    assert _found(_look(0, 5), _memory(3, 1), _memory(6, 2))["mean"] == pytest.approx(5 / 20)
    parted = _found(_look(0, 5), _memory(3, 1), _memory(6, 2, first_slot=20))
    assert parted == {"mean": pytest.approx(5 / 40), "peak": 6 / 20}


def test_what_is_not_known_is_none() -> None:
    assert _found() == {"mean": None, "peak": None}
    assert _found(_ring(4)) == {"mean": None, "peak": 0.4}
    assert _found(_look(0, None), _ring(4))["mean"] is None
    assert _found(_look(0, 4))["mean"] is None, "the switch did not end: its capacity is not known"
    assert _found(_look(1000, 4), _ring(4))["mean"] is None, "no sample while the job ran"
