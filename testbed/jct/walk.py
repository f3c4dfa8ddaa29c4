"""The walk backwards from an event of a node: each time to what happened last before it, and could have caused it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping

from testbed.jct.hops import Hop, Hops
from testbed.jct.hosts import HostSpans, cut
from testbed.jct.model import JctPart, Span
from testbed.jct.paused import during

__all__ = ["Walk", "WalkStep"]

_ROUNDING = 1
"""ns by which the duration of a frame may be rounded"""


class WalkStep:
    """One step back."""

    __slots__ = ("came", "node", "sent", "span", "time")

    def __init__(
        self, node: str, time: int, span: Span | None = None, sent: Hop | None = None, came: Hop | None = None
    ) -> None:
        self.node, self.time = node, time
        """where the walk stands, and when"""
        self.span = span
        """what took the time of this step; None: none"""
        self.sent, self.came = sent, came
        """the frames that the node gave, and that arrived there, then"""


class _Cause:
    """What happened last at a node, and how long ago."""

    __slots__ = ("by_timer", "hop", "steps", "time")

    def __init__(self, steps: list[WalkStep], time: int, hop: Hop | None = None, by_timer: bool = False) -> None:
        self.steps, self.time, self.by_timer = steps, time, by_timer
        self.hop = hop
        """the frame that came, or that occupied the wire; None: the node itself"""


class Walk:
    """Over one run. A Machine acts when a frame comes, when a timer expires and when its wire is free. In virtual time
    it acts at that very moment, elsewhere somewhat later: the time between is `other`."""

    def __init__(self, hops: Hops, hosts: Mapping[str, HostSpans], pauses: Mapping[str, list[Span]], late: int) -> None:
        """`pauses`: of switches. `late`: ns by which a Machine may act later than its cause; 0 in virtual time."""
        self.hops, self.hosts, self._pauses, self._late = hops, hosts, pauses, late
        is_exact = not late
        self._by_switch = JctPart.TIMERS if is_exact else JctPart.OTHER
        """part in which a switch waits before it acts without a frame"""
        self.by_rate = JctPart.CREDIT if is_exact else JctPart.OTHER
        """part in which a host waits before it sends without a known cause"""
        self._came_at = {name: [hop.arrives for hop in found] for name, found in hops.came.items()}
        self._sent_at = {name: [hop.begins for hop in found] for name, found in hops.sent.items()}
        self._taken_as = {name: [hop.taken_as for hop in found] for name, found in hops.taken.items()}
        self._given_as = {name: [hop.given_as for hop in found] for name, found in hops.given.items()}

    def to_start(self, host: str, time: int) -> Iterator[Span]:
        """Back to the start of the traffic from something that the host did, but not from a frame that it sent. Spans
        without a gap, the latest first."""
        cursor = time
        for step in self.back(host, time, None):
            if step.span is not None:
                part, since, until = step.span[0], max(0, step.span[1]), min(step.span[2], cursor)
                if since < until:
                    if until < cursor - _ROUNDING:
                        yield JctPart.OTHER, until, cursor
                        cursor = until
                    yield part, since, cursor
                    cursor = since
            if cursor <= 0:
                return
        yield JctPart.OTHER, 0, cursor

    def back(self, node: str, time: int, sent: Hop | None) -> Iterator[WalkStep]:
        """`sent`: the frame that the node gave then; None: a host did something else, as to complete. The walk never
        goes forward in time, and passes a frame once at one time: between namespaces, times are not exact, and frames
        of one wire may overlap."""
        by_timer, passed = False, set[int]()
        while True:
            if node in self.hosts:
                cause = self._at_host(node, time, sent, by_timer)
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
                yield WalkStep(node, hop.begins, (JctPart.SERIALISATION, hop.begins, hop.ends))
                time = min(time, hop.begins)
            sent = hop
            if time < before:
                passed = set()
            passed.add(id(hop))

    def over(self, hop: Hop) -> list[WalkStep]:
        """Back over a link, to where its sender gave the frame."""
        way = [WalkStep(hop.target, span[1], span) for span in self.flight(hop)]
        return [WalkStep(hop.target, hop.arrives, None, None, hop), *way, WalkStep(hop.source, hop.given, None, hop)]

    def flight(self, hop: Hop) -> list[Span]:
        """What the way over a link consists of, the latest first."""
        until, found = hop.arrives, list[Span]()
        for part, since in hop.spans():
            if since < until:
                pauses: list[Span] = []
                if part is JctPart.QUEUEING:
                    pauses = [
                        *self._pauses.get(hop.target, ()),
                        *during(self.hops.paused.get(hop.wire, ()), since, until),
                    ]
                if pauses:
                    found += reversed(cut([(part, since, until)], pauses))
                else:
                    found.append((part, since, until))
                until = since
        return found

    def given_for(self, hop: Hop) -> Hop | None:
        """What the switch gave on because it took this frame."""
        place = bisect_right(self._given_as.get(hop.target, []), hop.taken_as)
        given = self.hops.given.get(hop.target, [])
        following = given[place] if place < len(given) else None
        return following if following and self.before_at_switch(hop.target, following) is hop else None

    def before_at_switch(self, node: str, sent: Hop) -> Hop | None:
        """What the switch took last before it gave this frame. Of frames that it took in one moment: this very frame,
        where it is one of them."""
        taken = self.hops.taken.get(node, [])
        place = bisect_left(self._taken_as.get(node, []), sent.given_as) - 1
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
            steps = [WalkStep(node, span[1], span) for span in reversed(spans)]
        return _Cause(steps, hop.arrives, hop)

    def _at_host(self, node: str, time: int, sent: Hop | None, by_timer: bool) -> _Cause | None:
        host, came = self.hosts[node], self.hops.came.get(node, [])
        slack = _ROUNDING if sent is None else sent.slack
        place = bisect_right(self._came_at.get(node, []), time + slack)
        arrival = came[place - 1] if place else None
        wire = self.hops.before(sent) if sent is not None else self._on_wire(node, time) if by_timer else None
        own = host.ended_by(time, slack)
        own_time = -1 if own is None else min(own[2], time)
        arrival_time = -1 if arrival is None else min(arrival.arrives, time)
        wire_time = -1 if wire is None else min(wire.ends, time)
        if wire_time >= time - slack - self._late and own_time < time - slack:
            arrival_time = -1  # what came while the wire was still busy can hardly be the cause
        latest = max(own_time, arrival_time, wire_time)
        rest = host.rest(time - latest, JctPart.OTHER if sent is None else self.by_rate)
        steps = list[WalkStep]()
        if latest < time - _ROUNDING:
            began = host.computed_at(time) if latest < time - slack - self._late else None
            if began is not None and began > 0:
                spans = cut([(JctPart.COMPUTING, began, time)], host.paused)
                return _Cause([WalkStep(node, span[1], span) for span in reversed(spans)], began)
            over = host.busy(latest, time, timers=False)
            if sent is not None:
                over = [*during(host.held, latest, time), *over]
            spans = cut([(rest, max(latest, 0), time)], over)
            steps = [WalkStep(node, span[1], span) for span in reversed(spans)]
        if latest < 0:
            return None if time <= 0 else _Cause(steps, 0)
        if own is not None and own_time == latest:
            part, since, _ = own
            steps.append(WalkStep(node, since, (part, since, own_time)))
            return _Cause(steps, since, None, part is JctPart.TIMERS)
        return _Cause(steps, latest, wire if wire_time == latest else arrival)

    def _on_wire(self, node: str, time: int) -> Hop | None:
        """The last frame that the host began to send by then."""
        sent = self.hops.sent.get(node, [])
        place = bisect_right(self._sent_at.get(node, []), time)
        return sent[place - 1] if place else None
