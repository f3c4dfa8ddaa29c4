from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

import pytest

from testbed.faults.model import LinkDown, Window
from testbed.history import Record, sort_history
from testbed.plan import make_plan
from testbed.report.timeline import Selection, build_timeline, select, timeline_svg
from testbed.scenario import load_scenario
from testbed.worlds.simulated import simulate
from tests.support.records import a_record
from tests.testbed.report.timeline.test_reading import LOSS, run
from topologies import Direction

SVG = "{http://www.w3.org/2000/svg}"
CUT = LinkDown("cut", ("h2-s1",), (Direction.UP,), Window(2_000_000, None))


@pytest.mark.parametrize("trace", [False, True])
def test_one_well_formed_picture_without_anything_from_outside(trace: bool) -> None:
    drawing = timeline_svg(select(run(LOSS, trace=trace)[2], Selection()))
    root = ElementTree.fromstring(drawing)
    assert root.tag == f"{SVG}svg"
    assert not re.search(r"href|url\(|@import|<script|<image", drawing)
    texts = {element.text for element in root.iter(f"{SVG}text")}
    assert {"h1 -> h2", "h2 <- h1", "iterations", "fault hit", "sender goes back"} <= texts
    assert any("--set trace=true" in (text or "") for text in texts) != trace


def test_every_strike_is_in_a_mark_or_counted_by_it() -> None:
    timeline = run(LOSS)[2]
    root = ElementTree.fromstring(timeline_svg(timeline))
    told = 0
    for title in root.iter(f"{SVG}title"):
        lines = (title.text or "").splitlines()
        if "loss at" in lines[0]:
            more = re.match(r"and (\d+) more", lines[-1])
            told += len(lines) - bool(more) + (int(more[1]) if more else 0)
    assert told == Counter(mark.kind for lane in timeline.qps for mark in lane.marks)["fault"] > 20


def test_bars_begin_and_end_where_the_states_did() -> None:
    timeline = select(run(LOSS, trace=True)[2], Selection(slot=3))
    root = ElementTree.fromstring(timeline_svg(timeline))
    bars = [
        rect for rect in root.iter(f"{SVG}rect") if (rect[0].text if len(rect) else "") and "message" in rect[0].text
    ]
    spans = timeline.slots[0].spans
    assert len(bars) == len(spans) > 3
    scale = (1280 - 150 - 16) / (timeline.stop - timeline.start)
    for bar, span in zip(bars, spans, strict=True):
        assert float(bar.get("x", "")) == pytest.approx(150 + span.start * scale, abs=0.06)
        width = max(0.8, (span.stop - span.start) * scale)
        assert float(bar.get("width", "")) == pytest.approx(width, abs=0.11)
        assert bar.get("fill") == {"open": "#f2b84b", "done": "#8ecb9a"}[span.state]


def test_a_message_that_never_completes_stands_out() -> None:
    root = ElementTree.fromstring(timeline_svg(run(CUT, trace=True)[2]))
    red = [rect[0].text or "" for rect in root.iter(f"{SVG}rect") if rect.get("stroke") == "#c81e1e"]
    assert red
    assert all("never summed" in text and "lacks h2" in text for text in red)


def test_the_picture_stays_small_however_long_the_run() -> None:
    history: list[Record] = [
        a_record(number * 1000, "h1", event, message=number, crc32=0, received=0, acked=0)
        for number in range(50_000)
        for event in ("MessagePosted", "MessageAcked", "MessageReceived")
    ]
    assert len(timeline_svg(build_timeline(history))) < 200_000


def test_an_empty_run_is_a_picture_too() -> None:
    ElementTree.fromstring(timeline_svg(select(build_timeline([]), Selection())))


def test_a_run_that_ends_at_its_beginning_has_a_picture_too() -> None:
    scenario = load_scenario("rack", ["time_limit=1us"], 1, world="simulated")
    history = sort_history(simulate(make_plan(scenario)))
    timeline = build_timeline(history)
    assert timeline.start == timeline.stop
    ElementTree.fromstring(timeline_svg(timeline))
