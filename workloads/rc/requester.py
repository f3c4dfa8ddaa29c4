"""The RC requester: the messages that a user posted, and the loss recovery that brings them across."""

from __future__ import annotations

from workloads.config import QpConfig
from workloads.rc.inbound import Inbound
from workloads.rc.message import RequestPacket
from workloads.rc.recoveries import RECOVERIES
from workloads.rc.recovery import LossRecovery
from workloads.rc.send_queue import SendQueue
from workloads.rc.tally import Counters, Outbox
from workloads.transports.messages import SendRequest

__all__ = ["Requester"]


class Requester:
    """Sends the messages of one queue pair."""

    def __init__(self, config: QpConfig, counters: Counters, outbox: Outbox) -> None:
        self.queue = SendQueue(config, outbox)
        self.recovery: LossRecovery = RECOVERIES[config.recovery].sender(config, self.queue, counters, outbox)

    @property
    def deadline(self) -> int | None:
        """When it wants `on_timer`; None: never."""
        return self.recovery.deadline

    @property
    def outstanding(self) -> int:
        """PSNs of posted messages that are not acknowledged yet, sent or not."""
        return self.queue.end - self.recovery.una

    @property
    def can_send(self) -> bool:
        return self.recovery.can_send

    @property
    def failed(self) -> bool:
        return self.recovery.failed

    def post(self, request: SendRequest) -> None:
        """Raises ValueError or TypeError for a request that no packet can carry. A failed queue pair flushes it at
        once."""
        self.recovery.check(request)
        self.queue.post(request)
        self.recovery.posted()

    def next_packet(self, now: int) -> RequestPacket | None:
        """The next request packet, which has then left; None when nothing may be sent now."""
        return self.recovery.next_packet(now)

    def on_answer(self, packet: Inbound, now: int) -> None:
        """An answer of the recovery's own kind."""
        self.recovery.on_answer(packet, now)

    def on_timer(self, now: int) -> None:
        """Late is harmless, early does nothing."""
        self.recovery.on_timer(now)

    def flush(self) -> None:
        """The responder half failed: nothing posted will complete."""
        self.recovery.shut()
