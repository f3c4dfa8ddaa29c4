"""report.html: one file without anything from outside, with charts over time and a timeline of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any
from urllib.parse import quote

from testbed.faults.healing import windows_of
from testbed.figures.over_time import OverTime
from testbed.history import Record
from testbed.report.assets import script_of, style
from testbed.report.charts import FINER, charts_data, charts_html, fine_figures, slowest_worker
from testbed.report.charts import ChartLine as ChartLine
from testbed.report.lanes import timeline_page
from testbed.report.links import links_data, links_html
from testbed.report.network import network_html
from testbed.report.parts import parts_html
from testbed.report.racks import racks_of
from testbed.report.summary import Line, summary_lines
from testbed.scenario.model import Scenario
from testbed.terminal.numbers import nanoseconds, seconds

__all__ = ["About", "html_report", "unfinished_report"]

_KEYS = (
    "Drag over a chart to zoom, with Shift to move; double-click for the whole run. Keys: + and - zoom, arrows move, 0 "
    "shows the whole run, Shift with arrows reads values."
)


@dataclass(frozen=True, slots=True)
class About:
    """What a page shows of its run in addition to what the run found."""

    when: str
    """time when the run began"""
    captures: tuple[str, ...] = ()
    """files, as the page links to them"""
    reference: Mapping[str, Sequence[ChartLine]] = field(default_factory=dict)
    """by title of a chart, what the reference run in virtual time has"""


def html_report(
    result: dict[str, Any], history: Sequence[Record], scenario: Scenario | None = None, about: About | None = None
) -> str:
    """`result`: the document of result.json. `scenario`: where it is known, its network and links are shown."""
    title = f"{result['scenario']}, {result['world']}, seed {result['seed']}: {result['verdict']}"
    body = [f'<div class="verdict {result["verdict"]}">{_verdict_text(result)}</div>']
    body.append(_about(about, result["environment"].get("version", "")))
    for line in summary_lines(result):
        if not line.label.startswith("Verdict: "):
            body.append(_paragraph(line))
    environment = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in result["environment"].items()
    )
    metrics, references_s = result["metrics"], (result.get("twin") or {}).get("jct_s") or [None]
    trusted = metrics["unreliable"] is None
    drawn, data = _drawn(
        history,
        result["faults"],
        scenario,
        about,
        rates=trusted,
        duration_s=metrics["duration_s"],
    )
    return _page(
        title,
        "\n".join(part for part in body if part)
        + "\n"
        + parts_html(result, racks_of(scenario))
        + drawn
        + _captures(about)
        + f"<h2>Replay</h2>\n<p><code>{escape(result['replay'])}</code></p>\n"
        + (f'<h2>Environment</h2>\n<table class="environment">{environment}</table>\n' if environment else ""),
        data | {"reference_s": references_s[0]},
    )


def _drawn(
    history: Sequence[Record],
    faults: Sequence[dict[str, Any]],
    scenario: Scenario | None,
    about: About | None,
    *,
    rates: bool,
    duration_s: float | None,
) -> tuple[str, dict[str, Any]]:
    """-> (HTML of charts, links, network and timeline; data for the script). `faults`: of result.json, whose windows
    are shown. `rates`: whether what happened per second is trusted."""
    found, slowest, racks = fine_figures(history, scenario), slowest_worker(history), racks_of(scenario)
    reference = {} if about is None else about.reference
    lanes, timeline = timeline_page(history, racks)
    end_s = 0.0 if found is None else found.end_ns / 1e9
    windows = [[fault["name"], since, until] for fault in faults for since, until in fault["active_s"] if since < end_s]
    parts = [_over_time(found, slowest, windows, with_reference=bool(reference), rates=rates)]
    if scenario is not None:
        parts += [links_html(scenario, history, found, duration_s, racks), network_html(scenario, history, racks)]
    parts.append(f"<h2>Timeline</h2>\n{lanes}\n")
    data: dict[str, Any] = {
        "end_s": end_s,
        "windows": windows,
        "interval_s": 0 if found is None else found.interval_ns / 1e9,
        "charts": [] if found is None else list(charts_data(found, slowest, reference, rates=rates)),
        "links": {} if scenario is None else links_data(scenario, found),
        "timeline": timeline,
    }
    return "".join(parts), data


def _over_time(
    found: OverTime | None, slowest: str, windows: Sequence[Sequence[Any]], *, with_reference: bool, rates: bool
) -> str:
    if found is None or not found.series:
        return ""
    caption = (
        f"Counted every {nanoseconds(FINER * found.interval_ns)} from the history of events, and every "
        f"{nanoseconds(found.interval_ns)} when zoomed. {_looks(found)}"
    )
    if windows:
        caption += f" Shaded: active times of {', '.join(dict.fromkeys(name for name, _, _ in windows))}."
    if with_reference:
        caption += " Dashed: the same run in virtual time, which ended at the dotted line."
    return (
        f'<h2>Over time</h2>\n<p class="dim">{escape(caption)}</p>\n<p class="dim">{escape(_KEYS)}</p>\n'
        "<noscript><p>Charts need JavaScript. The tables have their numbers.</p></noscript>\n"
        f'<div id="tools"></div>\n{charts_html(found, slowest, rates=rates)}\n'
    )


def _looks(found: OverTime) -> str:
    """Where queues, slots and marks come from."""
    if not found.sampled_ns:
        return "Queues, slots and marks were not looked at."
    first, last = found.sampled_ns[0], found.sampled_ns[-1]
    slower = f", at the end every {nanoseconds(last)}" if last != first else ""
    return f"Queues of switches, slots and marks were looked at every {nanoseconds(first)}{slower}."


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
    drawn, data = _drawn(history, windows, scenario, about, rates=True, duration_s=None)
    return _page(
        title,
        f"<h1>{escape(title)}</h1>\n"
        '<div class="verdict unknown">This run did not end: it was killed, or still goes on</div>\n'
        f"<p>{escape(extent)}</p>\n{_about(about)}{drawn}"
        f"{_captures(about)}<h2>Replay</h2>\n<p><code>{escape(replay)}</code></p>\n",
        data,
    )


def _page(title: str, body: str, data: dict[str, Any]) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title>{style()}</head><body>\n{body}{script_of(data)}</body></html>\n"
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
