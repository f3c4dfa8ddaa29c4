"""What people read of where the time of a job went."""

from __future__ import annotations

from typing import Any

import pytest

from testbed.jct import PARTS
from testbed.report.parts import parts_html, parts_line


def _result(jct_s: float | None, path_ns: dict[str, int] | None, unknown: str | None = None) -> dict[str, Any]:
    whole = sum((path_ns or {}).values())
    every = None if path_ns is None else {str(part): path_ns.get(part, 0) for part in PARTS}
    jct = {
        "parts": None if every is None else {part: ns / whole for part, ns in every.items()},
        "path_ns": every,
        "workers_ns": None if every is None else {f"h{number}": every for number in range(1, 71)},
        "unknown": unknown,
    }
    return {"metrics": {"jct_s": jct_s, "jct": jct}}


@pytest.mark.parametrize(
    ("path_ns", "line"),
    [
        ({"serialisation": 610, "timers": 200, "queueing": 190}, "61 % serialisation, 20 % timers, 19 % queueing"),
        ({"serialisation": 998, "credit": 1, "other": 1}, "100 % serialisation, <1 % other"),
        ({"credit": 500, "slowest": 500}, "50 % credit or slots, 50 % the slowest worker"),
        ({"paused": 1000}, "100 % paused"),
    ],
)
def test_the_summary_names_the_parts_from_the_largest(path_ns: dict[str, int], line: str) -> None:
    assert [found.text for found in parts_line(_result(1e-6, path_ns))] == [f"JCT 1.00 us: {line}"]


@pytest.mark.parametrize(
    ("result", "lines"),
    [
        (_result(1e-6, None, "a capture has holes"), ["parts of the JCT: unknown, a capture has holes"]),
        (_result(None, None, "not all workers finished"), []),
        (_result(1e-6, None), []),
        ({"metrics": {"jct_s": 1.0}}, []),
    ],
    ids=["unknown", "no job completion time", "not trusted", "an older result"],
)
def test_no_parts(result: dict[str, Any], lines: list[str]) -> None:
    assert [found.text for found in parts_line(result)] == lines
    assert parts_html(result, {}) == ""


def test_the_page_has_a_bar_for_the_path_and_for_each_worker() -> None:
    page = parts_html(_result(1e-6, {"serialisation": 750, "other": 250}), {})
    assert page.count('class="bar"') == 71
    assert 'aria-label="critical path: 75 % serialisation, 25 % other" title="75 % serialisation, 25 % other"' in page
    assert 'style="width:75.00%' in page
    assert "queueing" not in page
    assert "<details>" not in page


def test_a_rack_is_a_bar_that_opens() -> None:
    racks = {f"h{number}": "s1" if number <= 40 else "s2" for number in range(1, 71)}
    page = parts_html(_result(1e-6, {"serialisation": 750, "other": 250}), racks)
    assert page.count('class="bar"') == 73
    assert page.count("<details>") == 2
    opened = page.split("<details>")[1]
    assert 'aria-label="rack of s1, 40 workers: 75 % serialisation, 25 % other"' in opened.split("</summary>")[0]
    assert opened.split("</summary>")[1].count('class="bar"') == 40
