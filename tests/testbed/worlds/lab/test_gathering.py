"""Files of hosts and card -> one history on one clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.worlds.lab.gathering import by_host, clock_of, read_lines, trace_records, worker_records
from tests.support.records import a_record
from workloads.errors import LabError


def test_times_count_from_the_first_start() -> None:
    records = [
        a_record(0, "h1", "BarrierReached"),
        a_record(0, "h1", "BarrierPassed", clock_ns=1_000_500),
        a_record(7, "h1", "WorkerFinished"),
    ]
    assert clock_of(records) == 1_000_500
    assert list(worker_records(records, "h2", 1_000_000)) == [a_record(507, "h2", "WorkerFinished")]
    trace = [a_record(999_000, "card", "A"), a_record(1_000_600, "card", "B")]
    assert [(record.t, record.node) for record in trace_records(trace, "s1", 1_000_000)] == [
        (0, "s1"),
        (600, "s1"),
    ]


def test_times_of_a_slow_lab_are_its_own() -> None:
    records = [a_record(0, "h1", "BarrierPassed", clock_ns=1_000_500), a_record(7, "h1", "WorkerFinished")]
    assert list(worker_records(records, "h2", 1_000_000, 50)) == [a_record(17, "h2", "WorkerFinished")]
    (record,) = trace_records([a_record(1_000_600, "card", "B")], "s1", 1_000_000, 50)
    assert record.t == 12


def test_a_line_without_its_end_is_none(tmp_path: Path) -> None:
    path = tmp_path / "h1.jsonl"
    path.write_text('{"t": 1, "event": "A"}\n{"t": 2, "ev')
    assert list(read_lines(path, "h1")) == [a_record(1, "h1", "A")]


@pytest.mark.parametrize(
    "line", ["[]", "x", '{"event": "A"}', '{"t": "1", "event": "A"}', '{"t": 1, "event": "WorkerFinished"}']
)
def test_what_is_no_record(tmp_path: Path, line: str) -> None:
    path = tmp_path / "h1.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(LabError, match=r"h1: line 1 of h1.jsonl is no record"):
        list(read_lines(path, "h1"))


def test_workers_and_cards_tell_what_is_theirs() -> None:
    with pytest.raises(LabError, match=r"h1: the host h1 reported MessageAggregated, which a host must not report"):
        list(worker_records([a_record(0, "h1", "MessageAggregated")], "h1", 0))
    with pytest.raises(
        LabError, match=r"s1: the switch s1 reported CollectiveCompleted, which a switch must not report"
    ):
        list(trace_records([a_record(0, "h1", "CollectiveCompleted")], "s1", 0))


def test_hosts_that_tell_different_things_are_named() -> None:
    assert by_host({"h1": "native", "h2": "native"}) == "native"
    assert by_host({"h1": "native", "h2": "python (no cc)", "h3": "native"}) == "h1, h3: native; h2: python (no cc)"
