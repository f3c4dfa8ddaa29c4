"""The nodes of a trace as lanes: for each host what it computed, and what it communicated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from testbed.history import Record, of_kind
from testbed.report.timeline.model import Lane, Mark, Span, Timeline
from testbed.report.timeline.naming import Names
from workloads.events import CollectiveCompleted, CollectiveStarted
from workloads.traces.events import TraceNodeEnded
from workloads.traces.model import COMPUTE

__all__ = ["is_of_trace", "trace_timeline"]

_COMPUTES, _COMMUNICATES = "computing", "communication"


def is_of_trace(history: Sequence[Record]) -> bool:
    return bool(of_kind(history, TraceNodeEnded))


def trace_timeline(history: Sequence[Record], names: Names) -> Timeline:
    """Nodes of one host that overlap are on several lanes."""
    ended = of_kind(history, TraceNodeEnded)
    lanes = [lane for host in names.hosts for lane in _lanes(host, [each for each in ended if each.node == host])]
    iterations = list(_iterations(history))
    stop = max([record.t for record in ended] + [span.stop for span in iterations], default=0)
    return Timeline(
        hosts=names.hosts,
        switches=names.switches,
        iterations=iterations,
        faults=Lane("faults", "world"),
        qps=lanes,
        messages=[],
        switch_marks={},
        slots=[],
        start=0,
        stop=stop,
        traced=True,
        lanes_are="nodes of the trace",
    )


def _lanes(host: str, ended: Sequence[Record[TraceNodeEnded]]) -> Iterator[Lane]:
    for what in (_COMPUTES, _COMMUNICATES):
        own = [record for record in ended if (record.event.kind == COMPUTE) == (what == _COMPUTES)]
        for place, row in enumerate(_rows(own)):
            name = f"{host}, {what}" + (f" ({place + 1})" if place else "")
            lane = Lane(name, host)
            for record in row:
                event, start = record.event, record.t - record.event.took_ns
                title = f"{event.kind} {event.name or event.number}"
                lane.spans.append(Span(start, record.t, what, title))
                lane.marks.append(
                    Mark(record.t, "turn" if what == _COMPUTES else "result", f"{event.kind} ends", detail=title)
                )
            yield lane


def _rows(ended: Iterable[Record[TraceNodeEnded]]) -> list[list[Record[TraceNodeEnded]]]:
    """Nodes of one row follow each other."""
    rows: list[list[Record[TraceNodeEnded]]] = []
    for record in sorted(ended, key=lambda each: (each.t - each.event.took_ns, each.t)):
        start = record.t - record.event.took_ns
        row = next((row for row in rows if row[-1].t <= start), None)
        if row is None:
            rows.append([record])
        else:
            row.append(record)
    return rows


def _iterations(history: Sequence[Record]) -> Iterator[Span]:
    """From the first host that began to the last that had its results."""
    begun: dict[int, int] = {}
    over: dict[int, int] = {}
    for started in of_kind(history, CollectiveStarted):
        begun.setdefault(started.event.iteration, started.t)
    for completed in of_kind(history, CollectiveCompleted):
        number = completed.event.iteration
        over[number] = max(over.get(number, 0), completed.event.completed_ns)
    for number, start in begun.items():
        if number in over:
            yield Span(start, over[number], "turn", f"iteration {number}")
