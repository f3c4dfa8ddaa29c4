"""report.html: one file without anything from outside, with a timeline of the run."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from testbed.history import Record
from testbed.report.summary import Line, summary_lines

__all__ = ["html_report", "timeline_svg"]

_CSS = """
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.3rem}h2{font-size:1.05rem;margin:1.4rem 0 .3rem}p{margin:.15rem 0}.label{display:inline-block;font-weight:600}
.pass .label,.verdict.pass{color:#176f2c}.fail .label,.verdict.fail{color:#b3151b}.unknown .label,.unknown,.verdict.unknown{color:#8a5a00}
.skipped,.dim{color:#5c6670}.verdict{font-size:1.2rem;font-weight:700;border:2px solid;border-radius:6px;padding:.5rem 1rem;margin:1rem 0}
svg{width:100%;height:auto;border:1px solid #d5dae0;border-radius:6px}code{background:#f1f3f5;padding:.1rem .3rem}
table{border-collapse:collapse}td{padding:.1rem .8rem .1rem 0;vertical-align:top}
@media(prefers-color-scheme:dark){body{color:#e6e9ec;background:#14171a}svg{border-color:#3a4046;background:#e6e9ec}code{background:#272c31}
.pass .label,.verdict.pass{color:#6bd685}.fail .label,.verdict.fail{color:#ff8a8a}.unknown .label,.unknown,.verdict.unknown{color:#e6b455}.skipped,.dim{color:#9aa4ad}}
"""
_WIDTH, _LEFT, _RIGHT, _LANE, _TOP = 1000, 110, 20, 26, 34
_BINS = 400
_MARKS = {
    "MessageReceived": ("#2f6fb3", "result received"),
    "Retransmission": ("#d9822b", "sender goes back"),
    "FaultStruck": ("#b3151b", "fault strikes"),
    "QpFailed": ("#000000", "queue pair fails"),
}


def html_report(result: dict[str, Any], history: Sequence[Record]) -> str:
    """`result`: the document of result.json."""
    title = f"{result['scenario']}, {result['world']}, seed {result['seed']}: {result['verdict']}"
    body = [f'<div class="verdict {result["verdict"]}">{_verdict_text(result)}</div>']
    for line in summary_lines(result):
        if not line.label.startswith("Verdict: "):
            body.append(_paragraph(line))
    environment = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in result["environment"].items()
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_CSS}</style></head><body>\n"
        + "\n".join(part for part in body if part)
        + f"\n<h2>Timeline</h2>\n{timeline_svg(history)}\n"
        + f"<h2>Replay</h2>\n<p><code>{escape(result['replay'])}</code></p>\n"
        + (f"<h2>Environment</h2>\n<table>{environment}</table>\n" if environment else "")
        + "</body></html>\n"
    )


def _verdict_text(result: dict[str, Any]) -> str:
    line = next(line for line in summary_lines(result) if line.label.startswith("Verdict: "))
    return escape(f"{line.label}: {line.text}".replace("Verdict: ", "", 1))


def _paragraph(line: Line) -> str:
    if not line.text and not line.label:
        return ""
    if line.style in ("title", "head"):
        tag = "h1" if line.style == "title" else "h2"
        return f"<{tag}>{escape(line.text)}</{tag}>"
    label = (
        f'<span class="label" style="min-width:{line.label_width}ch">{escape(line.label)}</span> ' if line.label else ""
    )
    return f'<p class="{line.style}" style="margin-left:{line.indent}ch">{label}{escape(line.text)}</p>'


def timeline_svg(history: Sequence[Record]) -> str:
    """One lane per node that did something, time from left to right; marks that fall on the same pixel are one, the
    taller the more there are. The shaded spans are iterations."""
    end_ns = max((int(record["t"]) for record in history), default=0) or 1
    lanes: dict[str, dict[tuple[str, int], int]] = {}
    spans: dict[int, list[int]] = {}
    for record in history:
        event = record["event"]
        if event in ("CollectiveStarted", "CollectiveCompleted"):
            spans.setdefault(record["iteration"], []).append(record["t"])
        if event in _MARKS:
            lane = record["target"] if event == "FaultStruck" else record["node"]
            counts = lanes.setdefault(lane, {})
            place = event, max(0, int(record["t"])) * (_BINS - 1) // end_ns
            counts[place] = counts.get(place, 0) + 1
    height = _TOP + _LANE * len(lanes) + 40
    inner = _WIDTH - _LEFT - _RIGHT

    def x(time_ns: float) -> float:
        return _LEFT + inner * max(0.0, time_ns) / end_ns

    parts = [f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="timeline of the run" font-size="12">']
    for iteration, times in sorted(spans.items())[:200]:
        left, right = x(min(times)), x(max(times))
        fill = "#eef3f8" if iteration % 2 else "#dfe8f1"
        parts.append(
            f'<rect x="{left:.1f}" y="{_TOP - 6}" width="{max(1.0, right - left):.1f}" '
            f'height="{_LANE * len(lanes) + 6}" fill="{fill}"><title>iteration {iteration}</title></rect>'
        )
    for row, (name, counts) in enumerate(sorted(lanes.items())):
        base = _TOP + _LANE * (row + 1) - 4
        parts.append(f'<text x="8" y="{base - 4}">{escape(name)}</text>')
        parts.append(f'<line x1="{_LEFT}" y1="{base}" x2="{_WIDTH - _RIGHT}" y2="{base}" stroke="#b6bec6"/>')
        most = max(counts.values())
        for (event, mark), count in sorted(counts.items()):
            color, meaning = _MARKS[event]
            tall = 5 + 13 * count / most
            at = _LEFT + inner * mark / (_BINS - 1)
            parts.append(
                f'<rect x="{at:.1f}" y="{base - tall:.1f}" width="2" height="{tall:.1f}" fill="{color}">'
                f"<title>{escape(name)}: {meaning}, {count}x at {mark * end_ns / (_BINS - 1) / 1e9:.3f} s</title></rect>"
            )
    axis = _TOP + _LANE * len(lanes) + 14
    for step in range(6):
        time_ns = end_ns * step / 5
        parts.append(f'<text x="{x(time_ns):.1f}" y="{axis}" text-anchor="middle">{time_ns / 1e9:.2f} s</text>')
    for number, (color, meaning) in enumerate(_MARKS.values()):
        start = _LEFT + 190 * number
        parts.append(f'<rect x="{start}" y="8" width="10" height="10" fill="{color}"/>')
        parts.append(f'<text x="{start + 15}" y="17">{meaning}</text>')
    return "".join(parts) + "</svg>"
