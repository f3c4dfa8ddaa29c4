"""Loss recovery as a requester uses it: which packet leaves next, what an answer means, when something is sent again.

A requester owns the messages; a recovery owns the sequence numbers. `workloads.rc.recoveries` names the ones there are.
"""

from __future__ import annotations

from typing import Protocol

from workloads.rc.inbound import Inbound
from workloads.rc.message import RequestPacket
from workloads.transports.messages import SendRequest
from workloads.wire import Nak

__all__ = ["FATAL_SYNDROMES", "MAX_WINDOW", "LossRecovery", "rto_ns"]

MAX_WINDOW = (1 << 23) - 1
"""PSNs that may be unacknowledged: one more and behind looks like ahead"""

FATAL_SYNDROMES: dict[int, tuple[str, str]] = {
    Nak.INVALID_REQUEST: ("REM_INV_REQ", "refused as an invalid request"),
    Nak.REMOTE_ACCESS: ("REM_ACCESS", "refused: remote access error (memory key, range or rights)"),
    Nak.REMOTE_OPERATIONAL: ("REM_OP", "given up by the responder: remote operational error"),
}
"""NAKs that end a queue pair: status of the completion, and the reason for a person"""


def rto_ns(timeout_code: int) -> int | None:
    """4.096 us * 2^code; None (never) for code 0 (IBTA vol. 1, 9.7.6.1.3; checked on captures)."""
    return 4096 << timeout_code if timeout_code else None


class LossRecovery(Protocol):
    """The sending half of a recovery, for one queue pair. Made with a `SendQueue`, to which it reports what was
    acknowledged."""

    @property
    def deadline(self) -> int | None:
        """When it wants `on_timer`, ns; None: never."""
        ...

    @property
    def una(self) -> int:
        """The oldest unacknowledged sequence number (not wrapped)."""
        ...

    @property
    def can_send(self) -> bool:
        """A packet may leave now."""
        ...

    @property
    def failed(self) -> bool:
        """Whether it gave up, or was stopped: it sends nothing any more."""
        ...

    def check(self, request: SendRequest) -> None:
        """Raises ValueError for a request that this recovery cannot carry."""
        ...

    def posted(self) -> None:
        """The queue has one more message."""
        ...

    def next_packet(self, now: int) -> RequestPacket | None:
        """The next request packet, which has then left; None when nothing may be sent now."""
        ...

    def on_answer(self, packet: Inbound, now: int) -> None:
        """An answer of this recovery's own kind, with an AETH."""
        ...

    def on_timer(self, now: int) -> None:
        """Late is harmless, early does nothing."""
        ...

    def shut(self) -> None:
        """The responder half failed: nothing posted will complete."""
        ...
