"""IRN, the sending half of a queue pair: `irn_window` with messages, timers and counters. No bytes, no clock."""

from __future__ import annotations

from typing import NamedTuple

from workloads.config import QpConfig
from workloads.events import FrameRejected, Retransmission
from workloads.rc.inbound import Inbound
from workloads.rc.irn_window import SenderWindow, WindowState
from workloads.rc.message import OutMessage, RequestPacket
from workloads.rc.recovery import FATAL_SYNDROMES, MAX_WINDOW, rto_ns
from workloads.rc.send_queue import SendQueue
from workloads.rc.tally import Counters, Outbox
from workloads.transports.messages import SendRequest
from workloads.wire import PSN_MASK, Nak, Opcode, Reth, is_ack, psn_diff

__all__ = ["IrnSender", "SenderTimers", "irn_packet"]


_GAPS = (Nak.PSN_SEQUENCE, Nak.TRIMMED)
"""what an answer may say of a packet behind the expected one, or of that"""


class SenderTimers(NamedTuple):
    """What compiled code must know of a sender's timers; ns."""

    deadline: int
    """-1: none"""
    armed_at: int
    is_extended: bool
    progress_at: int
    timed_out: bool


def irn_packet(message: OutMessage, sequence: int) -> RequestPacket:
    """One packet of a message. Its RETH says where its own bytes go and how long the whole message is; the last packet
    has the immediate data."""
    index, ends = sequence - message.first, sequence == message.end - 1
    whole = Reth.decode(message.reth)
    reth = Reth(whole.va + index * message.mtu, whole.rkey, whole.length).encode()
    opcode = Opcode.WRITE_ONLY_IMM if ends else Opcode.WRITE_ONLY if index else Opcode.WRITE_FIRST
    return RequestPacket(
        opcode, sequence & PSN_MASK, True, reth + message.imm if ends else reth, message.payload(index)
    )


class IrnSender:
    """A LossRecovery. It gives up when nothing new was acknowledged for as long as go-back-N would wait: (retry_count +
    1) timeouts of `timeout_code`.

    Where packets may wait in the network for those of other hosts, none of many may arrive because another host waits
    for its own timer. Then the timer lasts RTO_low longer: until that host has repeated its packet and sent those that
    the sum lacks."""

    def __init__(self, config: QpConfig, queue: SendQueue, counters: Counters, outbox: Outbox) -> None:
        self._config, self._irn, self._queue = config, config.irn, queue
        self._counters, self._outbox = counters, outbox
        self.cap = max(1, min(config.irn.cap_packets, config.window_packets, MAX_WINDOW))
        """PSNs that may be unacknowledged"""
        self.window = SenderWindow(config.first_psn, self.cap, in_order=config.irn.in_order)
        self.deadline: int | None = None
        self._armed_at = 0
        self._is_extended = False
        """RTO_low is over, and RTO_high runs, or RTO_high + RTO_low"""
        self._progress_at = 0
        self._timed_out = False
        """the packet that is sent again next is so because a timer ran out"""
        self._waited_ns = 0
        """time without progress before that timer ran out"""
        rto = rto_ns(config.timeout_code)
        endless = config.retry7_infinite and config.retry_count == 7
        self._give_up_ns = None if rto is None or endless else rto * (config.retry_count + 1)
        self._failed = False

    @property
    def una(self) -> int:
        return self.window.una

    @property
    def can_send(self) -> bool:
        return not self._failed and self.window.upcoming(self._queue.end) is not None

    @property
    def failed(self) -> bool:
        return self._failed

    def check(self, request: SendRequest) -> None:
        if request.remote_va is None:
            raise ValueError(
                f"request {request.wr_id} is a SEND: IRN places packets out of order, so each must say where it goes"
            )
        if request.imm is None:
            raise ValueError(f"request {request.wr_id} has no immediate data, which ends a message under IRN")

    def posted(self) -> None:
        if self._failed:
            self._flush()

    def next_packet(self, now: int) -> RequestPacket | None:
        window = self.window
        sequence = None if self._failed else window.upcoming(self._queue.end)
        if sequence is None:
            return None
        self._counters.packets_sent += 1
        if sequence < window.nxt:
            self._counters.packets_retransmitted += 1
            if window.was_trimmed(sequence):
                self.sent_again(sequence & PSN_MASK, "trimmed")
            else:
                self.sent_again(sequence & PSN_MASK, "timeout" if self._timed_out else "nak")
                self._timed_out = False
        window.left(sequence)
        if self.deadline is None:
            self._progress_at = now
            self.arm(now)
        return irn_packet(self._queue.holding(sequence), sequence)

    def on_answer(self, packet: Inbound, now: int) -> None:
        assert packet.syndrome is not None
        assert packet.sack is not None
        if self._failed:
            return
        window, syndrome = self.window, packet.syndrome
        oldest = window.una & PSN_MASK
        cumulative, selective = (window.una + psn_diff(psn & PSN_MASK, oldest) for psn in packet.sack)
        wrong = ""
        if cumulative > window.nxt or selective >= window.nxt:
            wrong = "which was never sent"
        elif (is_ack(syndrome) or syndrome in _GAPS) and is_ack(syndrome) != (selective < cumulative):
            wrong = f"which contradicts itself: syndrome {syndrome:#04x} with PSN {packet.sack[0]} expected next"
        if wrong:
            detail = f"{self._queue.route}: an answer about PSN {packet.sack[1]}, {wrong}"
            self._outbox.events.append(FrameRejected("bad_ack", detail))
            return
        if is_ack(syndrome):
            self._counters.acks_received += 1
        else:
            self._counters.naks_received += 1
            if syndrome in FATAL_SYNDROMES:
                self.acknowledged(cumulative)
                status, reason = FATAL_SYNDROMES[syndrome]
                self._fail(status, f"was {reason}")
                return
            if syndrome not in _GAPS or (syndrome == Nak.TRIMMED and not self._config.trimming):
                return  # a reserved value
        if syndrome == Nak.TRIMMED:
            brings_new = window.trimmed(cumulative, selective)
            if window.in_flight:
                self.arm(now)  # it is resent at once: the timer is for losses that no answer reports
        else:
            brings_new = window.heard(syndrome == Nak.PSN_SEQUENCE, cumulative, selective)
        if brings_new:
            self._timed_out = False
            self.acknowledged(cumulative)
            self._progress_at = now
            if window.in_flight:
                self.arm(now)
            else:
                self.deadline = None

    def on_timer(self, now: int) -> None:
        if self.deadline is None or self.deadline > now:
            return
        irn, window = self._irn, self.window
        counts_missing = irn.in_order or self._config.trimming  # else a hole may be the loss of another host
        many = (window.unheard if counts_missing else window.in_flight) > irn.few_packets
        if many and not self._is_extended:
            self._is_extended = True
            is_held_up = not irn.in_order and window.unheard == window.in_flight
            self.deadline = self._armed_at + irn.rto_high_ns + is_held_up * irn.rto_low_ns
            if self.deadline > now:
                return
        if self._give_up_ns is not None and now - self._progress_at >= self._give_up_ns:
            self._counters.timeouts += 1
            waited = (now - self._progress_at) / 1e6
            self._fail("RETRY_EXC", f"was not acknowledged for {waited:g} ms (retry_count {self._config.retry_count})")
            return
        self.window.timed_out()
        self.wait_ended(now)

    def wait_ended(self, now: int) -> None:
        """A timer has a packet sent again, which leaves next."""
        self._counters.timeouts += 1
        self._timed_out, self._waited_ns = True, now - self._progress_at
        self.arm(now)

    def shut(self) -> None:
        self._failed, self.deadline = True, None
        self._flush()

    def arm(self, now: int) -> None:
        """RTO_low begins."""
        self._armed_at, self._is_extended = now, False
        self.deadline = now + self._irn.rto_low_ns

    def acknowledged(self, cumulative: int) -> None:
        """Everything in front of that sequence number arrived; messages may complete by it."""
        self._queue.acknowledge(cumulative)

    def sent_again(self, psn: int, cause: str) -> None:
        """A packet was resent; `cause` as in `Retransmission`."""
        waited_ns = self._waited_ns if cause == "timeout" else None
        self._outbox.events.append(Retransmission(self._config.qpn, cause, psn, 1, waited_ns))

    @property
    def timers(self) -> SenderTimers:
        return SenderTimers(
            -1 if self.deadline is None else self.deadline,
            self._armed_at, self._is_extended, self._progress_at, self._timed_out,
        )  # fmt: skip

    def went_on(self, window: WindowState, timers: SenderTimers) -> None:
        """Compiled code sent and heard for it, up to there."""
        self.window.state = window
        deadline, self._armed_at, self._is_extended, self._progress_at, self._timed_out = timers
        self.deadline = None if deadline < 0 else deadline

    def _fail(self, status: str, why: str) -> None:
        self._failed, self.deadline = True, None
        if self._queue.messages:
            self._queue.fail(status, self.window.una, why)
        self._flush()

    def _flush(self) -> None:
        self._queue.flush()
        self.window.una = self.window.nxt = self._queue.end
