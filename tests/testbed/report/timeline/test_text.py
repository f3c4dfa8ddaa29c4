from __future__ import annotations

import re
from pathlib import Path

from testbed.faults.events import FaultHealed
from testbed.faults.model import Drop, LinkDown, Match, Window
from testbed.report.timeline import Selection, build_timeline, select, timeline_text
from testbed.worlds.simulated import simulate
from tests.support.simulation import rack_plan
from tests.testbed.report.timeline.test_reading import LOSS, run
from topologies import Direction
from workloads.events import QpStepped

DROP = Drop("gone", ("h2-s1",), (Direction.UP,), match=Match(message=1, packet=2, attempt=1))


def test_one_lost_packet_as_a_person_reads_it() -> None:
    plan = rack_plan(2, faults=(DROP,), job={"size_bytes": 20_000, "message_packets": 8})
    text = timeline_text(select(build_timeline(simulate(plan)), Selection(host="h2")))
    golden = Path(__file__).with_name("one-lost-packet.txt")
    assert text == golden.read_text(encoding="utf-8")


def test_lines_fit_120_columns() -> None:
    for trace in (False, True):
        _, _, timeline = run(LOSS, trace=trace)
        assert max(map(len, timeline_text(select(timeline, Selection())).splitlines())) <= 120


def test_nothing_is_lost_between_marks_and_lines() -> None:
    """Every go-back of a lane is told, alone or in a sum."""
    _, _, timeline = run(LOSS)
    for lane in timeline.qps:
        text = timeline_text(select(timeline, Selection(qpn=lane.qpn)))
        told = 0
        for line in text.splitlines():
            for before, after in re.findall(r"(\d+x )?NAK came, back( \d+x)?", line):
                told += int((before or after).strip(" x") or 1) if before or after else 1
        assert told == sum(mark.label == "NAK came, back" for mark in lane.marks)


def test_a_stall_is_seen_as_a_gap() -> None:
    cut = LinkDown("cut", ("h2-s1",), (Direction.UP,), Window(2_000_000, None))
    _, _, timeline = run(cut)
    text = timeline_text(select(timeline, Selection(host="h1")))
    assert text.count("~ 8.389 ms nothing ~") >= 2
    assert "QP FAILS, RETRY_EXC" in text


def test_without_trace_it_says_how_to_see_more() -> None:
    hint = "--set trace=true"
    assert hint in timeline_text(select(run(LOSS)[2], Selection()))
    assert hint not in timeline_text(select(run(LOSS, trace=True)[2], Selection()))


def test_a_narrow_range_tells_every_step() -> None:
    _, history, timeline = run(LOSS, trace=True)
    lane = timeline.qps[1]
    text = timeline_text(select(timeline, Selection(qpn=lane.qpn, start=2_000_000, stop=2_400_000)))
    wanted = [r for r in history if isinstance(r.event, QpStepped) and r.event.qpn == lane.qpn and 2e6 <= r.t <= 2.4e6]
    assert 0 < len(wanted) <= 60
    assert "ordinary steps" not in text
    for record in wanted:
        assert f"{record.event.state}: {record.event.cause}" in text


def test_what_is_left_out_is_said() -> None:
    _, _, timeline = run(LOSS, trace=True)
    text = timeline_text(select(timeline, Selection()))
    assert "ordinary steps: --from, --to around 60 of them shows each)" in text
    assert f"left out: {len(timeline.slots) - 3} slots that were open for less time (--slot N shows them)" in text
    _, _, many = run(hosts=10)
    assert "left out: 4 queue pairs with less trouble (--host NAME shows them)" in timeline_text(many)


def test_the_window_of_a_fault_is_told_apart_from_its_strikes() -> None:
    """The link is down from 2 to 40 ms; the first packet after that comes when a timer has run out, later."""
    cut = LinkDown("cut", ("h2-s1",), (Direction.UP, Direction.DOWN), Window(2_000_000, 40_000_000))
    _, history, timeline = run(cut)
    healed = [record for record in history if isinstance(record.event, FaultHealed)]
    assert min(record.t for record in healed) > 43_000_000
    assert {(span.start, span.stop) for span in timeline.faults.spans} == {(2_000_000, 40_000_000)}
    text = timeline_text(select(timeline, Selection()))
    assert "40.000 ms healed: link_down 'cut' at h2-s1, since 2 ms" in text


def test_each_flap_is_a_window_of_its_own() -> None:
    flap = LinkDown("flap", ("h2-s1",), window=Window(1_000_000, 2_000_000), count=2, period_ns=3_000_000)
    _, _, timeline = run(flap)
    assert sorted({(span.start, span.stop) for span in timeline.faults.spans}) == [
        (1_000_000, 2_000_000),
        (4_000_000, 5_000_000),
    ]
