"""Each frame on each link: when its sender gave it, when the wire carried it, and when it arrived.

Switches are captured, hosts are not. A host's NIC has no queue, so a frame that a switch took left its host earlier by
delay and serialisation. What a switch gave to a host passes the queue of its port, in order."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from switch_nodes.forwarding.classes import ClassQueue
from switch_nodes.forwarding.weighted import WeightedQueue
from testbed.faults.model import RateChange
from testbed.jct.model import JctPart, Span
from testbed.jct.paused import LinkPauses, during
from testbed.jct.records import Frame, SeenFrames
from testbed.scenario.lossless import largest_frame
from testbed.scenario.model import Scenario
from topologies import DIRECTIONS, Direction, Link, LinkShape

__all__ = ["Hop", "HopLink", "Hops", "hop_of", "hops_of"]


class Hop:
    """One frame on one link. Times in ns."""

    __slots__ = ("arrives", "begins", "content", "delay", "ends", "given", "given_as", "is_data", "is_lost", "key",
                 "place", "slack", "source", "taken_as", "target", "wire")  # fmt: skip

    source: str
    target: str
    key: bytes
    content: int
    is_data: bool
    """these three: of its frame"""
    given: int
    """when the sender's program gave it; of a host: when it began"""
    begins: int
    ends: int
    """when the wire began and ended with it"""
    arrives: int
    is_lost: bool
    """when the receiver took it, or would have, had it not been lost"""
    delay: int
    """delay of the link"""
    slack: int
    """how much the times may be wrong: a ns of rounding, and the jitter of the link"""
    given_as: int
    taken_as: int
    """places among the records of the switches that gave and took it; -1: a host, or no record was found"""
    wire: int
    place: int
    """place among `Hops.wires`, and among the frames there"""

    def spans(self) -> tuple[tuple[JctPart, int], ...]:
        """Backwards from `arrives`: (part, when it began)."""
        if self.taken_as < 0 and self.arrives == self.ends:  # the port of the switch delays a frame before it queues
            waits = self.given + self.delay
            return (JctPart.SERIALISATION, self.begins), (JctPart.QUEUEING, waits), (JctPart.PROPAGATION, self.given)
        return (
            (JctPart.QUEUEING, self.ends + self.delay),  # at a switch that stood still
            (JctPart.PROPAGATION, self.ends),
            (JctPart.SERIALISATION, self.begins),
            (JctPart.QUEUEING, self.given),
        )


@dataclass(frozen=True, slots=True)
class HopLink:
    """One direction of a link."""

    source: str
    target: str
    shape: LinkShape


def hop_of(
    way: HopLink, frame: Frame, given: int, begins: int, ends: int, arrives: int, given_as: int, taken_as: int
) -> Hop:
    """The first of all wires and places. A call of a class would be slower."""
    hop: Hop = Hop.__new__(Hop)
    shape = way.shape
    hop.source, hop.target = way.source, way.target
    hop.key, hop.content, hop.is_data = frame.key, frame.content, frame.is_data
    hop.given, hop.begins, hop.ends = given, begins, ends
    hop.arrives, hop.is_lost = arrives, taken_as >= 0 and frame.is_lost
    hop.delay, hop.slack = shape.delay_ns, 1 + shape.jitter_ns
    hop.given_as, hop.taken_as = given_as, taken_as
    hop.wire = hop.place = 0
    return hop


@dataclass(slots=True)
class Hops:
    """All of a run."""

    sent: dict[str, list[Hop]] = field(default_factory=dict)
    """by host, in the order in which they began"""
    came: dict[str, list[Hop]] = field(default_factory=dict)
    """by host, in the order in which they arrived"""
    taken: dict[str, list[Hop]] = field(default_factory=dict)
    """by switch, in the order of its records; none that was lost"""
    given: dict[str, list[Hop]] = field(default_factory=dict)
    """by switch, in the order of its records"""
    wires: list[list[Hop]] = field(default_factory=list)
    """by direction of a link"""
    paused: dict[int, Sequence[Span]] = field(default_factory=dict)
    """pauses by PFC, by place in `wires`"""

    def before(self, hop: Hop) -> Hop | None:
        """The frame before it on its wire."""
        return self.wires[hop.wire][hop.place - 1] if hop.place else None


class _Wire:
    """How long frames take on one direction of a link. Remainders below a ns are carried over to the next frame."""

    def __init__(self, scenario: Scenario, link: Link, direction: Direction) -> None:
        self._own, self._remainder = link.shape.rate_bps, 0
        self._changes = [
            fault
            for fault in scenario.faults
            if isinstance(fault, RateChange) and link.name in fault.links and direction in fault.directions
        ]

    def duration(self, size: int, at: int) -> int:
        """ns that the next frame takes, of so many bytes, which begins then."""
        rate = self._own
        for fault in self._changes:
            until = fault.window.stop_ns
            if fault.window.start_ns <= at and (until is None or at < until):
                rate = fault.rate_bps
        bits = size * 8_000_000_000 + self._remainder
        duration = bits // rate
        self._remainder = bits - duration * rate
        return duration


def hops_of(
    scenario: Scenario, seen: Mapping[str, SeenFrames], pauses: Mapping[str, Sequence[Span]], held: LinkPauses
) -> Hops:
    """`seen`: by switch; `pauses`: when switches stood still; `held`: when PFC paused links. Frames between two hosts
    are not among them."""
    found, sent, came = Hops(), defaultdict[str, list[Hop]](list), defaultdict[str, list[Hop]](list)
    taken, given = defaultdict[str, list[Hop]](list), defaultdict[str, list[Hop]](list)
    for link in scenario.topology.links:
        for direction in DIRECTIONS:
            source, target = (link.a, link.b) if direction is Direction.UP else (link.b, link.a)
            wire = _Wire(scenario, link, direction)
            outs = seen[source].given.get(link.name, []) if source in seen else None
            ins = seen[target].taken.get(link.name, []) if target in seen else None
            of_link = held.get((link.name, str(direction)), ())
            if ins is None and scenario.pfc is not None:
                hops = _to_host_with_pfc(source, target, link, wire, outs or [], of_link)
            elif ins is None:
                hops = _to_host(source, target, link, wire, outs or [])
            else:
                hops = _to_switch(source, target, link, wire, ins, outs, pauses.get(target, ()))
            wire_of_these = len(found.wires)
            found.paused[wire_of_these] = of_link
            found.wires.append(hops)
            for place_of_hop, hop in enumerate(hops):
                hop.wire, hop.place = wire_of_these, place_of_hop
                if source in seen:
                    if hop.given_as >= 0:
                        given[source].append(hop)
                else:
                    sent[source].append(hop)
                if hop.is_lost:
                    continue
                (taken if target in seen else came)[target].append(hop)
    for there, place in ((sent, "begins"), (came, "arrives"), (taken, "taken_as"), (given, "given_as")):
        for each in there.values():
            each.sort(key=attrgetter(place))
    found.sent, found.came, found.taken, found.given = dict(sent), dict(came), dict(taken), dict(given)
    return found


def _to_host(source: str, target: str, link: Link, wire: _Wire, outs: Sequence[Frame]) -> list[Hop]:
    way = HopLink(source, target, link.shape)
    delay, free, hops = link.shape.delay_ns, 0, list[Hop]()
    kept = [frame for frame in outs if not frame.is_lost]
    if link.shape.serves_classes:
        return _by_class(source, target, link, wire, kept)
    for frame in kept:
        begins = max(free, frame.time + delay)
        free = begins + wire.duration(frame.size, begins)
        hops.append(hop_of(way, frame, frame.time, begins, free, free, frame.number, -1))
    return hops


def _to_host_with_pfc(
    source: str, target: str, link: Link, wire: _Wire, outs: Sequence[Frame], held: Sequence[Span]
) -> list[Hop]:
    """The wire delays frames behind the queue, and pauses hold them in it. Layer classes keep their order here."""
    way = HopLink(source, target, link.shape)
    delay, free, hops = link.shape.delay_ns, 0, list[Hop]()
    for frame in outs:
        if frame.is_lost:
            continue
        begins = max(free, frame.time)
        for _, _, until in during(held, begins, begins + 1):
            begins = until
        free = begins + wire.duration(frame.size, begins)
        end = free + delay
        hops.append(hop_of(way, frame, frame.time, begins, free, end, frame.number, -1))
    return hops


def _by_class(source: str, target: str, link: Link, wire: _Wire, kept: Sequence[Frame]) -> list[Hop]:
    way = HopLink(source, target, link.shape)
    delay, free, hops = link.shape.delay_ns, 0, list[Hop]()
    shape, place = link.shape, 0
    queue: ClassQueue[Frame] | WeightedQueue[Frame] = ClassQueue()
    if shape.weights is not None:
        queue = WeightedQueue(shape.weights, largest_frame(shape))
    while place < len(kept) or queue:
        if not queue:
            free = max(free, kept[place].time + delay)
        while place < len(kept) and kept[place].time + delay <= free:
            queue.put(kept[place], kept[place].layer_class, kept[place].size)
            place += 1
        frame, begins = queue.take(), free
        free += wire.duration(frame.size, begins)
        hops.append(hop_of(way, frame, frame.time, begins, free, free, frame.number, -1))
    return hops


def _to_switch(
    source: str,
    target: str,
    link: Link,
    wire: _Wire,
    ins: Sequence[Frame],
    outs: Sequence[Frame] | None,
    pauses: Sequence[Span],
) -> list[Hop]:
    """`outs`: None, of a host. `pauses`: when the switch stood still. A frame that a fault of the link dropped was
    recorded without its delay."""
    waiting, last = defaultdict[bytes, deque[Frame]](deque), dict[bytes, Frame]()
    for frame in outs or ():
        if not frame.is_lost:
            waiting[frame.key].append(frame)
    way = HopLink(source, target, link.shape)
    delay, free, hops = link.shape.delay_ns, 0, list[Hop]()
    for frame in ins:
        ends = frame.time - (0 if frame.is_lost else delay)
        duration = wire.duration(frame.size, ends)
        stood = next((since for _, since, until in pauses if until == frame.time), None) if pauses else None
        # A frame that waited for the switch came before, as early as the wire allowed.
        if stood is not None:
            ends = min(ends, max(free + duration, stood - delay))
        begins = ends - duration
        free = ends
        given, number = begins, -1
        if outs is not None:
            queue = waiting[frame.key]
            if queue and queue[0].time <= frame.time:
                last[frame.key] = queue.popleft()
            origin = last.get(frame.key)  # of a copy that a fault made: that of the original
            if origin is not None:
                given, number = min(origin.time, begins), origin.number
        hops.append(hop_of(way, frame, given, begins, ends, frame.time, number, frame.number))
    return hops
