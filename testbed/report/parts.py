"""Where the time of a job went: a line for the summary, and stacked bars for the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from testbed.report.lines import Line
from testbed.terminal.numbers import seconds

__all__ = ["PARTS_STYLE", "parts_html", "parts_line"]

PARTS_STYLE = """
.parts{display:grid;grid-template-columns:max-content 1fr;gap:.25rem .6rem;align-items:center;font-size:.85rem}.parts .bar{display:flex;height:1.15rem;border-radius:3px;overflow:hidden}
.parts .bar i{display:block;height:100%;box-shadow:inset -1px 0 #fff8}.legend{display:flex;flex-wrap:wrap;gap:.1rem 1rem;font-size:.85rem;margin:.4rem 0}.legend i{display:inline-block;width:.9rem;height:.9rem;vertical-align:-2px;margin-right:.35rem}
"""  # noqa: E501
_WORDS = {
    "credit": "credit or slots",
    "slowest": "the slowest worker",
}
_COLOURS = {
    "computing": "#f0e442", "serialisation": "#0072b2", "propagation": "#56b4e9", "queueing": "#e69f00",
    "credit": "#cc79a7", "timers": "#d55e00", "slowest": "#009e73", "paused": "#444444", "other": "#aaaaaa",
}  # fmt: skip
"""The palette of Okabe and Ito, which colour-blind readers can tell apart."""
_MOST_BARS = 64
_SHOWN = 0.005
"""Share from which the summary names a part. It names `other` always, and the largest part."""


def parts_line(result: dict[str, Any]) -> list[Line]:
    """Empty where the job did not complete, or its time is not trusted."""
    metrics = result["metrics"]
    jct, found = metrics["jct_s"], metrics.get("jct", {})
    if jct is None:
        return []
    if found.get("parts") is None:
        reason = found.get("unknown")
        return [Line(f"parts of the JCT: unknown, {reason}", "dim", 2)] if reason else []
    return [Line(f"JCT {seconds(jct)}: {_shares(found['parts'])}", "", 2)]


def parts_html(result: dict[str, Any]) -> str:
    """A bar for the critical path and for each worker. Empty where the parts are unknown."""
    found = result["metrics"].get("jct", {})
    if not found.get("path_ns"):
        return ""
    workers = found["workers_ns"]
    rows = [("critical path", found["path_ns"]), *list(workers.items())[:_MOST_BARS]]
    used = [part for part in _COLOURS if any(parts[part] for _, parts in rows)]
    legend = "".join(
        f'<span><i style="background:{_COLOURS[part]}"></i>{escape(_WORDS.get(part, part))}</span>' for part in used
    )
    more = len(workers) - _MOST_BARS
    note = f'<p class="dim">{more} more workers are in result.json.</p>\n' if more > 0 else ""
    bars = "\n".join(_bar(name, parts) for name, parts in rows)
    return (
        f'<h2>Where the time went</h2>\n<div class="legend">{legend}</div>\n<div class="parts">\n{bars}\n</div>\n{note}'
    )


def _bar(name: str, parts: Mapping[str, int]) -> str:
    whole = sum(parts.values()) or 1
    label = f"{name}: {_shares({part: ns / whole for part, ns in parts.items()})}"
    return (
        f'<span>{escape(name)}</span><div class="bar" role="img" aria-label="{escape(label)}">'
        f"{''.join(_pieces(parts, whole))}</div>"
    )


def _pieces(parts: Mapping[str, int], whole: int) -> Iterator[str]:
    for part, colour in _COLOURS.items():
        if parts[part]:
            said = f"{_WORDS.get(part, part)}: {seconds(parts[part] / 1e9)} ({_percent(parts[part] / whole)})"
            yield f'<i style="width:{100 * parts[part] / whole:.4f}%;background:{colour}" title="{escape(said)}"></i>'


def _shares(parts: Mapping[str, float]) -> str:
    found = sorted(parts.items(), key=lambda item: -item[1])
    named = [(part, share) for part, share in found if share >= _SHOWN or (part == "other" and share)]
    return ", ".join(f"{_percent(share)} {_WORDS.get(part, part)}" for part, share in named or found[:1])


def _percent(share: float) -> str:
    return "<1 %" if 0 < share < _SHOWN else f"{100 * share:.0f} %"
