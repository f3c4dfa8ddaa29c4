"""`irn-rack`, the sending half of a queue pair: IRN's answers, cap and timers, and RACK (RFC 8985) in place of the rule
that a hole is a loss."""

from __future__ import annotations

from workloads.config import QpConfig
from workloads.rc.inbound import Inbound
from workloads.rc.irn_sender import IrnSender
from workloads.rc.message import RequestPacket
from workloads.rc.rack_window import RackWindow
from workloads.rc.send_queue import SendQueue
from workloads.rc.tally import Counters, Outbox
from workloads.transports.messages import SendRequest
from workloads.wire import PSN_MASK

__all__ = ["RackSender"]

_TRIPS = 2
"""RTO_low in round trips without load"""


class RackSender:
    """A LossRecovery. The reorder window is at most RTO_low. So a loss that an answer can show is found at most RTO_low
    after that answer. Where packets wait in the network for those of other hosts, a hole may be the loss of another
    host, which also waits. There the window is at most one round trip without load, or each host would wait for all."""

    def __init__(self, config: QpConfig, queue: SendQueue, counters: Counters, outbox: Outbox) -> None:
        self._inner = IrnSender(config, queue, counters, outbox)
        irn, cap = config.irn, self._inner.window.cap
        most_ns = irn.rto_low_ns if irn.in_order else irn.rto_low_ns // _TRIPS
        self.window = self._inner.window = RackWindow(config.first_psn, cap, most_ns, in_order=irn.in_order)
        self._probe_at: int | None = None
        self._is_probed = False
        """nothing was heard since a probe left"""

    @property
    def deadline(self) -> int | None:
        """One of three deadlines. The window's timer finds losses after the reorder window, and IRN's timer is for the
        rest (RFC 8985, section 8)."""
        own = self._inner.deadline
        if own is None or self._inner.failed:
            return own
        if self.window.timer is not None:
            return self.window.timer
        return own if self._probe_at is None else min(own, self._probe_at)

    @property
    def una(self) -> int:
        return self._inner.una

    @property
    def can_send(self) -> bool:
        return self._inner.can_send

    @property
    def failed(self) -> bool:
        return self._inner.failed

    def check(self, request: SendRequest) -> None:
        self._inner.check(request)

    def posted(self) -> None:
        self._inner.posted()

    def next_packet(self, now: int) -> RequestPacket | None:
        window = self.window
        window.now = now
        before, is_probed = window.nxt, self._is_probed
        packet = self._inner.next_packet(now)
        if packet is None:
            return None
        if window.nxt == before and packet.psn == window.una & PSN_MASK:
            self._inner.arm(now)
        if not is_probed:
            self._schedule_probe(now)
        return packet

    def on_answer(self, packet: Inbound, now: int) -> None:
        self.window.now = now
        self._inner.on_answer(packet, now)
        self._schedule_probe(now)

    def on_timer(self, now: int) -> None:
        window = self.window
        window.now = now
        if self._inner.failed:
            return
        if window.timer is not None:
            if window.timer <= now:
                window.detect()
            if window.is_busy:
                return
        if self._probe_at is not None and self._probe_at <= now:
            self._probe_at, self._is_probed = None, True
            if window.probe():
                self._inner.wait_ended(now)
                return
        window.expired_at = self._inner.deadline
        self._inner.on_timer(now)

    def _schedule_probe(self, now: int) -> None:
        wait_ns = self.window.probe_ns
        self._is_probed = False
        self._probe_at = None if wait_ns is None or not self.window.in_flight else now + wait_ns

    def shut(self) -> None:
        self._inner.shut()
