"""One direction of a link: frames leave one after the other at the link's rate, and wait in a drop-tail queue, or
in one for each layer class or each flow."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from switch_nodes.forwarding.classes import ClassQueue
from switch_nodes.forwarding.fair import FairQueue
from switch_nodes.forwarding.weighted import WeightedQueue
from testbed.worlds.simulated.agenda import Actor, Agenda
from topologies import LinkShape
from workloads.machine import Buffer
from workloads.wire.dscp import NO_DSCP, is_low, layer_class_of, read_dscp
from workloads.wire.ecn import mark_ce
from workloads.wire.envelope import ETHERNET
from workloads.wire.trimming import for_reserve

__all__ = ["Station", "Wire"]

_BITS_NS = 8 * 1_000_000_000
_ETHERNET_BYTES = ETHERNET.size


class Station(Actor):
    """What stands at the ends of wires."""

    def arrive(self, port: int, frame: bytes) -> None:
        """A frame came in."""
        raise NotImplementedError

    def pull(self) -> bytes | None:
        """The next frame for a wire that is free: of a NIC that is asked."""
        return None


class Wire(Actor):
    """A frame of n bytes takes n * 8 / rate; remainders below a nanosecond are carried over, so that the long-term rate
    is exact. It arrives when its last bit does. Propagation delay and faults are the business of the ports' filters."""

    def __init__(self, agenda: Agenda, actor: int, shape: LinkShape) -> None:
        self._agenda, self._actor = agenda, actor
        self.rate_bps, self._limit = shape.rate_bps, shape.queue_packets
        self._room = self._limit + shape.reserve_packets
        marks_from = shape.marks_from
        self._marks_from = self._room if marks_from is None else marks_from
        self._red, self._asked = shape.red, 0
        low_until = shape.drop_low_above_packets
        self._low_until = self._room if low_until is None else low_until
        self._serves_classes = shape.serves_classes
        self._longest = shape.mtu + _ETHERNET_BYTES
        self.tells_drops = shape.knows_classes
        """whether a switch reports each frame that this wire does not take"""
        self.link, self.direction = "", ""
        """names in reports about this wire"""
        self.deliver: Callable[[bytes], None] = _nowhere
        """where frames arrive, unless it leads to a station"""
        self.refill: Callable[[], bytes | None] = _nothing
        """asked for the next frame when the queue is empty and the wire is free, unless a station feeds it"""
        self._to: Station | None = None
        self._to_port = 0
        self._source: Station | None = None
        self._line: deque[bytes] = deque()
        """the queue, where it has no classes"""
        self._queue: ClassQueue[bytes] | WeightedQueue[bytes] = ClassQueue()
        if shape.weights is not None:
            self._queue = WeightedQueue(shape.weights, self._longest)
        self._fair = FairQueue(self._longest) if shape.priority == "fair" else None
        self._busy = False
        self._remainder = 0
        self.frames = self.bytes = self.drops = self.early = self.marks = self.trimmed = 0
        self.cut: bytes | None = None
        """the headers of what the last `send` trimmed; None: it did not"""
        self.first_at = self.last_at = 0
        """when the first frame began and the last one ended"""

    @property
    def waiting(self) -> int:
        """Frames in all queues; the one on the wire is not among them."""
        if self._fair is not None:
            return len(self._fair)
        return len(self._queue) if self._serves_classes else len(self._line)

    def leads_to(self, station: Station, port: int) -> None:
        """Frames arrive at that port."""
        self._to, self._to_port = station, port

    def fed_by(self, station: Station) -> None:
        """It is asked for the next frame when the queue is empty and the wire is free: a NIC that pulls."""
        self._source = station

    def waiting_with(self, frame: Buffer) -> int:
        """Frames in the queue that `frame` is for."""
        if self._fair is not None:
            return self._fair.waiting_with(frame)
        return self._waiting_in(layer_class_of(read_dscp(frame)) if self._serves_classes else 0)

    def send(self, frame: bytes) -> str:
        """Put a frame into its queue, with CE when so many wait that the link marks. Or drop it and say why: `queue`
        when as many as the link allows wait already, `misfit` when it is longer than the MTU. `early` when it is of the
        low class and more wait than that may join. Where the link trims, a full queue takes the headers of data, and
        answers, into its reserve."""
        self.cut = None
        if len(frame) > self._longest:
            self.drops += 1
            return "misfit"
        if not self._busy:
            self._begin(frame)
            return ""
        return self._wait(frame)

    def _wait(self, frame: bytes) -> str:
        is_cut = False
        dscp = read_dscp(frame) if self.tells_drops else NO_DSCP
        layer_class = layer_class_of(dscp) if self._serves_classes else 0
        waiting = self._waiting_in(layer_class) if self._fair is None else self._fair.waiting_with(frame)
        if waiting >= self._limit:
            found = for_reserve(frame) if waiting < self._room else None
            if found is None:
                self.drops += 1
                return "queue"
            frame, is_cut = bytes(found[0]), found[1]
            self.trimmed += is_cut
        if waiting >= self._low_until and is_low(dscp):
            self.early += 1
            return "early"
        if waiting >= self._marks_from and self._is_chosen(waiting) and (marked := mark_ce(frame)) is not None:
            frame = bytes(marked)
            self.marks += 1
        if is_cut:
            self.cut = bytes(frame)
        if self._serves_classes:
            self._queue.put(frame, layer_class, len(frame))
        elif self._fair is not None:
            self._fair.put(frame)
        else:
            self._line.append(frame)
        return ""

    def _is_chosen(self, waiting: int) -> bool:
        """Whether a frame that comes while so many wait is to get CE; without probabilities, each is."""
        if self._red is None:
            return True
        self._asked += 1
        return bool(self._agenda.share(self._actor, self._asked) < self._red.chance(waiting))

    def kick(self) -> None:
        """There may be something to pull."""
        if not self._busy and (frame := self._next()) is not None:
            self._begin(frame)

    def act(self, what: int, argument: Any) -> None:
        self._end(argument)

    def _next(self) -> bytes | None:
        return self.refill() if self._source is None else self._source.pull()

    def _waiting_in(self, layer_class: int) -> int:
        return self._queue.waiting_in(layer_class) if self._serves_classes else len(self._line)

    def _begin(self, frame: bytes) -> None:
        self._busy = True
        now, size = self._agenda.now, len(frame)
        bits = size * _BITS_NS + self._remainder
        duration = bits // self.rate_bps
        self._remainder = bits - duration * self.rate_bps
        if not self.frames:
            self.first_at = now
        self.frames += 1
        self.bytes += size
        self.last_at = now + duration
        self._agenda.appoint(self.last_at, self._actor, self, 0, frame)

    def _end(self, frame: bytes) -> None:
        following: bytes | None
        if self._line:
            following = self._line.popleft()
        elif self._serves_classes and self._queue:
            following = self._queue.take()
        elif self._fair is not None and self._fair:
            following = self._fair.take()
        else:
            following = self._next()
        if following is None:
            self._busy = False
        else:
            self._begin(following)
        if self._to is None:
            self.deliver(frame)
        else:
            self._to.arrive(self._to_port, frame)


def _nowhere(frame: bytes) -> None:
    """The default of `Wire.deliver`."""


def _nothing() -> bytes | None:
    """The default of `Wire.refill`."""
    return None
