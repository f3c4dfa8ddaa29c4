"""`irn-held`, the sending half of a queue pair: IRN's answers, cap and timers, and maps that say what is lost."""

from __future__ import annotations

from workloads.config import QpConfig
from workloads.rc.held_window import HeldWindow
from workloads.rc.inbound import Inbound
from workloads.rc.irn_sender import IrnSender
from workloads.rc.send_queue import SendQueue
from workloads.rc.tally import Counters, Outbox
from workloads.wire import PSN_MASK, psn_diff
from workloads.wire.held_map import NO_PSN, decode_held_map

__all__ = ["HeldSender"]


class HeldSender(IrnSender):
    """A LossRecovery. A map is advice: one that is wrong costs repeats or a timer, nothing else."""

    def __init__(self, config: QpConfig, queue: SendQueue, counters: Counters, outbox: Outbox) -> None:
        super().__init__(config, queue, counters, outbox)
        self.window = self._held = HeldWindow(config.first_psn, self.cap)

    def on_answer(self, packet: Inbound, now: int) -> None:
        super().on_answer(packet, now)
        held = decode_held_map(packet.payload)
        if held is None or held.newest == NO_PSN or self.failed:
            return
        una = self.window.una
        first, newest = (una + psn_diff(psn, una & PSN_MASK) for psn in (held.first, held.newest))
        self._held.told(first, held.packets, held.bits, newest)
