"""A queue pair as compiled code sees it: go-back-N, with calls for whole runs of packets and answers instead of single
ones."""

from __future__ import annotations

from workloads.rc.go_back_n import GoBackN
from workloads.rc.message import OutMessage
from workloads.rc.queue_pair import QueuePair
from workloads.rc.recovery import rto_ns
from workloads.rc.requester_table import RequesterState
from workloads.rc.responder import Responder

__all__ = ["CompiledPair", "can_be_compiled"]


def can_be_compiled(qp: QueuePair) -> bool:
    """The compiled code knows go-back-N alone. It reports no steps, and it knows no marks, no rates and no trimmed
    packets."""
    config = qp.config
    plain = not config.trace and config.dcqcn is None and not config.trimming
    return isinstance(qp.requester.recovery, GoBackN) and plain


class CompiledPair:
    """Both halves of a queue pair of that kind, and the means to bring the sending one on."""

    def __init__(self, qp: QueuePair) -> None:
        assert isinstance(qp.requester.recovery, GoBackN)
        assert isinstance(qp.responder, Responder)
        self.qp, self.sender, self.responder = qp, qp.requester.recovery, qp.responder
        self._queue = qp.requester.queue
        self._rto = rto_ns(qp.config.timeout_code) or 0

    @property
    def may_send(self) -> bool:
        """Whether its state lets it send new packets, and receive ACKs while it does."""
        return self.sender.state is RequesterState.SENDING or self.sender.state is RequesterState.RETRYING

    @property
    def next_message(self) -> OutMessage | None:
        """The message that holds the next packet."""
        return self.sender.message_at_next

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

    def standing(self) -> tuple[int, int, int, int, int, int, int, int]:
        """(una, nxt, max_nxt, end of what is posted, end of the oldest message, window, RTO or 0, deadline or -1)."""
        sender, queue = self.sender, self._queue
        return (
            sender.una, sender.nxt, sender.max_nxt, queue.end, queue.messages[0].end if queue.messages else sender.una,
            sender.window, self._rto, -1 if sender.deadline is None else sender.deadline,
        )  # fmt: skip

    def went_on(self, sent: int, since_ack_request: int, acks: int, una: int, deadline: int | None) -> None:
        """Compiled code sent `sent` packets of `next_message` and received `acks` ACKs, up to `una` and no message's
        end."""
        if sent:
            message = self.sender.message_at_next
            assert message is not None
            self.sender.sent(message, sent, since_ack_request, 0)
        self.sender.acknowledged(acks, una, 0)
        self.sender.deadline = deadline

    def heard_stale(self, acks: int) -> None:
        """Compiled code received `acks` ACKs that say nothing new."""
        self.sender.acknowledged(acks, self.sender.una, 0)
