"""The walk backwards from an event of a node: each time to what happened last before it, and could have caused it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from testbed.jct.hops import Hop, Hops
from testbed.jct.hosts import Host, cut
from testbed.jct.model import Part, Span
from testbed.jct.paused import during

__all__ = ["Step", "Walk"]

_ROUNDING = 1
"""ns by which the duration of a frame may be rounded"""


@dataclass(frozen=True, slots=True)
class Step:
    """One step back."""

    node: str
    """where the walk stands"""
    time: int
    """when"""
    span: Span | None = None
    """what took the time of this step; None: none"""
    sent: Hop | None = None
    """the frame that the node gave then"""
    came: Hop | None = None
    """the frame that arrived there then"""


@dataclass(frozen=True, slots=True)
class _Cause:
    """What happened last at a node, and how long ago."""

    steps: list[Step]
    time: int
    hop: Hop | None = None
    """the frame that came, or that occupied the wire; None: the node itself"""
    by_timer: bool = False


class Walk:
    """Over one run. A Machine acts when a frame comes, when a timer expires and when its wire is free. In virtual time
    it acts at that very moment, elsewhere somewhat later: the time between is `other`."""

    def __init__(self, hops: Hops, hosts: Mapping[str, Host], pauses: Mapping[str, list[Span]], late: int) -> None:
        """`pauses`: of switches. `late`: ns by which a Machine may act later than its cause; 0 in virtual time."""
        self.hops, self.hosts, self._pauses, self._late = hops, hosts, pauses, late
        is_exact = not late
        self._by_switch = Part.TIMERS if is_exact else Part.OTHER
        """part in which a switch waits before it acts without a frame"""
        self.by_rate = Part.CREDIT if is_exact else Part.OTHER
        """part in which a host waits before it sends without a known cause"""

    def to_start(self, host: str, time: int) -> Iterator[Span]:
        """Back to the start of the traffic from something that the host did, but not from a frame that it sent. Spans
        without a gap, the latest first."""
        cursor = time
        for step in self.back(host, time, None):
            if step.span is not None:
                part, since, until = step.span[0], max(0, step.span[1]), min(step.span[2], cursor)
                if since < until:
                    if until < cursor - _ROUNDING:
                        yield Part.OTHER, until, cursor
                        cursor = until
                    yield part, since, cursor
                    cursor = since
            if cursor <= 0:
                return
        yield Part.OTHER, 0, cursor

    def back(self, node: str, time: int, sent: Hop | None) -> Iterator[Step]:
        """`sent`: the frame that the node gave then; None: a host did something else, as to complete. The walk never
        goes forward in time, and passes a frame once at one time: between namespaces, times are not exact, and frames
        of one wire may overlap."""
        by_timer, passed = False, set[int]()
        while True:
            if node in self.hosts:
                cause = self._at_host(node, time, sent, by_timer=by_timer)
            else:
                cause = self._at_switch(node, time, sent)
            if cause is None:
                return
            yield from cause.steps
            hop, by_timer, before = cause.hop, cause.by_timer, time
            if hop is None:
                time, sent = cause.time, None
                continue
            if id(hop) in passed:
                return
            if hop.target == node:
                yield from self.over(hop)
                node, time = hop.source, min(time, hop.given)
            else:
                yield Step(node, hop.begins, (Part.SERIALISATION, hop.begins, hop.ends))
                time = min(time, hop.begins)
            sent = hop
            if time < before:
                passed = set()
            passed.add(id(hop))

    def over(self, hop: Hop) -> Iterator[Step]:
        """Back over a link, to where its sender gave the frame."""
        yield Step(hop.target, hop.arrives, came=hop)
        yield from self.flight(hop)
        yield Step(hop.source, hop.given, sent=hop)

    def flight(self, hop: Hop) -> Iterator[Step]:
        """What the way over a link consists of, the latest first."""
        until = hop.arrives
        for part, since in hop.spans():
            if since < until:
                pauses = list[Span]()
                if part is Part.QUEUEING:
                    pauses = [
                        *self._pauses.get(hop.target, ()),
                        *during(self.hops.paused.get(hop.wire, ()), since, until),
                    ]
                for span in reversed(cut([(part, since, until)], pauses)):
                    yield Step(hop.target, span[1], span)
                until = since

    def before_at_switch(self, node: str, sent: Hop) -> Hop | None:
        """What the switch took last before it gave this frame. Of frames that it took in one moment: this very frame,
        where it is one of them."""
        taken = self.hops.taken.get(node, [])
        place = bisect_left(taken, sent.given_as, key=lambda hop: hop.taken_as) - 1
        if place < 0:
            return None
        last = taken[place]
        while place >= 0 and taken[place].arrives >= last.arrives:
            if taken[place].key == sent.key:
                return taken[place]
            place -= 1
        return last

    def _at_switch(self, node: str, time: int, sent: Hop | None) -> _Cause | None:
        hop = None if sent is None or sent.given_as < 0 else self.before_at_switch(node, sent)
        if hop is None:
            return None
        steps = []
        if hop.arrives < time:
            spans = cut([(self._by_switch, hop.arrives, time)], self._pauses.get(node, ()))
            steps = [Step(node, span[1], span) for span in reversed(spans)]
        return _Cause(steps, hop.arrives, hop)

    def _at_host(self, node: str, time: int, sent: Hop | None, *, by_timer: bool) -> _Cause | None:
        host, came = self.hosts[node], self.hops.came.get(node, [])
        slack = _ROUNDING if sent is None else sent.slack
        place = bisect_right(came, time + slack, key=lambda hop: hop.arrives)
        arrival = came[place - 1] if place else None
        wire = self.hops.before(sent) if sent is not None else self._on_wire(node, time) if by_timer else None
        own = host.ended_by(time, slack)
        own_time = -1 if own is None else min(own[2], time)
        arrival_time = -1 if arrival is None else min(arrival.arrives, time)
        wire_time = -1 if wire is None else min(wire.ends, time)
        if wire_time >= time - slack - self._late and own_time < time - slack:
            arrival_time = -1  # what came while the wire was still busy can hardly be the cause
        latest = max(own_time, arrival_time, wire_time)
        rest = host.rest(time - latest, Part.OTHER if sent is None else self.by_rate)
        steps = list[Step]()
        if latest < time - _ROUNDING:
            began = host.computed_at(time) if latest < time - slack - self._late else None
            if began is not None and began > 0:
                spans = cut([(Part.COMPUTING, began, time)], host.paused)
                return _Cause([Step(node, span[1], span) for span in reversed(spans)], began)
            over = host.busy(latest, time, timers=False)
            if sent is not None:
                over = [*during(host.held, latest, time), *over]
            spans = cut([(rest, max(latest, 0), time)], over)
            steps = [Step(node, span[1], span) for span in reversed(spans)]
        if latest < 0:
            return None if time <= 0 else _Cause(steps, 0)
        if own is not None and own_time == latest:
            part, since, _ = own
            steps.append(Step(node, since, (part, since, own_time)))
            return _Cause(steps, since, by_timer=part is Part.TIMERS)
        return _Cause(steps, latest, wire if wire_time == latest else arrival)

    def _on_wire(self, node: str, time: int) -> Hop | None:
        """The last frame that the host began to send by then."""
        sent = self.hops.sent.get(node, [])
        place = bisect_right(sent, time, key=lambda hop: hop.begins)
        return sent[place - 1] if place else None
