"""What became of plans of gradient routes when links and switches went away, and came back: as lines of the summary."""

from __future__ import annotations

from typing import Any

from testbed.report.lines import Line
from testbed.terminal.numbers import bits_per_second, seconds

__all__ = ["route_lines"]


def route_lines(metrics: dict[str, Any]) -> list[Line]:
    """`metrics`: of result.json. Empty where nothing changed, or nothing follows a plan."""
    routing = metrics.get("routing") or {}
    changes = [(change["at_s"], _replanned(change), "") for change in routing.get("replans", ())]
    changes += [
        (change["at_s"], f"no plan without what is gone, so the routes stayed: {change['reason']}", "unknown")
        for change in routing.get("unroutable", ())
    ]
    lines = [Line(text, style, 2, seconds(at_s), 10) for at_s, text, style in sorted(changes)]
    return [Line(""), Line("Links and switches that went away or came back", "head"), *lines] if lines else []


def _replanned(change: dict[str, Any]) -> str:
    text = f"new routes {seconds(change['installed_s'] - change['at_s'])} later, "
    if change["first_sum_s"] is None:
        return f"{text}no sum by them"
    text += f"the first sum by them after {seconds(change['first_sum_s'])}"
    if change["recovered_s"] is None:
        return f"{text}, never at 90 % of the planned {bits_per_second(change['planned_bps'])}"
    planned = bits_per_second(change["planned_bps"])
    return f"{text}, at 90 % of the planned {planned} after {seconds(change['recovered_s'])}"
