"""Figures over time, against counts of the same history as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

import testbed as tb
from switch_nodes.events import SwitchSampled
from testbed.faults.events import FaultStruck
from testbed.figures.over_time import OverTime, over_time
from testbed.history import Record, make_record, of_kind
from testbed.history.events import QueuesSampled
from workloads.events import CollectiveStarted, MessageAcked, MessagePosted, MessageReceived, Retransmission


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> tb.Run:
    return tb.run(
        "rack-lossy", set={"job.size": "200kB"}, world="simulated", out=tmp_path_factory.mktemp("runs") / "run"
    )


def lines_of(found: OverTime | None, title: str) -> dict[str, tuple[float, ...]]:
    assert found is not None
    (series,) = [series for series in found.series if series.title == title]
    return dict(series.lines)


def test_sums_over_all_intervals_are_those_of_the_run(lossy: tb.Run) -> None:
    found = over_time(lossy.history)
    struck = lines_of(found, "packets struck by faults")
    assert sum(map(sum, struck.values())) == lossy.figures["faults.loss.strikes"]
    per_link = {record.event.target for record in of_kind(lossy.history, FaultStruck)}
    assert set(struck) == per_link
    again = lines_of(found, "packets sent again")
    assert sum(map(sum, again.values())) == sum(
        record.event.packets for record in of_kind(lossy.history, Retransmission)
    )


def test_goodput_adds_up_to_the_gradient(lossy: tb.Run) -> None:
    found = over_time(lossy.history)
    assert found is not None
    completed = lines_of(found, "gradient of completed messages")
    assert sorted(completed) == ["h1", "h2", "h3", "h4"]
    for line in completed.values():
        assert line == tuple(sorted(line))
        assert line[-1] == pytest.approx(200_000)


def test_looks_are_lines_at_most_per_interval_and_stay_until_the_next_look() -> None:
    end = 1500
    history = [
        record(5, QueuesSampled(5, {"a up": 3}), "world"),
        record(8, QueuesSampled(5, {"a up": 7, "b up": 1}), "world"),
        record(30, QueuesSampled(10, {"b up": 2}), "world"),
        record(5, SwitchSampled(4, {"a up": 10}), "s1"),
        record(30, SwitchSampled(0, {"a up": 15}), "s1"),
        record(30, SwitchSampled(6, {}), "s2"),
        record(end, SwitchSampled(0, {"a up": 2}), "s1"),
    ]
    found = over_time(history)
    assert found is not None
    assert (found.interval_ns, found.sampled_ns) == (10, (5, 10))
    waiting = found.of("frames waiting in queues")
    assert waiting["a up"][:4] == (7, 7, 7, 0)
    assert waiting["b up"][:5] == (1, 1, 1, 2, 2)
    assert waiting["b up"][-1] == 2
    slots = found.of("slots in use")
    assert slots["s1"][:5] == (4, 4, 4, 0, 0)
    assert slots["s2"][2:5] == (0, 6, 6)
    marked = found.of("packets marked (CE)")["a up"]
    assert (marked[0], marked[3], marked[-1], sum(marked)) == (10, 5, 2, 17)


def test_a_run_has_them(lossy: tb.Run) -> None:
    found = lossy.over_time
    assert found is not None
    assert found.sampled_ns
    most = {name: max(line) for name, line in found.of("frames waiting in queues").items()}
    assert most == {name: lossy.figures[f"sampled.most_waiting.{name}"] for name in most}
    assert max(found.of("slots in use")["s1"]) == lossy.figures["sampled.most_slots.s1"]


def record(t: int, event: object, node: str = "h1") -> Record:
    return make_record(t, node, event)  # type: ignore[arg-type]


def test_what_is_posted_and_not_acknowledged_is_a_level() -> None:
    history = [
        record(0, CollectiveStarted(0, 4000, 4)),
        record(4, MessagePosted(0, 0, 0)),
        record(10, MessagePosted(1, 0, 0)),
        record(20, MessagePosted(2, 0, 0)),
        record(160, MessageAcked(1)),
        record(299, MessageAcked(2)),
        record(299, MessageReceived(1, 0)),
    ]
    found = over_time(history)
    assert found is not None
    assert (found.interval_ns, found.intervals) == (2, 150)
    level = lines_of(found, "posted and not acknowledged")["h1"]
    without = lines_of(over_time(history, hello=False), "posted and not acknowledged")["h1"]
    assert without[2] == 1000, "the first message is one of the gradient where there is no hello"
    assert [level[at] for at in (4, 5, 9, 10, 79, 80, 148, 149)] == [0, 1000, 1000, 2000, 2000, 1000, 1000, 0]


@pytest.mark.parametrize(
    ("end", "interval"), [(1, 1), (150, 1), (151, 2), (1_000_000, 10_000), (1_500_001, 20_000), (10**9, 10**7)]
)
def test_intervals_are_round_and_at_most_150(end: int, interval: int) -> None:
    found = over_time([record(end, Retransmission(1, "nak", 1, 1))])
    assert found is not None
    assert found.interval_ns == interval
    assert found.intervals <= 151
    assert found.series[0].lines[0][1][-1] == 1


def test_a_run_without_time_has_no_figures_over_it() -> None:
    assert over_time([]) is None
    assert over_time([record(0, MessageAcked(0))]) is None


def test_datagrams_have_blocks(tmp_path: Path) -> None:
    run = tb.run("switchml-lossy", set={"job.size": "40kB"}, world="simulated", out=tmp_path / "run")
    found = over_time(run.history)
    assert found is not None
    again = lines_of(found, "packets sent again")
    assert sum(map(sum, again.values())) == run.figures["retransmissions.packets"]
