"""The messages of a queue pair that were posted and are not acknowledged: how they get their PSNs, and how they
complete."""

from __future__ import annotations

from collections import deque
from ipaddress import ip_address

from workloads.config import QpConfig
from workloads.events import QpFailed
from workloads.rc.message import OutMessage
from workloads.rc.tally import Outbox
from workloads.transports.messages import SUCCESS, SendCompleted, SendRequest
from workloads.wire import PSN_MASK

__all__ = ["SendQueue"]


class SendQueue:
    """Oldest first. Sequence numbers here count on without wrapping; only their low 24 bits are on the wire."""

    def __init__(self, config: QpConfig, outbox: Outbox) -> None:
        self._config, self._outbox = config, outbox
        self.messages: deque[OutMessage] = deque()
        self.end = config.first_psn
        """behind the last packet of all that was posted"""

    def post(self, request: SendRequest) -> None:
        """Raises ValueError or TypeError for a request that no packet can carry."""
        message = OutMessage(request, self.end, self._config.path_mtu)
        self.messages.append(message)
        self.end = message.end

    def holding(self, sequence: int) -> OutMessage:
        """The message that has the packet with that sequence number, which is posted and not acknowledged."""
        return next(message for message in self.messages if sequence < message.end)

    def acknowledge(self, acknowledged: int) -> int:
        """Everything in front of that sequence number arrived. How many messages completed."""
        messages, count = self.messages, 0
        while messages and messages[0].end <= acknowledged:
            self._complete(messages.popleft(), SUCCESS)
            count += 1
        return count

    def fail(self, status: str, oldest: int, why: str) -> None:
        """The oldest message will never be acknowledged, for that reason; the others are flushed. `oldest`: the first
        sequence number that is not acknowledged."""
        psn, message = oldest & PSN_MASK, self.messages.popleft()
        detail = f"{self.route}: PSN {psn} (message {message.wr_id}) {why}"
        self._outbox.events.append(QpFailed(self._config.qpn, status, psn, detail))
        self._complete(message, status)
        self.flush()

    def flush(self) -> None:
        """Nothing that was posted will complete."""
        while self.messages:
            self._complete(self.messages.popleft(), "FLUSH")

    @property
    def route(self) -> str:
        """For a person: from which queue pair to which."""
        config, envelope = self._config, self._config.envelope
        return (
            f"{ip_address(envelope.src_ip)} QP {config.qpn:#x} -> {ip_address(envelope.dst_ip)} QP {config.peer_qpn:#x}"
        )

    def _complete(self, message: OutMessage, status: str) -> None:
        self._outbox.completions.append(SendCompleted(self._config.qpn, message.wr_id, status))
