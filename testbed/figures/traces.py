"""What the nodes of a trace took: computing, communication that nothing hid, and the critical path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from testbed.checkers.context import CheckContext
from workloads.traces.events import TraceNodeEnded
from workloads.traces.model import COMPUTE, RECV
from workloads.traces.program import Communication, TracedConfig, trace_in

__all__ = ["CriticalNode", "critical_path", "trace_metrics"]

_SHOWN = 100
"""nodes of the critical path in the metrics, the last ones"""


@dataclass(frozen=True, slots=True)
class CriticalNode:
    """A node on the critical path: what ended last before the next one began."""

    host: str
    event: TraceNodeEnded
    start: int
    """ns since the start of the run; of communication, when its last rank began"""
    stop: int

    @property
    def computes(self) -> bool:
        return self.event.kind == COMPUTE


@dataclass(frozen=True, slots=True)
class _Span:
    event: TraceNodeEnded
    start: int
    stop: int


def trace_metrics(context: CheckContext) -> dict[str, Any] | None:
    """The `trace` of the metrics. None: the job is no trace, or none of its nodes ended. Times of all iterations are
    added up; the critical path is that of the last one."""
    workers = _traced(context)
    ended = context.events(TraceNodeEnded)
    if not workers or not ended:
        return None
    each: dict[str, dict[str, float]] = {}
    for worker in workers:
        own = [record for record in ended if record.node == worker.name]
        computing = _union((r.t - r.event.took_ns, r.t) for r in own if r.event.kind == COMPUTE)
        talking = _union((r.t - r.event.took_ns, r.t) for r in own if r.event.kind != COMPUTE)
        both = _length(_union((*computing, *talking)))
        each[worker.name] = {
            "computing_s": _length(computing) / 1e9,
            "communication_s": _length(talking) / 1e9,
            "exposed_s": (both - _length(computing)) / 1e9,
        }
    path = critical_path(context)
    taken = {
        kind: sum(link.stop - link.start for link in path if link.computes == kind) / 1e9 for kind in (True, False)
    }
    return {
        "exposed_s": max(own["exposed_s"] for own in each.values()),
        "each": [{"name": name, **own} for name, own in each.items()],
        "critical_path": {
            "computing_s": taken[True],
            "communication_s": taken[False],
            "nodes": [
                {
                    "host": link.host,
                    "number": link.event.number,
                    "name": link.event.name,
                    "kind": link.event.kind,
                    "start_s": link.start / 1e9,
                    "took_s": (link.stop - link.start) / 1e9,
                }
                for link in path[-_SHOWN:]
            ],
        },
    }


def critical_path(context: CheckContext) -> list[CriticalNode]:
    """Of the last iteration that a host completed a node of, from its first node to the one that ended last. A message
    counts from the start of its send, a collective from the start of its last rank."""
    return _Walk(context).path()


def _traced(context: CheckContext) -> list[TracedConfig]:
    return [trace for trace in map(trace_in, context.plan.workers) if trace is not None]


class _Walk:
    def __init__(self, context: CheckContext) -> None:
        self._workers = _traced(context)
        ended = context.events(TraceNodeEnded)
        last = max((record.event.iteration for record in ended), default=0)
        rank_of = {worker.name: rank for rank, worker in enumerate(self._workers)}
        self._spans: dict[tuple[int, int], _Span] = {
            (rank_of[record.node], record.event.step): _Span(record.event, record.t - record.event.took_ns, record.t)
            for record in ended
            if record.event.iteration == last and record.node in rank_of
        }
        self._members: dict[int, list[tuple[int, int]]] = {}
        """by the number of an operation: (rank, step) of those that began it"""
        for rank, worker in enumerate(self._workers):
            for place, step in enumerate(worker.steps):
                if step.communication >= 0:
                    number = worker.communications[step.communication].number
                    self._members.setdefault(number, []).append((rank, place))
        self._lanes: dict[tuple[int, int, int], tuple[int, int]] = {}
        """by (rank, lane, end): what was computed there until then"""
        for (rank, place), span in self._spans.items():
            lane = self._workers[rank].steps[place].lane
            if lane >= 0:
                self._lanes[rank, lane, span.stop] = rank, place

    def path(self) -> list[CriticalNode]:
        found: list[CriticalNode] = []
        at = max(self._spans, key=lambda each: self._spans[each].stop, default=None)
        while at is not None:
            span, begun = self._spans[at], self._begun(at)
            start = self._spans[begun].start if begun in self._spans else span.start
            if span.stop > start:
                found.append(CriticalNode(self._workers[at[0]].name, span.event, start, span.stop))
            at = self._before(begun)
        return found[::-1]

    def _begun(self, at: tuple[int, int]) -> tuple[int, int]:
        """What an end waited for: the send of a message, the last rank that began a collective, or the node itself."""
        span = self._spans[at]
        communication = self._communication(at[0], span.event)
        if communication is None or (span.event.kind == RECV and span.stop == span.start):
            return at
        members = [each for each in self._members.get(communication.number, ()) if each in self._spans]
        return max(members, key=lambda each: self._spans[each].start, default=at)

    def _communication(self, rank: int, event: TraceNodeEnded) -> Communication | None:
        return None if event.communication < 0 else self._workers[rank].communications[event.communication]

    def _before(self, at: tuple[int, int]) -> tuple[int, int] | None:
        """What ended last of all that a node waited for."""
        rank, place = at
        step, start = self._workers[rank].steps[place], self._spans[at].start
        known = list(self._reported(rank, (*step.after, *step.after_start)))
        lane = self._lanes.get((rank, step.lane, start))
        known += [lane] if lane is not None and lane != at else []
        known = [each for each in known if self._spans[each].stop <= start and each != at]
        return max(known, key=lambda each: self._spans[each].stop, default=None)

    def _reported(self, rank: int, places: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Nodes that took time, and before those that took none."""
        open_places, seen = list(places), set[int]()
        while open_places:
            place = open_places.pop()
            if place in seen:
                continue
            seen.add(place)
            if (rank, place) in self._spans:
                yield rank, place
            else:
                open_places += self._workers[rank].steps[place].after


def _union(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, with those joined that touch."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], stop)
        else:
            found.append((start, stop))
    return found


def _length(spans: Iterable[tuple[int, int]]) -> int:
    return sum(stop - start for start, stop in spans)
