"""What each worker did and waited for, from the start of the traffic to its last result."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from itertools import chain
from operator import attrgetter, itemgetter

from testbed.jct.hops import Hop
from testbed.jct.hosts import cut
from testbed.jct.model import JctPart, Span
from testbed.jct.paused import during
from testbed.jct.walk import Walk

__all__ = ["Timelines"]

_begin = itemgetter(1)
_SERIALISATION = JctPart.SERIALISATION
_IN_FLIGHT = (JctPart.SERIALISATION, JctPart.PROPAGATION, JctPart.QUEUEING)
_ROUNDING = 1
"""ns: the end of a frame is rounded, and links of different rates round differently"""


class _Back:
    """How what ended a wait came to be."""

    __slots__ = ("host", "is_own", "left_at", "met_at", "spans")

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.is_own = False
        """it followed from a frame of the same worker"""
        self.met_at: int | None = None
        """when it came to the node at which the worker's last frame lay"""
        self.host, self.left_at = "", 0
        """the first other host on the way back (empty: none), and when the frame left it"""


class Timelines:
    """Of the workers of one run."""

    def __init__(self, walk: Walk, workers: Collection[str]) -> None:
        self._walk, self._workers = walk, frozenset(workers)
        self._data = {name: [hop for hop in walk.hops.sent.get(name, ()) if hop.is_data] for name in workers}
        self._begins = {name: [hop.begins for hop in data] for name, data in self._data.items()}
        self._ends = {name: [hop.ends for hop in data] for name, data in self._data.items()}

    def of(self, worker: str, arrival: int, until: int) -> list[Span]:
        """Spans that cover all the time from the arrival of its job to `until` once, in no order."""
        cursor = busy_from = min(arrival, until)
        hops, found = self._walk.hops, list[Span]()
        own, came = hops.sent.get(worker, []), hops.came.get(worker, [])
        for hop in sorted((*own, *came), key=attrgetter("begins", "ends")):
            begins, ends = min(hop.begins, until), min(hop.ends, until)
            if begins > cursor + _ROUNDING:
                found.append((_SERIALISATION, busy_from, cursor))
                found += self._gap(worker, cursor, begins, hop)
                busy_from = begins
            cursor = max(cursor, ends)
        found.append((_SERIALISATION, busy_from, cursor))
        rest = self._walk.hosts[worker].rest(until - cursor, JctPart.OTHER)
        return found + self._covered(worker, [(rest, cursor, until)])

    def _gap(self, worker: str, since: int, until: int, ended_by: Hop) -> list[Span]:
        """A time in which the worker's links were idle. `ended_by`: the next frame on one of them."""
        if ended_by.source == worker:
            rest = self._walk.hosts[worker].rest(until - since, self._walk.by_rate)
            held = during(self._walk.hosts[worker].held, since, until)
            spans: list[Span] = cut([(rest, since, until)], held)
        else:
            spans = self._wait(worker, since, until, ended_by)
        return self._covered(worker, spans)

    def _covered(self, worker: str, spans: Sequence[Span]) -> list[Span]:
        if not spans:
            return []
        since, until = min([span[1] for span in spans]), max([span[2] for span in spans])
        return [span for span in cut(spans, self._walk.hosts[worker].busy(since, until)) if span[2] > span[1]]

    def _wait(self, worker: str, since: int, until: int, ended_by: Hop) -> list[Span]:
        ahead, lay_from, lay_at = self._ahead(worker, since)
        back = self._back(worker, since, ended_by, lay_at)
        if back.is_own or not ended_by.is_data:
            return self._named(worker, _filled(back.spans, since, until), until)
        if back.met_at is not None:
            began = max(since, back.met_at)  # before `since`: only the way back is left
            lay_from = min(max(since, lay_from), began)
            flight = [*_within(back.spans, began, until), *_within(ahead, since, lay_from)]
            spans = _filled([*flight, (JctPart.SLOWEST, lay_from, began)], since, until)
            return spans if lay_at in self._workers else self._named(worker, spans, until)
        if back.host in self._workers:
            began = min(max(since, back.left_at), until)
            return _filled([(JctPart.SLOWEST, since, began), *_within(back.spans, began, until)], since, until)
        return _filled(back.spans, since, until)

    def _named(self, worker: str, spans: list[Span], until: int) -> list[Span]:
        """A flight is a wait for credit while the worker has more to send in this iteration."""
        if not self._has_more(worker, until):
            return spans
        return [(JctPart.CREDIT if part in _IN_FLIGHT else part, begin, end) for part, begin, end in spans]

    def _has_more(self, worker: str, time: int) -> bool:
        completed = self._walk.hosts[worker].completed
        place = bisect_left(completed, time)
        if place == len(completed):
            return False
        begins = self._begins[worker]
        following = bisect_left(begins, time)
        return following < len(begins) and begins[following] < completed[place]

    def _ahead(self, worker: str, time: int) -> tuple[list[Span], int, str]:
        """Of the last frame with data that the worker had sent by then: its way, and since when it lies where."""
        place = bisect_right(self._ends[worker], time + 1) - 1
        if place < 0:
            return [], time, ""
        hop, spans = self._data[worker][place], list[Span]()
        while True:
            spans += self._walk.flight(hop)
            following = None if hop.is_lost else self._walk.given_for(hop)
            if following is None or following.content != hop.content:  # it waits there, or was summed
                return spans, hop.arrives, hop.target
            if following.given > hop.arrives:
                spans.append((JctPart.OTHER, hop.arrives, following.given))
            hop = following

    def _back(self, worker: str, since: int, ended_by: Hop, lay_at: str) -> _Back:
        found = _Back()
        walk = self._walk
        for step in chain(walk.over(ended_by), walk.back(ended_by.source, ended_by.given, ended_by)):
            if step.span is not None and step.span[2] > since:
                part, begin, end = step.span
                is_theirs = step.node in self._walk.hosts and step.node != worker and part not in _IN_FLIGHT
                found.spans.append((JctPart.SLOWEST if is_theirs else part, begin, end))
            if step.sent is not None and step.node == worker:
                found.is_own = step.time <= since + step.sent.slack
                break
            if step.sent is not None and not found.host and step.node in self._walk.hosts:
                found.host, found.left_at = step.node, step.time
            if step.came is not None and step.node == lay_at and found.met_at is None:
                found.met_at = step.time
            if step.time <= since and found.host and (step.span is not None or step.node != found.host):
                break
        return found


def _within(spans: Sequence[Span], since: int, until: int) -> list[Span]:
    return [(part, max(begin, since), min(end, until)) for part, begin, end in spans if end > since and begin < until]


def _filled(spans: Sequence[Span], since: int, until: int) -> list[Span]:
    """The spans, each time once; time between them is `other`, unless it is that of rounding."""
    found, cursor = list[Span](), since
    for part, begin, end in sorted(_within(spans, since, until), key=_begin):
        if begin > cursor + _ROUNDING:
            found.append((JctPart.OTHER, cursor, begin))
            cursor = begin
        if end > cursor:
            found.append((part, cursor, end))
            cursor = end
    if found and cursor + _ROUNDING >= until > cursor:
        part, begin, _ = found.pop()
        return [*found, (part, begin, until)]
    return [*found, (JctPart.OTHER, cursor, until)] if cursor < until else found
