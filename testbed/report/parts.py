"""Where the time of a job went: a line for the summary, and stacked bars for the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from testbed.report.lines import Line
from testbed.report.racks import by_rack
from testbed.terminal.numbers import seconds
from testbed.terminal.words import amount

__all__ = ["parts_html", "parts_line"]

_WORDS = {
    "credit": "credit or slots",
    "slowest": "the slowest worker",
}
_COLOURS = {
    "computing": "#f0e442", "serialisation": "#0072b2", "propagation": "#56b4e9", "queueing": "#e69f00",
    "credit": "#cc79a7", "timers": "#d55e00", "slowest": "#009e73", "paused": "#444444", "other": "#aaaaaa",
}  # fmt: skip
"""The palette of Okabe and Ito, which colour-blind readers can tell apart."""
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


def parts_html(result: dict[str, Any], racks: Mapping[str, str]) -> str:
    """A bar for the critical path and for each worker. `racks`: by host, where a rack is one bar that opens. Empty
    where the parts are unknown."""
    found = result["metrics"].get("jct", {})
    if not found.get("path_ns"):
        return ""
    workers = found["workers_ns"]
    used = [part for part in _COLOURS if any(parts[part] for parts in (found["path_ns"], *workers.values()))]
    legend = "".join(
        f'<span><i style="background:{_COLOURS[part]}"></i>{escape(_WORDS.get(part, part))}</span>' for part in used
    )
    bars = [f'<div class="parts">{_bar("critical path", found["path_ns"])}</div>']
    for rack, names in by_rack(workers, racks).items():
        rows = "".join(_bar(name, workers[name]) for name in names)
        if rack:
            whole = {part: sum(workers[name][part] for name in names) for part in _COLOURS}
            head = _bar(f"rack of {rack}, {amount(len(names), 'worker')}", whole)
            bars.append(
                f'<details><summary><div class="parts">{head}</div></summary><div class="parts">{rows}</div></details>'
            )
        else:
            bars.append(f'<div class="parts">{rows}</div>')
    return f'<h2>Where the time went</h2>\n<div class="legend">{legend}</div>\n' + "\n".join(bars) + "\n"


def _bar(name: str, parts: Mapping[str, int]) -> str:
    whole = sum(parts.values()) or 1
    shares = _shares({part: ns / whole for part, ns in parts.items()})
    return (
        f'<span>{escape(name)}</span><div class="bar" role="img" aria-label="{escape(f"{name}: {shares}")}" '
        f'title="{escape(shares)}">{"".join(_pieces(parts, whole))}</div>'
    )


def _pieces(parts: Mapping[str, int], whole: int) -> Iterator[str]:
    for part, colour in _COLOURS.items():
        if parts[part]:
            yield f'<i style="width:{100 * parts[part] / whole:.2f}%;background:{colour}"></i>'


def _shares(parts: Mapping[str, float]) -> str:
    found = sorted(parts.items(), key=lambda item: -item[1])
    named = [(part, share) for part, share in found if share >= _SHOWN or (part == "other" and share)]
    return ", ".join(f"{_percent(share)} {_WORDS.get(part, part)}" for part, share in named or found[:1])


def _percent(share: float) -> str:
    return "<1 %" if 0 < share < _SHOWN else f"{100 * share:.0f} %"
