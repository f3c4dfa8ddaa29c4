"""The loss recoveries of RC connections, by name (`QpConfig.recovery`). Both ends of a connection have the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from workloads.config import QpConfig
from workloads.rc.answers import Answer
from workloads.rc.go_back_n import GoBackN
from workloads.rc.held_receiver import HeldReceiver
from workloads.rc.held_sender import HeldSender
from workloads.rc.inbound import Inbound
from workloads.rc.irn_rack_sender import RackSender
from workloads.rc.irn_receiver import IrnReceiver
from workloads.rc.irn_sender import IrnSender
from workloads.rc.memory import MemoryRegions
from workloads.rc.recovery import LossRecovery
from workloads.rc.responder import Responder
from workloads.rc.send_queue import SendQueue
from workloads.rc.tally import Counters, Outbox
from workloads.transports.messages import ReceiveRequest
from workloads.wire import Opcode

__all__ = ["RECOVERIES", "Receiver", "Recovery"]


class Receiver(Protocol):
    """The receiving half of a recovery, for one queue pair."""

    answers: deque[Answer]
    """what wants to be sent, oldest first"""

    @property
    def failed(self) -> bool:
        """Whether it refused a request: it serves none any more."""
        ...

    def post_receives(self, requests: Sequence[ReceiveRequest]) -> None:
        """Raises ValueError for read-only memory, TypeError when it is not contiguous."""
        ...

    def on_request(self, packet: Inbound) -> None:
        """One request packet whose iCRC is right."""
        ...

    def on_trimmed(self, packet: Inbound) -> None:
        """The headers of a request packet that a full queue cut."""
        ...

    def shut(self) -> None:
        """The requester half failed: no request is served any more."""
        ...


@dataclass(frozen=True, slots=True)
class Recovery:
    """Both halves of a loss recovery."""

    name: str
    sender: Callable[[QpConfig, SendQueue, Counters, Outbox], LossRecovery]
    receiver: Callable[[QpConfig, MemoryRegions, Counters, Outbox], Receiver]
    answer: Opcode
    """opcode of its answers; a queue pair ignores others"""


RECOVERIES: Mapping[str, Recovery] = {
    recovery.name: recovery
    for recovery in (
        Recovery("gbn", GoBackN, Responder, Opcode.ACKNOWLEDGE),
        Recovery("irn", IrnSender, IrnReceiver, Opcode.IRN_ANSWER),
        Recovery("irn-rack", RackSender, IrnReceiver, Opcode.IRN_ANSWER),
        Recovery("irn-held", HeldSender, HeldReceiver, Opcode.IRN_ANSWER),
    )
}
