"""A timeline as a trace that ui.perfetto.dev and chrome://tracing open (Trace Event Format, JSON).

A node is a process, a lane is a thread. Spans of a lane that overlap get threads of their own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from testbed.report.timeline.lanes import lanes_of
from testbed.report.timeline.model import KINDS, Mark, MessageLife, Span, Timeline

__all__ = ["timeline_trace"]


def timeline_trace(timeline: Timeline) -> str:
    """Ends with a newline. Times are in microseconds, as the format asks."""
    processes, events = dict[str, int](), list[dict[str, Any]]()
    thread = 0
    for lane in lanes_of(timeline, _life):
        if lane.node not in processes:
            processes[lane.node] = len(processes) + 1
            events.append(_named("process_name", processes[lane.node], 0, lane.node))
        for place, row in enumerate(_rows(lane.spans) or [[]]):
            thread += 1
            at = {"pid": processes[lane.node], "tid": thread}
            events.append(_named("thread_name", **at, name=lane.name if not place else f"{lane.name} ({place + 1})"))
            events += (_span(span, at) for span in row)
            events += (_mark(mark, at) for mark in lane.marks if not place)
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, ensure_ascii=False) + "\n"


def _life(life: MessageLife) -> list[Span]:
    return [Span(life.first, life.last if life.gone is None else life.gone, "message", f"message {life.message}")]


def _rows(spans: Iterable[Span]) -> list[list[Span]]:
    """Spans of one row follow each other."""
    rows = list[list[Span]]()
    for span in sorted(spans, key=lambda each: (each.start, each.stop)):
        row = next((row for row in rows if row[-1].stop <= span.start), None)
        if row is None:
            rows.append([span])
        else:
            row.append(span)
    return rows


def _named(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def _span(span: Span, at: dict[str, int]) -> dict[str, Any]:
    took = span.stop - span.start
    return {"ph": "X", "name": span.title, "cat": span.state, "ts": span.start / 1e3, "dur": took / 1e3, **at}


def _mark(mark: Mark, at: dict[str, int]) -> dict[str, Any]:
    found = {"ph": "i", "s": "t", "name": mark.label, "cat": KINDS[mark.kind].meaning, "ts": mark.t / 1e3, **at}
    return {**found, "args": {"detail": mark.detail}} if mark.detail else found
