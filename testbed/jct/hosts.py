"""What hosts report of the causes of their own silence: timers, computing, standing still."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any

from testbed.checkers.context import CheckContext
from testbed.faults.kinds import record_of
from testbed.faults.model import PacketFault, Pause
from testbed.jct.model import JctPart, Span
from workloads.events import CollectiveCompleted, CollectiveStarted, DatagramResent, GradientComputed, Retransmission

__all__ = ["HostSpans", "cut", "hosts_of", "pauses_of"]

_OF_TIMERS = ("timeout", "nack", "rnr")
"""causes of repetitions that are timers of the sender, or of the server that asks"""


_begin, _end = itemgetter(1), itemgetter(2)


@dataclass
class HostSpans:
    """Spans of one host, each in order of its end."""

    timers: list[Span] = field(default_factory=list)
    """from when it last made progress until a timer expired"""
    computing: list[Span] = field(default_factory=list)
    """from a result to the next iteration, unless a frame was the cause, and passes of one that computes by layers"""
    paused: list[Span] = field(default_factory=list)
    held: list[Span] = field(default_factory=list)
    """when PFC paused its link, so that it could not send"""
    held_ns: int = 0
    """how long faults and jitter hold frames back on its links, at most"""
    is_doubtful: bool = False
    """faults make copies of frames on its links: when frames came is not known exactly"""
    completed: list[int] = field(default_factory=list)
    """when it held each result"""

    def ended_by(self, time: int, slack: int) -> Span | None:
        """Of the spans of timers and computing that began before `time`: the one that ended last, by then."""
        found = None
        for spans in (self.timers, self.computing):
            place = bisect_right(spans, time + slack, key=_end)
            while place and spans[place - 1][1] >= time:
                place -= 1
            if place and (found is None or spans[place - 1][2] > found[2]):
                found = spans[place - 1]
        return found

    def busy(self, since: int, until: int, *, timers: bool = True) -> list[Span]:
        """Spans that overlap this time: standing still, then computing, then times in which any timer ran, if asked
        for."""
        found = [span for span in self.paused if span[1] < until and span[2] > since]
        place = bisect_right(self.computing, since, key=_end)
        while place < len(self.computing) and self.computing[place][2] < until + self._longest:
            if self.computing[place][1] < until:
                found.append(self.computing[place])
            place += 1
        if timers:
            place = bisect_right(self._waits, since, key=_end)
            while place < len(self._waits) and self._waits[place][1] < until:
                found.append(self._waits[place])
                place += 1
        return found

    @cached_property
    def _longest(self) -> int:
        return max((until - since for _, since, until in self.computing), default=0) + 1

    @cached_property
    def _waits(self) -> list[Span]:
        """The times of timers, without overlap: with hundreds at once, to look at each takes longer than the run."""
        found: list[Span] = []
        last: Span | None = None
        for part, since, until in sorted(self.timers, key=_begin):
            if last is not None and since <= last[2]:
                last = part, last[1], max(until, last[2])
                found.pop()
            else:
                last = part, since, until
            found.append(last)
        return found

    def rest(self, waited: int, otherwise: JctPart) -> JctPart:
        """What a wait of so many ns without a known cause is."""
        if waited <= self.held_ns:
            return JctPart.PROPAGATION
        return JctPart.OTHER if self.held_ns or self.is_doubtful else otherwise

    def computed_at(self, time: int) -> int | None:
        """When the host began to compute what it still computed just before; None: it did not."""
        return min(
            (since for part, since, _ in self.busy(time - 1, time, timers=False) if part is JctPart.COMPUTING),
            default=None,
        )


def hosts_of(
    context: CheckContext, names: Iterable[str], came: Mapping[str, Sequence[int]], late: int
) -> dict[str, HostSpans]:
    """By name; times since the traffic started. `came`: when frames came to each. `late`: ns by which a Machine may act
    later than its cause."""
    hosts = {name: HostSpans(paused=pauses_of(context, name)) for name in names}
    _know_faults(context, hosts)
    arrivals = {worker.name: worker.workload.arrival_ns for worker in context.plan.workers}
    for record in context.events(Retransmission, DatagramResent):
        event: Any = record.event
        if record.node in hosts and event.cause in _OF_TIMERS:
            since = record.t - (event.waited_ns or 0)
            if event.waited_ns is None:  # an answer started the timer
                frames = came.get(record.node, ())
                since = frames[bisect_left(frames, record.t) - 1] if frames and frames[0] < record.t else since
            hosts[record.node].timers.append((JctPart.TIMERS, since, record.t))
    began = defaultdict[str, dict[int, int]](dict)
    for started in context.events(CollectiveStarted):
        began[started.node].setdefault(started.event.iteration, started.t)
    for done in context.events(CollectiveCompleted):
        if done.node in hosts:
            hosts[done.node].completed.append(done.event.completed_ns)
    for name, starts in began.items():
        host = hosts[name]
        host.completed.sort()
        for start in starts.values():
            place = bisect_right(host.completed, start)
            since = host.completed[place - 1] if place else arrivals.get(name, 0)
            frames = came.get(name, ())
            by_frame = bisect_left(frames, start - late - 1) < bisect_right(frames, start + 1)
            if start > since and not by_frame:
                host.computing.append((JctPart.COMPUTING, since, start))
    in_stages = {
        worker.name
        for worker in context.plan.workers
        if worker.workload.compute is not None and worker.workload.compute.in_stages
    }
    for computed in context.events(GradientComputed):
        if computed.node in in_stages:
            continue  # its passes wait for results
        event = computed.event
        hosts[computed.node].computing.append((JctPart.COMPUTING, event.forward_ns, event.ready_ns))
    for host in hosts.values():
        host.timers.sort(key=_end)
        host.computing.sort(key=_end)
    return hosts


def _know_faults(context: CheckContext, hosts: Mapping[str, HostSpans]) -> None:
    scenario = context.plan.scenario
    for link in scenario.topology.links:
        for host in (hosts[name] for name in (link.a, link.b) if name in hosts):
            host.held_ns = max(host.held_ns, 2 * link.shape.jitter_ns)
    for fault in scenario.faults:
        if not isinstance(fault, PacketFault):
            continue
        held = getattr(fault, "delay_ns", 0) + getattr(fault, "jitter_ns", 0)
        for link in map(scenario.topology.link, fault.links):
            for host in (hosts[name] for name in (link.a, link.b) if name in hosts):
                host.held_ns = max(host.held_ns, held)
                host.is_doubtful = host.is_doubtful or record_of(fault).makes_copies


def pauses_of(context: CheckContext, node: str) -> list[Span]:
    """Windows in which faults let a node stand still."""
    return [
        (JctPart.PAUSED, fault.window.start_ns, fault.window.stop_ns)
        for fault in context.plan.scenario.faults
        if isinstance(fault, Pause) and fault.node == node and fault.window.stop_ns is not None
    ]


def cut(spans: Iterable[Span], over: Iterable[Span]) -> list[Span]:
    """The spans in order, where one of `over` covers them with its part; the first that does counts."""
    found = sorted(spans, key=_begin)
    for part, since, until in over:
        pieces = list[Span]()
        for own, begin, end in found:
            low, high = max(begin, since), min(end, until)
            if own in _CUT or low >= high:
                pieces.append((own, begin, end))
                continue
            pieces += [
                piece for piece in ((own, begin, low), (part, low, high), (own, high, end)) if piece[2] > piece[1]
            ]
        found = pieces
    return found


_CUT = (JctPart.PAUSED, JctPart.COMPUTING, JctPart.TIMERS)
