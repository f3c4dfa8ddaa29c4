"""Lines about a trace for people."""

from __future__ import annotations

from typing import Any

from testbed.report.lines import Line
from testbed.terminal.numbers import seconds
from testbed.terminal.words import amount

__all__ = ["trace_lines"]


def trace_lines(metrics: dict[str, Any]) -> list[Line]:
    """`metrics`: of result.json. Communication that no computing hides, and what the critical path consists of."""
    found = metrics.get("trace")
    if found is None:
        return []
    most = max(found["each"], key=lambda each: each["exposed_s"])
    path = found["critical_path"]
    count = len(path["nodes"])
    return [
        Line(
            f"exposed communication: up to {seconds(found['exposed_s'])} ({most['name']} computes "
            f"{seconds(most['computing_s'])})",
            "",
            2,
        ),
        Line(
            f"critical path: {seconds(path['computing_s'])} of computing and {seconds(path['communication_s'])} of "
            f"communication, {amount(count, 'node')}{' or more' if count == 100 else ''}",
            "",
            2,
        ),
    ]
