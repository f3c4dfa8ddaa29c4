"""Rules of RC endpoints (protocol text, section 10), judged at the endpoint itself, frame by frame.

A capture at a switch knows neither what a fault did behind it nor what a host knew when it answered. Here a second,
much simpler queue pair runs next to each queue pair of a host. It hears the same frames, and says what the first may
believe and send.

- `msn_counts_messages`: the MSN of every answer is the number of messages that end in front of what it covers.
- `answers_are_earned`: an ACK covers what came in order. A NAK names the first missing PSN, once per gap. An RNR NAK
  names a packet that came and was refused. No answer takes another one back.
- `answers_are_given`: AckReq, a duplicate, a gap and a refusal are answered before the host sends anything else.
- `acks_are_believed`: the oldest unacknowledged PSN follows from the answers about PSNs that were sent, and from
  nothing else.
- `rnr_is_waited_for`: nothing leaves a queue pair until the time in an RNR NAK is over.
- `requests_in_order`: a request is the next PSN or the oldest unacknowledged one, inside the window. A failed pair
  sends none.

These are the rules of go-back-N; `irn_rules` has those of IRN.
"""

from __future__ import annotations

from collections.abc import Callable

from testbed.hunt.irn_rules import IRN_RULES, IrnPair, is_request
from testbed.hunt.watch import Tell
from workloads.config import QpConfig, WorkerConfig
from workloads.events import QpFailed, QpStepped
from workloads.machine import Event
from workloads.rc.captured import FrameRole, MalformedFrame, RoceFrame, parse_frame
from workloads.rc.transport import RELIABLE, AnswerKind

__all__ = ["ENDPOINT_RULES", "EndpointWatch"]

_after, _distance = RELIABLE.after, RELIABLE.distance

ENDPOINT_RULES = (
    "msn_counts_messages", "answers_are_earned", "answers_are_given", "acks_are_believed", "rnr_is_waited_for",
    "requests_in_order", *IRN_RULES,
)  # fmt: skip
_HEARD = (AnswerKind.ACK, AnswerKind.WAIT, AnswerKind.GAP, AnswerKind.REFUSAL)


class EndpointWatch:
    """A Watch over one life of a host."""

    hears_sent = True

    def __init__(self, config: WorkerConfig, tell: Tell) -> None:
        def told(qp: QpConfig, rule: str, what: str) -> None:
            tell(rule, f"{config.name}, QP {qp.qpn:#x}: {what}")

        pairs: list[_Pair | IrnPair] = [
            IrnPair(qp, told) if qp.speaks_irn else _Pair(qp, told) for qp in config.queue_pairs
        ]
        self._by_number = {pair.config.qpn: pair for pair in pairs}
        self._incoming = {(pair.peer, pair.own, pair.config.qpn): pair for pair in pairs}
        self._outgoing = {(pair.own, pair.peer, pair.config.peer_qpn): pair for pair in pairs}

    def came(self, frame: bytes, now: int) -> None:
        found = _read(frame)
        pair = self._incoming.get(found.connection) if found is not None else None
        if found is None or pair is None or pair.failed:
            return
        pair.came(found, now)

    def told(self, event: Event) -> None:
        if isinstance(event, QpFailed):
            self._by_number[event.qpn].failed = True
        for pair in self._by_number.values():
            if not pair.failed:
                pair.told(event)

    def handled(self) -> None:
        for pair in self._by_number.values():
            pair.handled()

    def left(self, frame: bytes, now: int) -> None:
        found = _read(frame)
        pair = self._outgoing.get(found.connection) if found is not None else None
        if found is not None and pair is not None:
            if found.role is FrameRole.DATA:
                self.drained()
            pair.left(found, now)

    def drained(self) -> None:
        for pair in self._by_number.values():
            pair.drained()

    def woke(self, now: int) -> None:
        for pair in self._by_number.values():
            pair.woke(now)


def _read(frame: bytes) -> RoceFrame | None:
    """None for what no queue pair looks at."""
    try:
        found = parse_frame(frame)
    except MalformedFrame:
        return None
    return found if found is not None and found.icrc_valid else None


class _Pair:
    def __init__(self, config: QpConfig, tell: Callable[[QpConfig, str, str], None]) -> None:
        self.config, self._tell = config, tell
        self.own, self.peer = config.envelope.src_ip, config.envelope.dst_ip
        self.failed = False
        self.sender, self.receiver = _Sender(self), _Receiver(self)

    def tell(self, rule: str, what: str) -> None:
        self._tell(self.config, rule, what)

    def came(self, found: RoceFrame, now: int) -> None:
        if found.role is FrameRole.ANSWER:
            self.sender.heard(found.psn, found.syndrome, now)
        elif is_request(found):
            self.receiver.asked(found)

    def told(self, event: Event) -> None:
        if isinstance(event, QpStepped) and event.qpn == self.config.qpn:
            self.failed |= event.next == "error"
            if not self.failed:
                (self.sender if event.side == "requester" else self.receiver).stepped(event.psn)

    def handled(self) -> None:
        self.receiver.request = None

    def left(self, found: RoceFrame, now: int) -> None:
        if found.role is FrameRole.ANSWER:
            self.receiver.answered(found)
        elif found.role is FrameRole.DATA and self.failed:
            self.tell("requests_in_order", f"sends PSN {found.psn} although it failed")
        elif found.role is FrameRole.DATA:
            self.sender.sent(found.psn)

    def drained(self) -> None:
        if not self.failed:
            self.receiver.has_answered()

    def woke(self, now: int) -> None:
        self.sender.woke(now)


class _Sender:
    """PSNs count on without wrapping."""

    def __init__(self, pair: _Pair) -> None:
        self._pair = pair
        self._oldest = self._end = pair.config.first_psn
        """oldest unacknowledged PSN; the first that never left"""
        self._next = self._oldest
        self._waits_until: int | None = None

    def heard(self, psn: int, syndrome: int, now: int) -> None:
        """An answer. What it says of PSNs that are acknowledged, or never left, says nothing."""
        named = self._oldest + _distance(psn, self._oldest)
        covers = named + 1 if RELIABLE.answer_kind(syndrome) is AnswerKind.ACK else named
        if not self._oldest <= named < self._end:
            return
        if RELIABLE.answer_kind(syndrome) not in _HEARD:
            return
        self._oldest, self._next = covers, max(self._next, covers)
        if covers == self._end:
            self._waits_until = None
        elif RELIABLE.answer_kind(syndrome) is AnswerKind.WAIT and self._waits_until is None:
            self._waits_until = now + RELIABLE.pause_ns(syndrome)

    def woke(self, now: int) -> None:
        if self._waits_until is not None and self._waits_until <= now:
            self._waits_until = None

    def stepped(self, oldest: int) -> None:
        if oldest != _after(self._oldest, 0):
            mine = _after(self._oldest, 0)
            self._pair.tell(
                "acks_are_believed",
                f"takes PSN {oldest} for the oldest unacknowledged one; the answers that it received say {mine}",
            )
            self._oldest += _distance(oldest, mine)

    def sent(self, psn: int) -> None:
        at = self._oldest + _distance(psn, self._oldest)
        if self._waits_until is not None:
            self._pair.tell("rnr_is_waited_for", f"sends PSN {psn} before the time of an RNR NAK is over")
        elif at not in (self._oldest, self._next) or at - self._oldest >= self._pair.config.window_packets:
            oldest, following = _after(self._oldest, 0), _after(self._next, 0)
            self._pair.tell(
                "requests_in_order", f"sends PSN {psn}; unacknowledged from {oldest} on, {following} is next"
            )
        self._next = at + 1
        self._end = max(self._end, self._next)


class _Receiver:
    def __init__(self, pair: _Pair) -> None:
        self._pair = pair
        self._expected = _after(pair.config.peer_first_psn, 0)
        self._messages = 0
        self._messages_to = {_after(self._expected, -1): 0}
        """messages that had ended when a PSN was accepted"""
        self._gap = False
        self._sequence_naks: dict[int, int] = {}
        self._rnr_naks: dict[int, int] = {}
        """earned and not given, by the PSN that they name"""
        self._covered = self._expected
        self._owes: int | None = None
        """an answer that covers what is in front of this PSN"""
        self.request: RoceFrame | None = None
        """under judgement"""

    def asked(self, request: RoceFrame) -> None:
        self.request = request
        distance = _distance(request.psn, self._expected)
        if distance < 0:
            self._owes = self._expected
        elif distance > 0 and not self._gap:
            self._gap, self._owes = True, self._expected
            _earn(self._sequence_naks, self._expected)

    def stepped(self, expected: int) -> None:
        """What the Machine made of the request."""
        request, before = self.request, self._expected
        is_next = request is not None and request.psn == before
        if request is not None and is_next and expected == _after(before, 1):
            self._messages += RELIABLE.message_parts[request.opcode].ends
            self._messages_to[before] = _after(self._messages, 0)
            self._expected, self._gap = expected, False
            if request.ack_req:
                self._owes = expected
        elif expected != before:
            self._pair.tell("answers_are_earned", f"expects PSN {expected} after {before}, which did not come")
            self._expected = expected
        elif is_next:
            self._gap, self._owes = False, before
            _earn(self._rnr_naks, before)

    def answered(self, answer: RoceFrame) -> None:
        psn, syndrome = answer.psn, answer.syndrome
        covers = _after(psn, 1) if RELIABLE.answer_kind(syndrome) is AnswerKind.ACK else psn
        messages = self._messages_to.get(_after(covers, -1))
        if messages is None or _distance(covers, self._expected) > 0:
            self._pair.tell("answers_are_earned", f"answers about PSN {psn}; it expects {self._expected}")
        elif messages != answer.msn:
            self._pair.tell(
                "msn_counts_messages",
                f"MSN {answer.msn} in an answer about PSN {psn}, by which {messages} messages ended",
            )
        elif _distance(covers, self._covered) < 0:
            self._pair.tell("answers_are_earned", f"an answer about PSN {psn} takes back one about {self._covered}")
        elif syndrome == RELIABLE.gap_code and not _spend(self._sequence_naks, psn):
            self._pair.tell("answers_are_earned", f"a sequence NAK for PSN {psn} without a gap, or its second one")
        elif RELIABLE.answer_kind(syndrome) is AnswerKind.WAIT and not _spend(self._rnr_naks, psn):
            self._pair.tell("answers_are_earned", f"an RNR NAK for PSN {psn}, which it did not refuse")
        self._covered = covers
        if self._owes is not None and _distance(covers, self._owes) >= 0:
            self._owes = None

    def has_answered(self) -> None:
        if self._owes is not None:
            self._pair.tell("answers_are_given", f"must answer up to PSN {self._owes}, and goes on without an answer")
            self._owes = None


def _earn(naks: dict[int, int], psn: int) -> None:
    naks[psn] = naks.get(psn, 0) + 1


def _spend(naks: dict[int, int], psn: int) -> bool:
    naks[psn] = naks.get(psn, 0) - 1
    return naks[psn] >= 0
