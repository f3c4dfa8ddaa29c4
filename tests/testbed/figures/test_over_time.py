"""Figures over time, against counts of the same history as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

import testbed as tb
from switch_nodes.events import SwitchSampled
from testbed.faults.events import FaultMissed, FaultStruck
from testbed.figures.over_time import OverTime, over_time, over_time_of
from testbed.figures.resent import packet_times, resent
from testbed.history import Record, make_record, of_kind
from testbed.history.events import NodeExited, QueuesSampled
from testbed.runs.options import RunOptions
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from tests.support.emulated import needs_root
from workloads.events import (
    CollectiveStarted,
    MessageAcked,
    MessagePosted,
    MessageReceived,
    RcStatistics,
    Retransmission,
)


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
    struck = lines_of(found, "hits of faults")
    assert sum(map(sum, struck.values())) == lossy.figures["faults.loss.strikes"]
    per_link = {record.event.target for record in of_kind(lossy.history, FaultStruck)}
    assert set(struck) == per_link


@pytest.mark.parametrize("world", ["simulated", pytest.param("emulated", marks=needs_root)])
@pytest.mark.parametrize(
    ("scenario", "changes"),
    [
        ("rack-lossy", ()),
        ("rack-lossy", ("topology.hosts=6", "faults.loss.rate=5%")),
        ("rack-lossy", ("transport.recovery=irn",)),
        ("recursive-doubling-lossy", ()),
        ("switchml-lossy", ()),
        ("atp-lossy", ()),
        ("dlcp-lossy", ()),
    ],
)
def test_packets_sent_again_are_those_of_the_summary(
    tmp_path: Path, scenario: str, changes: tuple[str, ...], world: str
) -> None:
    """And in virtual time no interval has more than the host's link carries in it. Between namespaces a node may
    record late."""
    loaded = load_scenario(scenario, ["job.size=200kB", "dilation=2", *changes], 1, world)
    result = run_scenario(loaded, tmp_path / "run", options=RunOptions(twin=False))
    found = over_time_of(result.history, loaded)
    assert found is not None
    again = found.of("packets sent again")
    total = result.document["metrics"]["retransmissions"]["packets"]
    assert total
    assert sum(map(sum, again.values())) == total
    shortest = packet_times(loaded)
    for host, line in again.items() if world == "simulated" else ():
        assert max(line) <= found.interval_ns / shortest[host] + 1, host
    struck = found.of("hits of faults")
    assert sum(map(sum, struck.values())) == sum(fault["strikes"] for fault in result.document["faults"])


def test_what_left_again_is_counted_until_the_queue_pair_goes_back_again() -> None:
    """It went back behind 500 packets three times, and sent 40, 10 and 30 of them before the next time."""

    def went(t: int, before: int) -> Record:
        return record(t, Retransmission(7, "nak", 1, 500, None, before))

    statistics = RcStatistics(7, 900, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    history = [went(100, 0), went(500, 40), went(600, 50), record(1500, statistics)]
    assert list(resent(history, {"h1": 10.0})) == [
        ("h1", 100, 500, 40), ("h1", 500, 600, 10), ("h1", 600, 900, 30)
    ]  # fmt: skip
    found = over_time(history, packet_ns={"h1": 10.0})
    assert found is not None
    line = found.of("packets sent again")["h1"]
    assert (found.interval_ns, line[9], line[10], line[50], line[60], line[90]) == (10, 0, 1, 1, 1, 0)
    assert sum(line) == 80
    killed = [*history[:2], record(550, NodeExited("h1", -9, True, ""), "world"), went(700, 0), went(800, 5)]
    assert list(resent(killed, {})) == [("h1", 100, 100, 40), ("h1", 700, 700, 5)]


def test_a_fault_that_changed_nothing_after_all_has_no_strike() -> None:
    history = [
        record(10, FaultStruck("nap", "pause", "signal", "h1", "", "", -1, -1, 1), "world"),
        record(900, FaultStruck("nap", "pause", "signal", "h2", "", "", -1, -1, 1), "world"),
        record(1500, FaultMissed("nap", "pause", "h2", "", 1, "nothing was held up"), "world"),
    ]
    found = over_time(history)
    assert found is not None
    assert {name: sum(line) for name, line in found.of("hits of faults").items()} == {"h1": 1}


def test_a_worker_that_begins_again_has_nothing_yet() -> None:
    began = CollectiveStarted(0, 4000, 4)
    history = [
        record(0, began), record(5, MessagePosted(1, 0, 0)), record(10, MessageReceived(1, 0)),
        record(100, NodeExited("h1", -9, True, ""), "world"), record(300, began),
        record(400, MessageReceived(1, 0)), record(1500, NodeExited("h1", 0, True, ""), "world"),
    ]  # fmt: skip
    found = over_time(history)
    assert found is not None
    completed, flying = found.of("gradient of completed messages")["h1"], found.of("posted and not acknowledged")["h1"]
    assert [completed[at] for at in (0, 1, 29, 30, 39, 40, 149)] == [0, 1000, 1000, 0, 0, 1000, 1000]
    assert [flying[at] for at in (0, 9, 10, 149)] == [1000, 1000, 0, 0]


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
