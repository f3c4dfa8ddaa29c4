"""The timeline of a page: a place for its drawing, the same as a table, and data for the script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from testbed.history import Record, of_kind
from testbed.report.timeline import build_timeline
from testbed.report.timeline.levels import drawn_lanes, lane_name, timeline_data
from testbed.report.timeline.marks import HIDDEN
from testbed.report.timeline.model import KINDS, Lane
from testbed.report.timeline.traces import is_of_trace
from workloads.events import PhaseStarted

__all__ = ["timeline_page"]


def timeline_page(history: Sequence[Record], racks: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """-> (HTML, data)."""
    if not is_of_trace(history) and of_kind(history, PhaseStarted):
        return "<p>Timelines show one ring; this run has phases, with a ring for each.</p>", {}
    timeline = build_timeline(history)
    lanes = drawn_lanes(timeline, racks)
    steps = "" if timeline.traced else " A run with <code>--set trace=true</code> has every step, too."
    notes = "".join(f" {escape(note)}." for note in timeline.notes)
    drawing = (
        f'<p class="dim">Point at a span or a mark to see what it was.{steps}{notes}</p>\n'
        f'<figure class="chart"><figcaption>lanes over time</figcaption><div id="timeline"></div>'
        f'<details class="alternative" open><summary>Table: marks of the timeline</summary>{_table(lanes)}</details>'
        "</figure>"
    )
    return drawing, timeline_data(timeline, lanes)


def _table(lanes: Sequence[tuple[str, Lane]]) -> str:
    """How many marks of each kind a lane has, or all lanes of a group have."""
    counts = dict[str, Counter[str]]()
    for group, lane in lanes:
        counts.setdefault(group or lane_name(lane), Counter()).update(mark.kind for mark in lane.marks)
    kinds = [kind for kind in KINDS if kind not in HIDDEN and any(found[kind] for found in counts.values())]
    if not kinds:
        return "<p>There are no marks.</p>"
    head = "".join(f'<th scope="col">{escape(KINDS[kind].meaning)}</th>' for kind in kinds)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{found[kind]:,}</td>" for kind in kinds)}</tr>'
        for name, found in counts.items()
    )
    return (
        f'<div class="wide"><table><thead><tr><th scope="col">lane</th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
