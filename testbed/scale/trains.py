"""A message as a train of packets, and one direction of a link that carries trains: times of whole trains in closed
form.

A train enters a link over a span of time: its first packet is there at `first`, its last at `last`. It leaves as fast
as the link and its own arrival allow. That is exact while packets come at an even pace, or at the later of several even
paces (which is convex, so that the ends decide). Where trains of several senders meet on one link, they are served in
the order of their first packets. The sum of the work is exact, but the share that each gets meanwhile is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from workloads.rc.transport import RELIABLE
from workloads.wire.packet import EMPTY_FRAME_BYTES

__all__ = ["ACK_BYTES", "PLAIN", "Pipe", "Train", "TrainFraming"]

_HEADERS = EMPTY_FRAME_BYTES
_RETH, _IMM, _AETH = (RELIABLE.part_bytes[name] for name in ("RETH", "ImmDt", "AETH"))
ACK_BYTES = _HEADERS + _AETH
_NS = 1e9


@dataclass(frozen=True, slots=True)
class Train:
    packets: int
    wire_bytes: int
    """bytes of all frames"""
    first_bytes: int
    last_bytes: int
    acks: int
    """ACKs that the receiver sends for it, including the one for its end"""


@dataclass(frozen=True, slots=True)
class TrainFraming:
    """How a message is cut and what is put around its packets."""

    path_mtu: int = 1024
    write: bool = True
    """WRITE with immediate (a RETH in the first packet), else SEND"""
    ack_every: int = 16
    ack_request_every: int = 64
    headers: bool = True
    """False: payload only and no ACKs, as the cost models count"""

    def train(self, size_bytes: int) -> Train:
        """Of a message of that many bytes."""
        return _train(self, size_bytes)

    @property
    def ack_bytes(self) -> int:
        return ACK_BYTES if self.headers else 0


PLAIN = TrainFraming(headers=False)


@lru_cache(maxsize=4096)
def _train(framing: TrainFraming, size_bytes: int) -> Train:
    packets = max(1, math.ceil(size_bytes / framing.path_mtu))
    last = size_bytes - (packets - 1) * framing.path_mtu
    first = last if packets == 1 else framing.path_mtu
    if not framing.headers:
        return Train(packets, size_bytes, first, last, 0)
    last += -last % 4 + _IMM + _HEADERS
    first = (last if packets == 1 else framing.path_mtu + _HEADERS) + (_RETH if framing.write else 0)
    if packets == 1:
        return Train(1, first, first, first, 1)
    wire = first + (packets - 2) * (framing.path_mtu + _HEADERS) + last
    return Train(packets, wire, first, last, _acks(framing, packets))


def _acks(framing: TrainFraming, packets: int) -> int:
    """The receiver answers the end of the message, what asks for it, and every so many packets without."""
    acks = since_ack = since_request = 0
    for packet in range(1, packets + 1):
        since_ack, since_request = since_ack + 1, since_request + 1
        asks = packet == packets or since_request >= framing.ack_request_every
        if asks:
            since_request = 0
        if asks or since_ack >= framing.ack_every:
            acks, since_ack = acks + 1, 0
    return acks


class Pipe:
    """One direction of a link. Times are float nanoseconds."""

    __slots__ = ("_before", "_first", "_frame_ns", "_gap", "_start", "delay_ns", "free", "ns_per_byte")

    def __init__(self, rate_bps: float, delay_ns: float = 0.0) -> None:
        self.ns_per_byte = 8 * _NS / rate_bps
        self.delay_ns = delay_ns
        self.free = 0.0
        """time when all work given so far is done"""
        self._start = self._first = self._before = 0.0  # of the newest train; the end of the one before it
        self._frame_ns = self._gap = 1.0

    def carry(self, first: float, last: float, train: Train) -> tuple[float, float]:
        """A train whose first packet may leave at `first` and its last at `last` -> when they arrive at the other
        end."""
        ns = self.ns_per_byte
        self._before = self.free
        start = first if first > self.free else self.free
        work = train.wire_bytes * ns
        end = start + work
        self.free = end
        tail = last + train.last_bytes * ns
        if tail > end:
            end = tail
        packets = train.packets
        self._start, self._first = start, first
        self._frame_ns = work / packets
        self._gap = (last - first) / (packets - 1) if packets > 1 else 0.0
        return start + train.first_bytes * ns + self.delay_ns, end + self.delay_ns

    def carry_urgent(self, at: float, size_bytes: int) -> float:
        """One small frame that goes in front of what waits, but not in front of the frame that is on the wire: -> when
        it arrives. (A NIC: answers before requests.)"""
        work = size_bytes * self.ns_per_byte
        if at >= self.free:
            self.free = leaves = at + work
        else:
            frames = math.ceil((at - self._start) / self._frame_ns)
            leaves = self._start + frames * self._frame_ns + work
            self.free += work
            self._start += work
        return leaves + self.delay_ns

    def carry_behind(self, at: float, size_bytes: int) -> float:
        """One small frame that waits behind the packets that are here at `at`: -> when it arrives. (A switch port.)"""
        work = size_bytes * self.ns_per_byte
        if at >= self.free:
            leaves = at + work  # reserves nothing: what is told of now may come earlier
        elif self._before <= at < self._first:
            leaves = at + work  # the newest train is still to come, and those before it are through
        else:
            here = 1
            if at < self._first:  # in the midst of those before it: about at the end of a frame
                here = math.ceil((at - self._start) / self._frame_ns)
            elif self._gap > 0:
                here = 1 + math.floor((at - self._first) / self._gap)
            leaves = max(at, min(self._start + here * self._frame_ns, self.free)) + work
            self.free += work
        return leaves + self.delay_ns

    def burden(self, at: float, size_bytes: float) -> None:
        """So much more work in between, if the link is busy at `at` (an idle link does it unnoticed)."""
        if self.free > at:
            self.free += size_bytes * self.ns_per_byte
