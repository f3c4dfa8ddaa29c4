from __future__ import annotations

import re
from html.parser import HTMLParser

from testbed.report.html import html_report
from tests.support.pages import data_of
from tests.support.results import failing_context, lossy_context, result_of

VOID = {"meta", "br", "input"}


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
    assert not re.search(r"(?:src|href)=|url\(|@import", page)
    assert "default-src 'none'" in page
    assert "Copyright (c) 2022 Leon Sorokin" in page


def test_what_a_run_says_cannot_end_the_script_of_its_page(monkeypatch):
    context = failing_context()
    result = result_of(context, monkeypatch)
    result["faults"] = [fault | {"name": "</script><b>", "active_s": [[0, 1]]} for fault in result["faults"]]
    page = html_report(result, context.history)
    assert page.count("</script>") == 3
    assert result["faults"] == [] or data_of(page)["windows"][0][0] == "</script><b>"


def test_the_timeline_is_in_the_page(tmp_path, monkeypatch):
    context = lossy_context(tmp_path)
    page = html_report(result_of(context, monkeypatch), context.history)
    lanes = [name for _, name in data_of(page)["timeline"]["lanes"]]
    assert {"h1 -> h2", "h2 -> h3", "h3 -> h1"} <= set(lanes)
    table = page.split("<summary>Table: marks of the timeline</summary>")[1].split("</table>")[0]
    heads = re.findall(r'<th scope="col">([^<]*)', table)
    rows = [re.findall(r"<td>(\d+)", row) for row in table.split("<tbody>")[1].split("</tr>")[:-1]]
    assert len(rows) == len(lanes)
    assert sum(int(row[heads.index("fault hit") - 1]) for row in rows) == 3
