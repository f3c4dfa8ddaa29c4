"""report.html: one file without anything from outside, with a timeline of the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import quote

from testbed.faults.healing import windows_of
from testbed.history import Record
from testbed.report.network import network_html
from testbed.report.parts import PARTS_STYLE, parts_html
from testbed.report.plots import PLOT_STYLE, plots_html
from testbed.report.summary import Line, summary_lines
from testbed.report.timeline import build_timeline, timeline_svg
from testbed.scenario.model import Scenario
from testbed.terminal.numbers import seconds
from workloads.events import PhaseStarted

__all__ = ["About", "html_report", "unfinished_report"]

_CSS = """
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.3rem}h2{font-size:1.05rem;margin:1.4rem 0 .3rem}p{margin:.15rem 0}.labelled{display:flex;flex-wrap:wrap}.label{font-weight:600;margin-right:1ch}
.labelled .text{flex:1 1 18rem}.pass .label,.verdict.pass{color:#176f2c}.fail .label,.verdict.fail{color:#b3151b}.unknown .label,.unknown,.verdict.unknown{color:#8a5a00}
.skipped,.dim{color:#5c6670}.verdict{font-size:1.2rem;font-weight:700;border:2px solid;border-radius:6px;padding:.5rem 1rem;margin:1rem 0}
code{background:#f1f3f5;padding:.1rem .3rem;overflow-wrap:anywhere}a{color:#0b57b0}
.wide{overflow-x:auto}.wide svg{display:block;border:1px solid #d5dae0;border-radius:6px;box-sizing:border-box}.wide td{white-space:nowrap}
.tall svg{width:100%;min-width:60rem;height:auto}
table{border-collapse:collapse}td{padding:.1rem .8rem .1rem 0;vertical-align:top;overflow-wrap:anywhere}td:first-child{white-space:nowrap}
@media(max-width:40rem){p{margin-left:0!important}.label{min-width:0!important}.labelled .text{flex-basis:100%}}
@media(prefers-color-scheme:dark){body{color:#e6e9ec;background:#14171a}.wide svg{border-color:#3a4046}code{background:#272c31}a{color:#7db7ff}
.pass .label,.verdict.pass{color:#6bd685}.fail .label,.verdict.fail{color:#ff8a8a}.unknown .label,.unknown,.verdict.unknown{color:#e6b455}.skipped,.dim{color:#9aa4ad}}
"""  # noqa: E501
_MOST_BYTES, _MOST_EVENTS = 2_000_000, 50_000
"""most bytes of the timeline: a larger one is not opened in good time"""


@dataclass(frozen=True, slots=True)
class About:
    """What a page shows of its run in addition to what the run found."""

    when: str
    """time when the run began"""
    captures: tuple[str, ...] = ()
    """files, as the page links to them"""


def html_report(
    result: dict[str, Any], history: Sequence[Record], scenario: Scenario | None = None, about: About | None = None
) -> str:
    """`result`: the document of result.json. `scenario`: where it is known, its network is drawn."""
    title = f"{result['scenario']}, {result['world']}, seed {result['seed']}: {result['verdict']}"
    body = [f'<div class="verdict {result["verdict"]}">{_verdict_text(result)}</div>']
    body.append(_about(about, result["environment"].get("version", "")))
    for line in summary_lines(result):
        if not line.label.startswith("Verdict: "):
            body.append(_paragraph(line))
    environment = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in result["environment"].items()
    )
    return _page(
        title,
        "\n".join(part for part in body if part)
        + "\n"
        + parts_html(result)
        + plots_html(history, result["faults"], scenario, rates=result["metrics"]["unreliable"] is None)
        + ("" if scenario is None else network_html(scenario, history))
        + f"<h2>Timeline</h2>\n{_timeline(history)}\n"
        + _captures(about)
        + f"<h2>Replay</h2>\n<p><code>{escape(result['replay'])}</code></p>\n"
        + (f"<h2>Environment</h2>\n<table>{environment}</table>\n" if environment else ""),
    )


def _about(about: About | None, version: str = "") -> str:
    if about is None:
        return ""
    by = f", by ina-testbed {version}" if version else ""
    return f'<p class="dim">It began {escape(about.when + by)}.</p>'


def _captures(about: About | None) -> str:
    if about is None or not about.captures:
        return ""
    links = ", ".join(f'<a href="{quote(path)}">{escape(path)}</a>' for path in about.captures)
    return f"<h2>Captures</h2>\n<p>{links}</p>\n"


def unfinished_report(scenario: Scenario, history: Sequence[Record], replay: str, about: About | None = None) -> str:
    """Of a run that was killed, or still goes on: what it reported until then. It has no verdict."""
    title = f"{scenario.name}, {scenario.world}, seed {scenario.seed}: did not end"
    last = max((record.t for record in history), default=0) / 1e9
    extent = f"{len(history):,} events are there, the last one of {seconds(last)}. Nothing was judged."
    windows: list[dict[str, Any]] = [
        {"name": fault.name, "active_s": [[since / 1e9, until / 1e9] for since, until in windows_of(fault)]}
        for fault in scenario.faults
    ]
    return _page(
        title,
        f"<h1>{escape(title)}</h1>\n"
        '<div class="verdict unknown">This run did not end: it was killed, or still goes on</div>\n'
        f"<p>{escape(extent)}</p>\n{_about(about)}{plots_html(history, windows, scenario)}"
        f"{network_html(scenario, history)}"
        f"<h2>Timeline</h2>\n{_timeline(history)}\n{_captures(about)}<h2>Replay</h2>\n<p><code>{escape(replay)}</code></p>\n",
    )


def _page(title: str, body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_CSS}{PLOT_STYLE}{PARTS_STYLE}</style></head><body>\n{body}</body></html>\n"
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
    if not line.label:
        return f'<p class="{line.style}" style="margin-left:{line.indent}ch">{escape(line.text)}</p>'
    return (
        f'<p class="labelled {line.style}" style="margin-left:{line.indent}ch"><span class="label" '
        f'style="min-width:{line.label_width}ch">{escape(line.label)}</span>'
        f'<span class="text">{escape(line.text)}</span></p>'
    )


def _timeline(history: Sequence[Record]) -> str:
    if any(isinstance(record.event, PhaseStarted) for record in history):
        return "<p>Timelines show one ring; this run has phases, with a ring for each.</p>"
    drawing = "" if len(history) > _MOST_EVENTS else timeline_svg(build_timeline(history))
    if not drawing or len(drawing) > _MOST_BYTES:
        return "<p>Too much for this page: <code>tb timeline RUN_DIR --format svg --out FILE</code> draws it.</p>"
    return f'<div class="wide tall">{drawing}</div>'
