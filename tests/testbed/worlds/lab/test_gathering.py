"""Files of hosts and card -> one history on one clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.worlds.lab.gathering import by_host, clock_of, read_lines, trace_records, worker_records
from workloads.errors import LabError


def test_times_count_from_the_first_start() -> None:
    records = [
        {"t": 0, "event": "BarrierReached"},
        {"t": 0, "event": "BarrierPassed", "clock_ns": 1_000_500},
        {"t": 7, "event": "WorkerFinished"},
    ]
    assert clock_of(records) == 1_000_500
    assert list(worker_records(records, "h2", 1_000_000)) == [{"t": 507, "event": "WorkerFinished", "node": "h2"}]
    trace = [{"t": 999_000, "node": "card", "event": "A"}, {"t": 1_000_600, "node": "card", "event": "B"}]
    assert [(record["t"], record["node"]) for record in trace_records(trace, "s1", 1_000_000)] == [
        (0, "s1"),
        (600, "s1"),
    ]


def test_a_line_without_its_end_is_none(tmp_path: Path) -> None:
    path = tmp_path / "h1.jsonl"
    path.write_text('{"t": 1, "event": "A"}\n{"t": 2, "ev')
    assert list(read_lines(path, "h1")) == [{"t": 1, "event": "A"}]


@pytest.mark.parametrize("line", ["[]", "x", '{"event": "A"}', '{"t": "1", "event": "A"}'])
def test_what_is_no_record(tmp_path: Path, line: str) -> None:
    path = tmp_path / "h1.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(LabError, match=r"h1: line 1 of h1.jsonl is no record"):
        list(read_lines(path, "h1"))


def test_workers_and_cards_tell_what_is_theirs() -> None:
    with pytest.raises(LabError, match=r"h1: the host h1 told MessageAggregated, which is not a host's to tell"):
        list(worker_records([{"t": 0, "event": "MessageAggregated"}], "h1", 0))
    with pytest.raises(LabError, match=r"s1: the switch s1 told CollectiveCompleted, which is not a switch's to tell"):
        list(trace_records([{"t": 0, "node": "h1", "event": "CollectiveCompleted"}], "s1", 0))


def test_hosts_that_tell_different_things_are_named() -> None:
    assert by_host({"h1": "native", "h2": "native"}) == "native"
    assert by_host({"h1": "native", "h2": "python (no cc)", "h3": "native"}) == "h1, h3: native; h2: python (no cc)"
