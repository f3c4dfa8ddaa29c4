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
from workloads.rc.verbs import SendRequest

__all__ = ["RackSender"]

_TRIPS = 2
"""RTO_low in round trips without load"""


class RackSender:
    """A LossRecovery. The reorder window is at most RTO_low, so that no loss which an answer can tell of is found later
    than that after it. Where packets wait in the network for those of other hosts, a hole may be the loss of another
    host, which waits in turn: there it is at most one round trip without load, or each would wait for all."""

    def __init__(self, config: QpConfig, queue: SendQueue, counters: Counters, outbox: Outbox) -> None:
        self._inner = IrnSender(config, queue, counters, outbox)
        irn, cap = config.irn, self._inner.window.cap
        most_ns = irn.rto_low_ns if irn.in_order else irn.rto_low_ns // _TRIPS
        self.window = self._inner.window = RackWindow(config.first_psn, cap, most_ns, in_order=irn.in_order)

    @property
    def deadline(self) -> int | None:
        own, timer = self._inner.deadline, None if self._inner.failed else self.window.timer
        return own if timer is None else timer if own is None else min(own, timer)

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
        self.window.now = now
        return self._inner.next_packet(now)

    def on_answer(self, packet: Inbound, now: int) -> None:
        self.window.now = now
        self._inner.on_answer(packet, now)

    def on_timer(self, now: int) -> None:
        self.window.now = now
        if self.window.timer is not None and self.window.timer <= now and not self._inner.failed:
            self.window.detect()
        self._inner.on_timer(now)

    def shut(self) -> None:
        self._inner.shut()
