"""Timelines of pages: nothing is lost but detail, and the size is bounded."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import accumulate
from typing import Any

import pytest

from testbed.report.timeline.levels import drawn_lanes, timeline_data
from testbed.report.timeline.marks import HIDDEN
from testbed.report.timeline.model import KINDS, Lane, Mark, Span, Timeline
from tests.testbed.report.timeline.test_reading import LOSS, run

EMPTY = Timeline(("h1",), (), [], Lane("faults", "world"), [], [], {}, [], 0, 0, False)


def data_of(timeline: Timeline) -> dict[str, Any]:
    return timeline_data(timeline, drawn_lanes(timeline, {}))


def long_one(count: int, lanes: int = 1) -> Timeline:
    """A span and a mark every microsecond, in each lane."""
    qps = [
        Lane(
            f"h{number} -> s",
            f"h{number}",
            marks=[Mark(1_000 * at, "nak", "NAK", at) for at in range(count)],
            spans=[Span(1_000 * at, 1_000 * at + 900, "sending", "sending") for at in range(count)],
        )
        for number in range(lanes)
    ]
    return replace(EMPTY, qps=qps, stop=1_000 * count)


def test_a_short_run_has_one_level_with_all_spans_and_marks() -> None:
    timeline = run(LOSS)[2]
    data = data_of(timeline)
    (level,) = data["levels"]
    assert level["step_s"] == 0
    (lane,) = [number for number, (_, name) in enumerate(data["lanes"]) if name == "h1 -> h2"]
    marks, own = level["marks"][lane], next(lane for lane in timeline.qps if lane.name == "h1 -> h2")
    expected = [mark for mark in own.marks if mark.kind not in HIDDEN]
    assert list(accumulate(marks[0::4])) == [mark.t for mark in expected]
    assert [list(KINDS)[kind] for kind in marks[1::4]] == [mark.kind for mark in expected]
    assert set(marks[2::4]) == {1}
    texts = [data["texts"][number] for number in marks[3::4]]
    assert all(mark.label in text for mark, text in zip(expected, texts, strict=True))
    assert data["lanes"][-1] == ["", "s1: messages"]


@pytest.mark.parametrize("count", [100, 10_000, 100_000])
@pytest.mark.parametrize("lanes", [1, 3])
def test_the_size_is_bounded_and_every_mark_is_counted_at_every_level(count: int, lanes: int) -> None:
    data = data_of(long_one(count, lanes))
    for level in data["levels"]:
        assert [sum(marks[2::4]) for marks in level["marks"][1:]] == [count] * lanes
        assert [sum(spans[3::5]) for spans in level["spans"][1:]] == [count] * lanes
        ends = [sum(spans[0::5]) + spans[-4] for spans in level["spans"][1:]]
        assert ends == [1_000 * count - 100] * lanes
    assert len(json.dumps(data)) < 1_500_000
    steps = [level["step_s"] for level in data["levels"]]
    assert steps == sorted(set(steps)), "the finest first"
    assert len(steps) == {(100, 1): 1, (100, 3): 1, (10_000, 1): 3}.get((count, lanes), 2)
    most = [sum(map(len, level["spans"])) / 5 + sum(map(len, level["marks"])) / 4 for level in data["levels"]]
    assert max(most) == most[0] < 25_100
    assert len(most) == 1 or most[-1] <= 2_100 * lanes, "about as many as a window has pixels"


def test_a_long_span_does_not_join_its_neighbour() -> None:
    timeline = long_one(20_000)
    whole = timeline.stop
    timeline.qps[0].spans = [Span(0, whole // 2, "flight", "first"), Span(whole // 2, whole, "flight", "second")]
    for level in data_of(timeline)["levels"]:
        assert level["spans"][1][3::5] == [1, 1]


def test_hosts_of_a_rack_fold_and_slots_do() -> None:
    lanes = [Lane("h1 -> h2", "h1"), Lane("h2 -> h1", "h2")]
    timeline = replace(EMPTY, qps=lanes, slots=[Lane("slot 3", "s1", slot=3)])
    assert [group for group, _ in drawn_lanes(timeline, {})] == ["", "", "", "slots"]
    folded = drawn_lanes(timeline, {"h1": "s1", "h2": "s1"})
    assert [(group, lane.name) for group, lane in folded] == [
        ("", "faults"), ("rack of s1", "h1 -> h2"), ("rack of s1", "h2 -> h1"), ("slots", "slot 3")
    ]  # fmt: skip
