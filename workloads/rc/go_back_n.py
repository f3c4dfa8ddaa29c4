"""Go-back-N by the table `requester_table`. It handles no bytes and no clock: answers and time go in, packets come out.

Sequence numbers here count on without wrapping, and only their low 24 bits are on the wire. So only the translation of
an answer's PSN handles the wrap.
"""

from __future__ import annotations

from typing import NamedTuple

from workloads.config import QpConfig
from workloads.events import FrameRejected, QpStepped, Retransmission
from workloads.rc.inbound import Inbound
from workloads.rc.message import OutMessage, RequestPacket
from workloads.rc.recovery import FATAL_SYNDROMES, MAX_WINDOW, rto_ns
from workloads.rc.requester_table import REQUESTER_TABLE, RequesterAction, RequesterEvent, RequesterState
from workloads.rc.send_queue import SendQueue
from workloads.rc.tally import Counters, Outbox
from workloads.transports.messages import SendRequest
from workloads.wire import PSN_MASK, Nak, is_ack, is_rnr, psn_diff, rnr_timer_ns

__all__ = ["INFINITE_RNR_RETRY", "GoBackN"]

INFINITE_RNR_RETRY = 7

_CAUSE = {
    RequesterEvent.NAK_SEQUENCE: "nak",
    RequesterEvent.NAK_RENEWED: "nak",
    RequesterEvent.TIMER: "timeout",
    RequesterEvent.TIMER_SPENT: "timeout",
}


class Reached(NamedTuple):
    """How far compiled code brought a requester."""

    una: int
    nxt: int
    max_nxt: int
    since_ack_request: int
    """these four: as in `GoBackN`"""
    spent: int
    """retries since progress"""
    retrying: bool
    deadline: int | None


class GoBackN:
    """A LossRecovery."""

    def __init__(self, config: QpConfig, queue: SendQueue, counters: Counters, outbox: Outbox) -> None:
        self._config, self._counters, self._outbox = config, counters, outbox
        self._queue, self._messages = queue, queue.messages
        self._traced = config.trace
        self.state = RequesterState.IDLE
        self.deadline: int | None = None
        self.una = self.nxt = self.max_nxt = config.first_psn
        self.window = min(config.window_packets, MAX_WINDOW)
        """PSNs that may be unacknowledged"""
        self._allowed = self.window
        """the same limit at present: lower after a packet was trimmed"""
        self._rto = rto_ns(config.timeout_code)
        self._cursor = 0
        """index of the message that holds `nxt`"""
        self.since_ack_request = 0
        """packets that left after the last one with AckReq"""
        self._refill()

    @property
    def can_send(self) -> bool:
        return (
            self.nxt < self._queue.end
            and self.nxt - self.una < self._allowed
            and (self.state is RequesterState.SENDING or self.state is RequesterState.RETRYING)
        )

    @property
    def failed(self) -> bool:
        return self.state is RequesterState.ERROR

    def check(self, request: SendRequest) -> None:
        """Does nothing: go-back-N carries all requests."""

    def posted(self) -> None:
        self._step(RequesterEvent.POST, 0)

    def next_packet(self, now: int) -> RequestPacket | None:
        if not self.can_send:
            return None
        message, sequence = self._messages[self._cursor], self.nxt
        asks = self._wants_ack(message, sequence)
        self.sent(message, 1, 0 if asks else self.since_ack_request + 1, now)
        return message.packet(sequence, sequence & PSN_MASK, asks)

    def _wants_ack(self, message: OutMessage, sequence: int) -> bool:
        """AckReq: on the end of a message, every so often, and when the window closes behind this packet."""
        return (
            sequence == message.end - 1
            or self.since_ack_request + 1 >= self._config.ack_request_every
            or sequence - self.una + 1 >= self._allowed
        )

    def sent(self, message: OutMessage, count: int, since_ack_request: int, now: int) -> None:
        """`count` packets of `message` left, from `nxt` on. `since_ack_request`: packets that left since the last
        AckReq."""
        self.since_ack_request = since_ack_request
        self._counters.packets_sent += count
        after = self.nxt + count
        if self.nxt < self.max_nxt:
            self._counters.packets_retransmitted += min(count, self.max_nxt - self.nxt)
        if after > self.max_nxt:
            self.max_nxt = after
        self.nxt = after
        if after == message.end:
            self._cursor += 1
        if self.deadline is None and self._rto is not None:
            self.deadline = now + self._rto

    def on_answer(self, packet: Inbound, now: int) -> None:
        assert packet.syndrome is not None, "an ACKNOWLEDGE has an AETH"
        self.hear(packet.psn, packet.syndrome, now)

    def hear(self, psn: int, syndrome: int, now: int) -> None:
        """An ACKNOWLEDGE packet: its BTH's PSN, its AETH's syndrome."""
        acknowledged = self.una + psn_diff(psn, self.una & PSN_MASK)
        asks: RequesterEvent | None = None
        if is_ack(syndrome):
            self._counters.acks_received += 1
            acknowledged += 1
        else:
            asks = self._asks(syndrome)
            if asks is RequesterEvent.ACK_STALE:
                return
        if acknowledged > self.max_nxt or (asks is not None and acknowledged == self.max_nxt):
            self._step(RequesterEvent.ACK_UNSENT, now, psn=psn)
            return
        if asks is None or acknowledged != self.una:
            stale = acknowledged < self.una
            self._progress(acknowledged, now)
            if stale:
                return
        if asks is not None:
            self._step(self._spent(asks), now, syndrome=syndrome)

    def acknowledged(self, acks: int, acknowledged: int, now: int) -> None:
        """`acks` ACKs came. Together they say that everything in front of `acknowledged` arrived."""
        self._counters.acks_received += acks
        self._progress(acknowledged, now)

    @property
    def retries(self) -> tuple[int, int, bool]:
        """How many are left, and how many after progress; whether they never run out."""
        config = self._config
        return self._retry_left, config.retry_count, config.retry7_infinite and config.retry_count == 7

    def skip_to(self, una: int) -> None:
        """Everything in front of `una` arrived, and its user knows. `brought_to` follows."""
        if una > self.una:
            self.una = una
            self._refill()

    def brought_to(self, there: Reached) -> None:
        """Code that sends and hears instead of it, in SENDING or RETRYING, left it there: the end of a message that
        was acknowledged came by `acknowledged`."""
        if there.una > self.una:
            self._acknowledge(there.una)
        self._retry_left -= there.spent
        self._tries += there.spent
        self.state = RequesterState.RETRYING if there.retrying else RequesterState.SENDING
        if there.una == self._queue.end:
            self.state = RequesterState.IDLE
        self.nxt, self.max_nxt, self.since_ack_request = there.nxt, there.max_nxt, there.since_ack_request
        self.deadline = there.deadline
        self._cursor = 0
        for message in self._messages:
            if message.end > there.nxt:
                break
            self._cursor += 1

    @property
    def place(self) -> int:
        """Number of messages in front of the one that holds `nxt`."""
        return self._cursor

    @property
    def message_at_next(self) -> OutMessage | None:
        """The message that holds `nxt`."""
        return self._messages[self._cursor] if self._cursor < len(self._messages) else None

    def _progress(self, acknowledged: int, now: int) -> None:
        """Everything in front of `acknowledged` arrived; nothing new if that is not in front of `una`."""
        if acknowledged <= self.una:
            self._step(RequesterEvent.ACK_STALE, now)
        elif acknowledged == self._queue.end:
            self._step(RequesterEvent.ACK_ALL, now, acknowledged=acknowledged)
        else:
            self._step(RequesterEvent.ACK_SOME, now, acknowledged=acknowledged)

    def _asks(self, syndrome: int) -> RequesterEvent:
        if is_rnr(syndrome):
            self._counters.rnr_naks_received += 1
            return RequesterEvent.NAK_RNR
        self._counters.naks_received += 1
        if syndrome == Nak.PSN_SEQUENCE:
            return RequesterEvent.NAK_RENEWED if self._config.trimming else RequesterEvent.NAK_SEQUENCE
        return RequesterEvent.NAK_FATAL if syndrome in FATAL_SYNDROMES else RequesterEvent.ACK_STALE  # a reserved value

    def on_timer(self, now: int) -> None:
        if self.deadline is not None and self.deadline <= now:
            self.deadline = None
            if self.state is not RequesterState.RNR_WAIT:
                self._counters.timeouts += 1
            self._step(self._spent(RequesterEvent.TIMER), now)

    def shut(self) -> None:
        self.state, self.deadline = RequesterState.ERROR, None
        self._flush()

    def _spent(self, event: RequesterEvent) -> RequesterEvent:
        """The same event, or its form for an empty budget."""
        config = self._config
        if event is RequesterEvent.NAK_RNR:
            spent = self._rnr_left == 0 and config.rnr_retry != INFINITE_RNR_RETRY
            return RequesterEvent.NAK_RNR_SPENT if spent else event
        if self._retry_left or (config.retry7_infinite and config.retry_count == 7):
            return event
        if event is RequesterEvent.NAK_SEQUENCE:
            return RequesterEvent.NAK_SEQUENCE_SPENT
        return RequesterEvent.TIMER_SPENT if event is RequesterEvent.TIMER else event

    def _step(self, event: RequesterEvent, now: int, *, acknowledged: int = 0, syndrome: int = 0, psn: int = 0) -> None:
        before = self.state
        self.state, actions = REQUESTER_TABLE[before, event]
        for action in actions:
            if action is RequesterAction.ACKNOWLEDGE:
                self._acknowledge(acknowledged)
            elif action is RequesterAction.RESTART_TIMER:
                running = self._rto is not None and self.una < self.max_nxt
                self.deadline = now + (self._rto or 0) if running else None
            elif action is RequesterAction.STOP_TIMER:
                self.deadline = None
            elif action is RequesterAction.SPEND_RETRY:
                self._retry_left -= 1
                self._tries += 1
            elif action is RequesterAction.SPEND_RNR:
                self._rnr_left -= 1
                self._tries += 1
            elif action is RequesterAction.GO_BACK:
                self._go_back("rnr" if before is RequesterState.RNR_WAIT else _CAUSE[event], now)
                if event is RequesterEvent.NAK_RENEWED:
                    self._allowed = 1
            elif action is RequesterAction.WAIT_RNR:
                self.deadline = now + rnr_timer_ns(syndrome)
            elif action is RequesterAction.REJECT:
                detail = f"{self._queue.route}: an answer about PSN {psn}, which was never sent"
                self._outbox.events.append(FrameRejected("bad_ack", detail))
            elif action is RequesterAction.FAIL:
                self._fail(event, syndrome)
            else:
                self._flush()
        if self._traced:
            self._tell_step(before, event)

    def _tell_step(self, before: RequesterState, event: RequesterEvent) -> None:
        names = before.name.lower(), event.name.lower(), self.state.name.lower()
        self._outbox.events.append(QpStepped(self._config.qpn, "requester", *names, self.una & PSN_MASK))

    def _acknowledge(self, acknowledged: int) -> None:
        self._allowed = min(self.window, self._allowed + acknowledged - self.una)
        self.una = acknowledged
        self._cursor -= self._queue.acknowledge(acknowledged)
        if self.nxt <= acknowledged:
            self.nxt, self._cursor = acknowledged, 0
        self._refill()

    def _refill(self) -> None:
        self._retry_left, self._rnr_left = self._config.retry_count, self._config.rnr_retry
        self._tries = 1

    def _go_back(self, cause: str, now: int) -> None:
        waited_ns = self._rto if cause == "timeout" else None
        resent = self._counters.packets_retransmitted
        self.went_back(cause, self.una & PSN_MASK, self.max_nxt - self.una, waited_ns, resent)
        self.nxt, self._cursor, self.since_ack_request = self.una, 0, 0
        self.deadline = None if self._rto is None else now + self._rto

    def went_back(self, cause: str, psn: int, behind: int, waited_ns: int | None, resent: int) -> None:
        """Report that the next packet is again the one with that PSN, of `behind` that left. `resent`: packets that
        were retransmitted before."""
        self._outbox.events.append(Retransmission(self._config.qpn, cause, psn, behind, waited_ns, resent))

    def _fail(self, event: RequesterEvent, syndrome: int) -> None:
        config = self._config
        if event is RequesterEvent.NAK_FATAL:
            status, reason = FATAL_SYNDROMES[syndrome]
            why = f"was {reason}"
        elif event is RequesterEvent.NAK_RNR_SPENT:
            status = "RNR_RETRY_EXC"
            why = f"found no receive posted, {self._tries} times (rnr_retry {config.rnr_retry})"
        else:
            status = "RETRY_EXC"
            wait = "for ever" if self._rto is None else f"{self._rto / 1e6:g} ms each time"
            why = (
                f"was sent {self._tries} times without being acknowledged (retry_count {config.retry_count}, "
                f"timeout {wait})"
            )
        self._queue.fail(status, self.una, why)
        self._flush()

    def _flush(self) -> None:
        self._queue.flush()
        self.una = self.nxt = self._queue.end
        self._cursor = 0
