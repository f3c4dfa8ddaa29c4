"""A queue pair as compiled code sees it: go-back-N, with calls for whole runs of packets and answers instead of single
ones."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from workloads.rc.go_back_n import GoBackN, Reached
from workloads.rc.message import OutMessage
from workloads.rc.queue_pair import QueuePair
from workloads.rc.recovery import rto_ns
from workloads.rc.requester_table import RequesterState
from workloads.rc.responder import Responder

__all__ = ["CompiledPair", "Standing", "can_be_compiled"]


def can_be_compiled(qp: QueuePair) -> bool:
    """The compiled code knows go-back-N alone. It reports no steps, and it knows no marks, no rates and no trimmed
    packets."""
    config = qp.config
    plain = not config.trace and config.dcqcn is None and not config.trimming
    return isinstance(qp.requester.recovery, GoBackN) and plain


class Standing(NamedTuple):
    """Where a requester stands."""

    una: int
    nxt: int
    max_nxt: int
    posted_end: int
    """behind the last packet of all that was posted"""
    oldest_end: int
    """behind the last packet of the oldest message"""
    window: int
    rto_ns: int
    """0: it never resends by itself"""
    deadline: int
    """-1: none"""
    resent: int
    """packets, in all"""
    retrying: bool
    retries: int
    retry_count: int
    is_patient: bool
    """these three: `GoBackN.retries`"""
    since_ack_request: int


class CompiledPair:
    """Both halves of a queue pair of that kind, and the means to bring the sending one on."""

    def __init__(self, qp: QueuePair) -> None:
        assert isinstance(qp.requester.recovery, GoBackN)
        assert isinstance(qp.responder, Responder)
        self.qp, self.sender, self.responder = qp, qp.requester.recovery, qp.responder
        self.queue = qp.requester.queue
        self._rto = rto_ns(qp.config.timeout_code) or 0

    @property
    def may_send(self) -> bool:
        """Whether its state lets it send new packets, and receive ACKs while it does."""
        return self.sender.state is RequesterState.SENDING or self.sender.state is RequesterState.RETRYING

    @property
    def is_open(self) -> bool:
        """Whether a message that is posted now may leave."""
        return self.may_send or self.sender.state is RequesterState.IDLE

    def next_run(self, limit: int) -> tuple[OutMessage, int, int, bool]:
        """Packets of one message that may leave now, at most `limit`: (message, index of the first, how many, whether
        the window closes behind them). Only when the requester can send."""
        sender, message = self.sender, self.sender.message_at_next
        assert message is not None
        sequence = sender.nxt
        window, count = sender.window - sequence + sender.una, message.end - sequence
        if count > limit:
            count = limit
        closes = count >= window
        return message, sequence - message.first, window if closes else count, closes

    def on_acks(self, distance: int, count: int, now: int) -> None:
        """`count` ACKs about PSNs that were sent; the one that reaches furthest names that at `distance` from `una`."""
        self.sender.acknowledged(count, self.sender.una + distance + 1, now)

    @property
    def messages(self) -> deque[OutMessage]:
        """All that was posted and is not acknowledged, oldest first."""
        return self.queue.messages

    @property
    def end(self) -> int:
        """Sequence number behind the last packet of all that was posted."""
        return self.queue.end

    def acked(self, acknowledged: int) -> None:
        """One ACK said that everything in front of `acknowledged` arrived. Compiled code has the timer that this
        restarts."""
        self.sender.acknowledged(1, acknowledged, 0)

    def standing(self) -> Standing:
        sender, queue = self.sender, self.queue
        return Standing(
            sender.una, sender.nxt, sender.max_nxt, queue.end, queue.messages[0].end if queue.messages else sender.una,
            sender.window, self._rto, -1 if sender.deadline is None else sender.deadline,
            self.qp.counters.packets_retransmitted, sender.state is RequesterState.RETRYING, *sender.retries,
            sender.since_ack_request,
        )  # fmt: skip

    def heard(self, acks: int, naks: int) -> None:
        """Compiled code received `acks` ACKs and `naks` sequence NAKs."""
        self.qp.counters.acks_received += acks
        self.qp.counters.naks_received += naks

    def went_on(self, sent: int, resent: int, there: Reached) -> None:
        """Compiled code sent `sent` packets, and brought the requester there. `resent`: packets retransmitted in
        all."""
        self.qp.counters.packets_sent += sent
        self.qp.counters.packets_retransmitted = resent
        self.sender.brought_to(there)
