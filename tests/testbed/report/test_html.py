from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

from testbed.report import html
from testbed.report.html import html_report
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


def test_the_timeline_is_in_the_page(tmp_path, monkeypatch):
    context = lossy_context(tmp_path)
    page = html_report(result_of(context, monkeypatch), context.history).split("<h2>Timeline</h2>")[1]
    drawing = page[page.index("<svg") : page.index("</svg>") + 6]
    texts = [element.text for element in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")]
    assert {"h1 -> h2", "h2 -> h3", "h3 -> h1", "fault hit"} <= set(texts)


def test_a_timeline_that_is_too_large_is_named_instead(tmp_path, monkeypatch):
    context = lossy_context(tmp_path)
    monkeypatch.setattr(html, "_MOST_BYTES", 1000)
    page = html_report(result_of(context, monkeypatch), context.history).split("<h2>Timeline</h2>")[1]
    assert "<svg" not in page
    assert "<code>tb timeline RUN_DIR --format svg --out FILE</code> draws it" in page
