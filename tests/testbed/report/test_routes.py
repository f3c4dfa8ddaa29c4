"""Changes of gradient routes as text."""

from __future__ import annotations

from typing import Any

from testbed.report.routes import route_lines

CHANGE = {"at_s": 0.1, "installed_s": 0.15, "planned_bps": 8e6, "first_sum_s": 0.16, "recovered_s": 0.2}


def told(replans: list[dict[str, Any]], unroutable: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    lines = route_lines({"routing": {"replans": replans, "unroutable": unroutable}})
    return [(line.label, line.text, line.style) for line in lines[2:]]


def test_changes_are_told_by_time() -> None:
    lost = {"at_s": 0.05, "reason": "the server cannot be reached"}
    assert told([CHANGE, CHANGE | {"at_s": 0.3, "installed_s": 0.35, "first_sum_s": None}], [lost]) == [
        ("50.0 ms", "no plan without what is gone, so the routes stayed: the server cannot be reached", "unknown"),
        (
            "100 ms",
            (
                "new routes 50.0 ms later, the first sum by them after 160 ms, at 90 % of the planned 8.00 Mbit/s "
                "after "
                "200 ms"
            ),
            "",
        ),
        ("300 ms", "new routes 50.0 ms later, no sum by them", ""),
    ]


def test_a_job_that_stays_slower_is_told() -> None:
    ((_, text, _),) = told([CHANGE | {"recovered_s": None}], [])
    assert text.endswith("after 160 ms, never at 90 % of the planned 8.00 Mbit/s")


def test_nothing_is_said_where_nothing_changed() -> None:
    assert route_lines({}) == route_lines({"routing": None}) == []
    assert route_lines({"routing": {"replans": [], "unroutable": []}}) == []
