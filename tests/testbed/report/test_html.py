from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

from testbed.report.html import html_report, timeline_svg
from tests.support.results import failing_context, lossy_context, result_of

VOID = {"meta", "br"}


class Balance(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_one_well_formed_file_without_anything_from_outside(monkeypatch):
    context = failing_context()
    page = html_report(result_of(context, monkeypatch), context.history)
    parser = Balance()
    parser.feed(page)
    assert parser.open == []
    text = " ".join(parser.text)
    assert "134 ms <towards> 10.77.0.2" in text
    assert "FAIL: at least one check found a violation" in text
    assert "tb run small --seed 3" in text
    assert not re.search(r"(?:src|href)=|url\(|@import|<script", page)


def test_timeline_has_a_lane_per_node_and_marks(tmp_path, monkeypatch):
    context = lossy_context(tmp_path)
    svg = ElementTree.fromstring(timeline_svg(context.history))
    texts = [element.text for element in svg.iter("text")]
    assert {"h1", "h2", "h3", "h1-s1", "h2-s1"} <= set(texts)
    titles = " ".join(element.text for element in svg.iter("title"))
    assert "h1-s1: fault strikes" in titles
    assert "h2: sender goes back" in titles
    assert "iteration 1" in titles


def test_timeline_stays_small_however_long_the_run():
    history = [
        {"t": number * 1000, "node": "h1", "event": "MessageReceived", "message": number, "crc32": 0}
        for number in range(50_000)
    ]
    assert len(timeline_svg(history)) < 200_000
    ElementTree.fromstring(timeline_svg([]))
