"""What lanes say must be what the history says, counted once more in another way."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from switch_nodes.events import MessageAggregated, PacketIgnored, ResultReplayed, SlotStepped
from testbed.faults.events import FaultStruck
from testbed.faults.model import Fault, Kill, LinkDown, Loss, Window
from testbed.history import Record, sort_history
from testbed.plan import Plan, make_plan
from testbed.report.timeline import Timeline, build_timeline, reading
from testbed.worlds.simulated import simulate
from tests.support.records import a_record
from tests.support.simulation import of, rack_links, rack_plan
from topologies import DIRECTIONS, Direction
from workloads.errors import ScenarioError
from workloads.events import MessageAcked, MessagePosted, MessageReceived, Retransmission

LOSS = Loss("loss", rack_links(3), DIRECTIONS, rate=0.03)


@cache
def run(*faults: Fault, trace: bool = False, hosts: int = 3) -> tuple[Plan, list[Record], Timeline]:
    job: dict[str, Any] = {"size_bytes": 100_000, "message_packets": 8, "iterations": 2}
    plan = rack_plan(hosts, faults=faults, job=job)
    plan = make_plan(replace(plan.scenario, trace=trace))
    history = sort_history(simulate(plan))
    return plan, history, build_timeline(history)


@pytest.mark.parametrize("trace", [False, True])
def test_lanes_are_the_connections_of_the_plan(trace: bool) -> None:
    plan, _, timeline = run(LOSS, trace=trace)
    assert timeline.traced == trace
    assert [(lane.name, lane.qpn) for lane in timeline.qps] == [
        pair
        for rank, worker in enumerate(plan.workers)
        for pair in (
            (f"{worker.name} -> h{(rank + 1) % 3 + 1}", worker.to_successor.qpn),
            (f"{worker.name} <- h{(rank - 1) % 3 + 1}", worker.from_predecessor.qpn),
        )
    ]


def test_hosts_stand_in_the_order_of_their_numbers() -> None:
    history: list[Record] = [a_record(0, f"h{n}", "NodeStarted", role="host", backend="virtual") for n in (10, 2, 1)]
    assert build_timeline(history).hosts == ("h1", "h2", "h10")


def test_a_run_with_too_many_messages_is_drawn_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    _, history, whole = run(LOSS)
    monkeypatch.setattr(reading, "_MOST_OF_MESSAGES", 100)
    timeline = build_timeline(history)
    messages = len(of(history, MessageAcked, MessagePosted, MessageReceived))
    assert timeline.notes == [f"{messages:,} records of single messages are not drawn: the run has too many"]
    assert not whole.notes
    told = {"post", "ack", "result"}
    for lane, before in zip(timeline.qps, whole.qps, strict=True):
        assert lane.marks == [mark for mark in before.marks if mark.kind not in told]
        assert not [span for span in lane.spans if span.state == "flight"]


def test_every_fact_of_a_queue_pair_is_a_mark_of_its_lane() -> None:
    _, history, timeline = run(LOSS)
    told = {"MessagePosted": "post", "MessageAcked": "ack", "MessageReceived": "result", "NakSent": "nak"}
    for lane in timeline.qps:
        counts = Counter(mark.kind for mark in lane.marks)
        mine = Counter(record.name for record in history if record.node == lane.node)
        for event, kind in told.items():
            outgoing = event in ("MessagePosted", "MessageAcked")
            assert counts[kind] == (mine[event] if outgoing == (" -> " in lane.name) else 0), (lane.name, event)
        went = sum(counts[kind] for kind in ("back", "timeout"))
        assert went == (mine["Retransmission"] if " -> " in lane.name else 0)
        assert [mark.t for mark in lane.marks] == sorted(mark.t for mark in lane.marks)


def test_a_strike_stands_at_the_end_of_its_connection_whose_link_it_was() -> None:
    up = Loss("up", ("h2-s1",), (Direction.UP,), rate=0.05)
    down = Loss("down", ("h2-s1",), (Direction.DOWN,), rate=0.05)
    _, history, timeline = run(up, down)
    struck = {lane.name: {mark.label for mark in lane.marks if mark.kind == "fault"} for lane in timeline.qps}
    assert {name for name, labels in struck.items() if labels} == {"h2 -> h3", "h2 <- h1"}
    marks = [mark for lane in timeline.qps for mark in lane.marks if mark.kind == "fault"]
    assert len(marks) == len(of(history, FaultStruck)) > 10


def test_messages_come_when_their_sum_was_told() -> None:
    for trace in (False, True):
        _, history, timeline = run(LOSS, trace=trace)
        sums = {record.event.message: record.t for record in of(history, MessageAggregated)}
        assert {life.message: life.complete for life in timeline.messages} == sums
        ignored = Counter(record.event.message for record in of(history, PacketIgnored, ResultReplayed))
        for life in timeline.messages:
            about = sum(life.counts.values()) - life.counts.get("inferred", 0)
            assert about == ignored[life.message]
            assert life.first <= sums[life.message]


def test_messages_of_one_row_do_not_overlap() -> None:
    _, _, timeline = run(LOSS, trace=True)
    over: dict[int, int] = {}
    for life in timeline.messages:
        assert life.first >= over.get(life.row, 0)
        over[life.row] = timeline.stop if life.gone is None else life.gone


def test_slots_are_open_and_done_as_the_steps_say() -> None:
    _, history, timeline = run(LOSS, trace=True)
    for lane in timeline.slots:
        times = {"open": 0, "done": 0}
        state, since = "empty", 0
        for record in of(history, SlotStepped):
            if record.event.slot == lane.slot:
                if state in times:
                    times[state] += record.t - since
                state, since = record.event.next, record.t
        if state in times:
            times[state] += timeline.stop - since
        spans = {name: sum(span.stop - span.start for span in lane.spans if span.state == name) for name in times}
        assert spans == times, lane.name


def test_a_message_that_stalls_says_who_is_missing() -> None:
    cut = LinkDown("cut", ("h2-s1",), (Direction.UP,), Window(2_000_000, None))
    _, _, timeline = run(cut, trace=True)
    stuck = [life for life in timeline.messages if life.complete is None]
    assert stuck
    assert {life.missing.partition(" lacks ")[2] for life in stuck} == {"h2"}
    lane = next(lane for lane in timeline.qps if lane.name == "h2 -> h3")
    assert [span.state for span in lane.spans][-1] in ("error", "flight")
    assert timeline.faults.spans[0].title == "link_down 'cut' at h2-s1"


def test_what_a_killed_switch_held_is_lost() -> None:
    _, _, timeline = run(Kill("dead", "s1", Window(3_000_000, 50_000_000)), trace=True)
    lost = [life for life in timeline.messages if life.how == "lost"]
    assert lost
    assert {life.gone for life in lost} == {3_000_000}
    assert all(span.stop <= 3_000_000 or span.start >= 50_000_000 for lane in timeline.slots for span in lane.spans)
    assert [(span.start, span.stop) for span in timeline.faults.spans] == [(3_000_000, 50_000_000)]


def test_a_killed_sender_waits_for_nothing_any_more() -> None:
    _, _, timeline = run(Kill("dead", "h2", Window(3_000_000, None)), trace=True)
    lane = next(lane for lane in timeline.qps if lane.name == "h2 -> h3")
    assert {span.state for span in lane.spans if span.stop == 3_000_000} == {"sending", "flight"}
    assert all(span.stop <= 3_000_000 for span in lane.spans)


def test_states_of_a_traced_sender_cover_what_it_waited_for() -> None:
    _, history, timeline = run(LOSS, trace=True)
    lane = timeline.qps[0]
    retrying = [(span.start, span.stop) for span in lane.spans if span.state == "retrying"]
    back = [record.t for record in of(history, Retransmission) if record.node == lane.node]
    assert retrying
    assert {start for start, _ in retrying} <= set(back)
    assert all(stop <= start for (_, stop), (start, _) in pairwise(retrying))


def test_an_empty_history_is_an_empty_timeline() -> None:
    timeline = build_timeline([])
    assert (timeline.hosts, timeline.qps, timeline.stop) == ((), [], 0)


def test_a_run_in_phases_is_refused_rather_than_drawn_as_one_ring() -> None:
    phase = a_record(0, "h1", "PhaseStarted", iteration=0, phase="netreduce", bytes=4, messages=1)
    with pytest.raises(ScenarioError, match="a timeline shows one ring; found a run in phases, with a ring for each"):
        build_timeline([phase])
