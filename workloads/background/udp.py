"""A UDP flow of a constant rate. The source sends datagrams at times that only the flow's own values decide. The sink
counts what arrives. The sink sends no answers, and the source reads none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from workloads.background.config import HEADERS_BYTES, FlowConfig
from workloads.events import FlowReceived, FlowSent
from workloads.machine import Buffer, FrameBatch
from workloads.wire.envelope import encode_envelope
from workloads.wire.places import DPORT, FLOW, PROTOCOL_AT, TOS_AT

__all__ = ["UdpSink", "UdpSource"]

_BITS_NS = 8 * 10**9
_MOST_BEHIND_NS = 50_000_000
"""Longest delay of a datagram. A source that could not send for longer skips it, as its queue would have overflowed."""


class UdpSource:
    """Sends one flow. IPv4 only."""

    def __init__(self, config: FlowConfig, start_ns: int = 0, timeout_ns: int = 0) -> None:
        """`start_ns`: when the traffic starts, by this host's clock. `timeout_ns`: a datagram waits that long for
        company, so that a real machine need not wake up for each. Raises ValueError without a rate."""
        if config.rate_bps is None:
            raise ValueError(f"UDP flow {config.name} has no rate")
        self._config, self._rate_bps = config, config.rate_bps
        self._timeout_ns = timeout_ns
        self._begin = start_ns + config.start_ns
        self._end = None if config.stop_ns is None else start_ns + config.stop_ns
        head = bytearray(encode_envelope(config.envelope, config.payload_bytes))
        head[DPORT] = config.dport.to_bytes(2, "big")
        self._head, self._filler = bytes(head), bytes(config.payload_bytes - 8)
        self._number = self._skipped = self._sent = 0
        size = config.size_bytes
        self._most = None if size is None else -(-size // config.payload_bytes)
        self._heard = self._begin - 1
        """latest time that the caller has passed"""

    @property
    def due(self) -> int | None:
        """When the next datagram is to leave; None: none is."""
        if self._most is not None and self._sent >= self._most:
            return None
        at = self._begin + self._number * self._config.frame_bytes * _BITS_NS // self._rate_bps
        return None if self._end is not None and at >= self._end else at

    @property
    def wakes_at(self) -> int | None:
        """When `due` is worth a wake-up; None: never, or the datagram waits for the link only."""
        due = self.due
        return None if due is None or due <= self._heard else due + self._timeout_ns

    def woken(self, now: int) -> None:
        """Note that the time is `now`."""
        self._heard = max(self._heard, now)

    def next_frame(self, now: int) -> bytes | None:
        """The next datagram, which has then left; None: it is too early."""
        self.woken(now)
        due = self.due
        if due is None or due > now:
            return None
        if now - due > _MOST_BEHIND_NS:
            missed = (now - due) * self._rate_bps // (self._config.frame_bytes * _BITS_NS)
            self._number += missed
            self._skipped += missed
            if self.due is None:
                return None
        frame = self._head + self._number.to_bytes(8, "big") + self._filler
        self._number += 1
        self._sent += 1
        return frame

    def finished(self) -> FlowSent:
        """Event for the end of the run."""
        return FlowSent(self._config.name, self._sent, self._sent * self._config.payload_bytes, self._skipped)


class UdpSink:
    """Counts the datagrams of one flow that came."""

    def __init__(self, config: FlowConfig) -> None:
        self._config = config
        self.packets = self.bytes = self.marked = 0
        self._first_at: int | None = None
        self._last_at = 0
        envelope = config.envelope
        ports = envelope.sport.to_bytes(2, "big") + config.dport.to_bytes(2, "big")
        self._name = envelope.src_ip + envelope.dst_ip + ports
        self._name_row = np.frombuffer(self._name, np.uint8)

    def receive(self, frame: Buffer, now: int) -> bool:
        """Whether the frame is of this flow (then it was counted)."""
        if bytes(frame[FLOW]) != self._name or len(frame) < HEADERS_BYTES or frame[PROTOCOL_AT] != 17:
            return False
        self._count(1, int(frame[TOS_AT] & 3 == 3), now)
        return True

    def receive_rows(self, batch: FrameBatch, now: int) -> None:
        """As `receive` for each row."""
        rows = batch.frames[: batch.count]
        ours = (rows[:, FLOW] == self._name_row).all(axis=1) & (rows[:, PROTOCOL_AT] == 17)
        ours &= batch.lengths[: batch.count] >= HEADERS_BYTES
        if ours.any():
            self._count(int(ours.sum()), int((rows[ours, TOS_AT] & 3 == 3).sum()), now)

    def _count(self, packets: int, marked: int, now: int) -> None:
        self.packets += packets
        self.bytes += packets * self._config.payload_bytes
        self.marked += marked
        if self._first_at is None:
            self._first_at = now
        self._last_at = now

    def finished(self) -> FlowReceived:
        """Event for the end of the run."""
        return FlowReceived(
            self._config.name, self.packets, self.bytes, self.marked, self._first_at or 0, self._last_at
        )


def datagrams(source: UdpSource, now: int) -> Iterator[bytes]:
    """All that are due."""
    while (frame := source.next_frame(now)) is not None:
        yield frame
