"""Lanes of runs over datagrams say what the history says."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from testbed.faults.events import FaultStruck
from testbed.history import Record, sort_history
from testbed.plan import make_plan
from testbed.report.timeline import Selection, Timeline, build_timeline, select, timeline_svg, timeline_text
from testbed.scenario import load_scenario
from testbed.worlds.simulated import simulate
from tests.support.records import held
from workloads.datagrams.blocks import ServerStatistics, SlotChanged
from workloads.events import CollectiveCompleted, DatagramStatistics

_SMALL = {
    "atp-two-jobs": ("job.size=20kB", "job.iterations=1"),
    "atp-server-restarted": ("job.size=100kB", "job.iterations=1", "faults[1].from=15ms", "faults[1].until=40ms"),
    "atp-lossy": ("job.size=60kB", "job.iterations=1", "faults[0].rate=5%"),
    "esa-lossy": ("job.size=20kB", "job.iterations=1"),
    "switchml-lossy": ("job.size=20kB", "job.iterations=1"),
    "grid-lossy": ("job.size=20kB", "job.iterations=1"),
}


@cache
def run(name: str, trace: bool = False) -> tuple[list[Record], Timeline]:
    scenario = load_scenario(name, ["world=simulated", f"trace={str(trace).lower()}", *_SMALL.get(name, ())])
    history = sort_history(simulate(make_plan(scenario)))
    return history, build_timeline(history)


def test_each_worker_server_and_switch_has_a_lane() -> None:
    history, timeline = run("atp-two-jobs")
    servers = sorted({record.node for record in history if isinstance(record.event, ServerStatistics)})
    assert servers
    names = {lane.node: lane.name for lane in timeline.qps}
    assert set(names) == {*timeline.hosts, *timeline.switches}
    assert [node for node, name in names.items() if ", server" in name] == servers
    jobs = {r.node: r.event.job for r in history if isinstance(r.event, DatagramStatistics)}
    assert {node: name for node, name in names.items() if ", worker" in name} == {
        node: f"{node}, worker {job}" for node, job in jobs.items()
    }


def test_it_ends_with_the_last_result() -> None:
    """Results are hashed later, and what hosts counted is recorded after that."""
    history, timeline = run("switchml-lossy")
    assert timeline.stop == max(r.event.completed_ns for r in history if isinstance(r.event, CollectiveCompleted))


@pytest.mark.parametrize(
    ("kind", "event"),
    [
        ("timeout", "DatagramResent"),
        ("sum", "BlockSummed"),
        ("replay", "BlockReplayed"),
        ("ignored", "ContributionIgnored"),
    ],
)
def test_every_fact_of_a_node_is_a_mark_of_its_lane(kind: str, event: str) -> None:
    history, timeline = run("atp-lossy")
    also = {"sum": ("PartialSent", "complete"), "replay": ("PartialSent", "repeated")}
    told = Counter(
        r.node
        for r in history
        if (r.name == event and held(r, "cause") in (None, "timeout")) or (r.name, held(r, "reason")) == also.get(kind)
    )
    assert told
    assert told == Counter({lane.node: n for lane in timeline.qps if (n := sum(m.kind == kind for m in lane.marks))})


def test_a_packet_that_was_struck_stands_at_its_host() -> None:
    history, timeline = run("atp-lossy")
    told = Counter(r.event.target.partition("-")[0] for r in history if isinstance(r.event, FaultStruck))
    lanes = {lane.node: sum(mark.kind == "fault" for mark in lane.marks) for lane in timeline.qps}
    assert told == Counter({node: count for node, count in lanes.items() if count})
    assert not timeline.faults.marks


def test_a_trace_shows_slots() -> None:
    history, timeline = run("atp-lossy", trace=True)
    changed = [r for r in history if isinstance(r.event, SlotChanged) and r.node in timeline.switches]
    assert {lane.slot for lane in timeline.slots} == {r.event.slot for r in changed}
    assert sum(len(lane.marks) for lane in timeline.slots) == len(changed)
    for lane in timeline.slots:
        closed = sum(r.event.next == "empty" != r.event.state for r in changed if r.event.slot == lane.slot)
        states = Counter(span.state for span in lane.spans)
        assert states["open"] >= states["done"] > 0
        assert states["open"] >= closed > 0
        assert all(one.stop <= two.start for one, two in zip(lane.spans, lane.spans[1:], strict=False))


def test_the_text_tells_what_a_server_did() -> None:
    _, timeline = run("atp-server-restarted")
    (server,) = [lane.node for lane in timeline.qps if ", server" in lane.name]
    text = timeline_text(select(timeline, Selection(host=server)))
    assert f"\n{server}, server 1\n" in text
    assert "  sum block " in text or "sum" in text
    assert f"{server} killed" in text
    assert "QP" not in text
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("name", ["esa-lossy", "switchml-lossy", "grid-lossy"])
def test_other_protocols_are_drawn(name: str) -> None:
    _, timeline = run(name, trace=name != "grid-lossy")
    text = timeline_text(select(timeline, Selection()))
    assert ", worker 1" in text
    picture = timeline_svg(timeline)
    assert "workers, servers and switches" in picture
    assert "queue pairs" not in picture
