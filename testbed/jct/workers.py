"""What each worker did and waited for, from the start of the traffic to its last result."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from testbed.jct.hops import Hop
from testbed.jct.hosts import cut
from testbed.jct.model import Part, Span
from testbed.jct.paused import during
from testbed.jct.walk import Step, Walk

__all__ = ["Timelines"]

_IN_FLIGHT = (Part.SERIALISATION, Part.PROPAGATION, Part.QUEUEING)


@dataclass(slots=True)
class _Back:
    """How what ended a wait came to be."""

    spans: list[Span] = field(default_factory=list)
    is_own: bool = False
    """it followed from a frame of the same worker"""
    met_at: int | None = None
    """when it came to the node at which the worker's last frame lay"""
    host: str = ""
    """the first other host on the way back; empty: none"""
    left_at: int = 0
    """when the frame left that host"""


class Timelines:
    """Of the workers of one run."""

    def __init__(self, walk: Walk, workers: Collection[str]) -> None:
        self._walk, self._workers = walk, frozenset(workers)
        self._data = {name: [hop for hop in walk.hops.sent.get(name, ()) if hop.is_data] for name in workers}

    def of(self, worker: str, arrival: int, until: int) -> Iterator[Span]:
        """Spans that cover all the time from the arrival of its job to `until` once, in no order."""
        cursor = busy_from = min(arrival, until)
        hops = self._walk.hops
        own, came = hops.sent.get(worker, []), hops.came.get(worker, [])
        for hop in sorted((*own, *came), key=attrgetter("begins", "ends")):
            begins, ends = min(hop.begins, until), min(hop.ends, until)
            if begins > cursor + 1:
                yield Part.SERIALISATION, busy_from, cursor
                yield from self._gap(worker, cursor, begins, hop)
                busy_from = begins
            cursor = max(cursor, ends)
        yield Part.SERIALISATION, busy_from, cursor
        rest = self._walk.hosts[worker].rest(until - cursor, Part.OTHER)
        yield from self._covered(worker, [(rest, cursor, until)])

    def _gap(self, worker: str, since: int, until: int, ended_by: Hop) -> Iterator[Span]:
        """A time in which the worker's links were idle. `ended_by`: the next frame on one of them."""
        if ended_by.source == worker:
            rest = self._walk.hosts[worker].rest(until - since, self._walk.by_rate)
            held = during(self._walk.hosts[worker].held, since, until)
            spans: list[Span] = cut([(rest, since, until)], held)
        else:
            spans = self._wait(worker, since, until, ended_by)
        yield from self._covered(worker, spans)

    def _covered(self, worker: str, spans: Sequence[Span]) -> list[Span]:
        host = self._walk.hosts[worker]
        if not spans:
            return []
        since, until = min(span[1] for span in spans), max(span[2] for span in spans)
        return [span for span in cut(spans, host.busy(since, until)) if span[2] > span[1]]

    def _wait(self, worker: str, since: int, until: int, ended_by: Hop) -> list[Span]:
        ahead, lay_from, lay_at = self._ahead(worker, since)
        back = self._back(worker, since, ended_by, lay_at)
        if back.is_own or not ended_by.is_data:
            return self._named(worker, _filled(back.spans, since, until), until)
        if back.met_at is not None:
            began = max(since, back.met_at)  # before `since`: only the way back is left
            lay_from = min(max(since, lay_from), began)
            flight = [*_within(back.spans, began, until), *_within(ahead, since, lay_from)]
            spans = _filled([*flight, (Part.SLOWEST, lay_from, began)], since, until)
            return spans if lay_at in self._workers else self._named(worker, spans, until)
        if back.host in self._workers:
            began = min(max(since, back.left_at), until)
            return _filled([(Part.SLOWEST, since, began), *_within(back.spans, began, until)], since, until)
        return _filled(back.spans, since, until)

    def _named(self, worker: str, spans: list[Span], until: int) -> list[Span]:
        """A flight is a wait for credit while the worker has more to send in this iteration."""
        if not self._has_more(worker, until):
            return spans
        return [(Part.CREDIT if part in _IN_FLIGHT else part, begin, end) for part, begin, end in spans]

    def _has_more(self, worker: str, time: int) -> bool:
        completed = self._walk.hosts[worker].completed
        place = bisect_left(completed, time)
        if place == len(completed):
            return False
        data = self._data[worker]
        following = bisect_left(data, time, key=lambda hop: hop.begins)
        return following < len(data) and data[following].begins < completed[place]

    def _ahead(self, worker: str, time: int) -> tuple[list[Span], int, str]:
        """Of the last frame with data that the worker had sent by then: its way, and since when it lies where."""
        data = self._data[worker]
        place = bisect_right(data, time + 1, key=lambda hop: hop.ends) - 1
        if place < 0:
            return [], time, ""
        hop, spans = data[place], list[Span]()
        while True:
            spans += [step.span for step in self._walk.flight(hop) if step.span is not None]
            following = None if hop.is_lost else self._given_for(hop)
            if following is None or following.content != hop.content:  # it waits there, or was summed
                return spans, hop.arrives, hop.target
            if following.given > hop.arrives:
                spans.append((Part.OTHER, hop.arrives, following.given))
            hop = following

    def _given_for(self, hop: Hop) -> Hop | None:
        """What the switch gave on because it took this frame."""
        given = self._walk.hops.given.get(hop.target, [])
        place = bisect_right(given, hop.taken_as, key=lambda each: each.given_as)
        following = given[place] if place < len(given) else None
        return following if following and self._walk.before_at_switch(hop.target, following) is hop else None

    def _back(self, worker: str, since: int, ended_by: Hop, lay_at: str) -> _Back:
        found = _Back()
        for step in self._steps(ended_by):
            if step.span is not None and step.span[2] > since:
                part, begin, end = step.span
                is_theirs = step.node in self._walk.hosts and step.node != worker and part not in _IN_FLIGHT
                found.spans.append((Part.SLOWEST if is_theirs else part, begin, end))
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

    def _steps(self, ended_by: Hop) -> Iterator[Step]:
        yield from self._walk.over(ended_by)
        yield from self._walk.back(ended_by.source, ended_by.given, ended_by)


def _within(spans: Sequence[Span], since: int, until: int) -> list[Span]:
    return [(part, max(begin, since), min(end, until)) for part, begin, end in spans if end > since and begin < until]


def _filled(spans: Sequence[Span], since: int, until: int) -> list[Span]:
    """The spans, each time once; time between them is `other`."""
    found, cursor = list[Span](), since
    for part, begin, end in sorted(_within(spans, since, until), key=lambda span: span[1]):
        if begin > cursor:
            found.append((Part.OTHER, cursor, begin))
        if end > cursor:
            found.append((part, max(begin, cursor), end))
            cursor = end
    return [*found, (Part.OTHER, cursor, until)] if cursor < until else found
