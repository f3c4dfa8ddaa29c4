"""Rules of RC endpoints with IRN, judged at the endpoint itself, frame by frame: as `endpoint_rules`, by a second, much
simpler queue pair that works with plain sets.

- `msn_counts_messages`, `answers_are_earned`: every packet that came is answered once, in turn, with what is expected
  next, its own PSN, whether that shows a gap, and the number of messages that came whole and in order. A map says of
  nothing that it is here but of what came.
- `answers_are_given`: before the host sends a request.
- `acks_are_believed`: what was answered to have arrived is not sent again.
- `requests_in_order`: a request is the next PSN inside the cap, or one that was sent; a failed pair sends none.
- `holes_alone_again`: what is sent again is the oldest unacknowledged packet, or lacks below one that arrived; and each
  but once, until a timer is over, or the recovery: all that had left when the oldest was sent again is acknowledged.
  Under `irn-rack`: or something that left after its last copy arrived, or, where packets may wait in the network, a
  timer is over, or, elsewhere, it is the newest that did not arrive, and nothing was sent or heard for two round trips.
  Under `irn-held`: a map has its bit clear and names as the newest something that left no earlier than
  its last copy. When a timer is over, and since the one before nothing came but the packet that this had sent again:
  all that had left by then.
- `timers_wait`: what no answer asked for is sent again only when RTO_low is over since the last progress, or RTO_high
  when more than N were in flight; where no packet waits in the network, of those that are not known to have arrived.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from testbed.hunt.irn_copy_rules import HeldSenderRules, RackSenderRules
from testbed.hunt.irn_sender_rules import ACK, Sender
from workloads.config import IRN_HELD, QpConfig
from workloads.events import FrameRejected
from workloads.machine import Event
from workloads.rc.captured import FrameRole, RoceFrame
from workloads.rc.irn_receiver import MOST_AHEAD
from workloads.rc.transport import RELIABLE

__all__ = ["IRN_RULES", "IrnPair", "is_request"]

_after, _distance = RELIABLE.after, RELIABLE.distance

IRN_RULES = ("holes_alone_again", "timers_wait")
"""rules of IRN, in addition to those of `endpoint_rules`"""
_UNTAKEN = ("no_receive", "too_far")
_NOT_SERVED = RELIABLE.unserved_kinds
"""requests all the same: they have a PSN, by which they are duplicates, or else are refused"""


class _Answer(NamedTuple):
    is_gap: bool
    cumulative: int
    selective: int
    msn: int


def is_request(found: RoceFrame) -> bool:
    return found.role is FrameRole.DATA or found.opcode in _NOT_SERVED


def _ends_message(found: RoceFrame) -> bool:
    """Each packet of IRN has an address. The last one of a message has an immediate."""
    part = RELIABLE.message_parts[found.opcode]
    return part.is_write and part.starts and part.has_imm


class IrnPair:
    """One queue pair of a host."""

    def __init__(self, config: QpConfig, tell: Callable[[QpConfig, str, str], None]) -> None:
        self.config, self._tell = config, tell
        self.own, self.peer = config.envelope.src_ip, config.envelope.dst_ip
        self.failed = False
        kind = {"irn-rack": RackSenderRules, IRN_HELD: HeldSenderRules}.get(config.recovery, Sender)
        self._sender, self._receiver = kind(config, self.tell), _Receiver(self)

    def tell(self, rule: str, what: str) -> None:
        self._tell(self.config, rule, what)

    def came(self, found: RoceFrame, now: int) -> None:
        if found.role is FrameRole.ANSWER and found.sack is not None:
            self._sender.heard(found.syndrome, *found.sack, now)
            if found.held is not None:
                self._sender.told(*found.held)
        elif is_request(found):
            self._receiver.asked(found)

    def told(self, event: Event) -> None:
        if isinstance(event, FrameRejected) and event.reason in _UNTAKEN:
            self._receiver.untaken()

    def handled(self) -> None:
        self._receiver.request = None

    def left(self, found: RoceFrame, now: int) -> None:
        if found.role is FrameRole.ANSWER:
            self._receiver.answered(found)
        elif found.role is FrameRole.DATA:
            self.drained()
            if self.failed:
                self.tell("requests_in_order", f"sends PSN {found.psn} although it failed")
            else:
                self._sender.sent(found.psn, now)

    def drained(self) -> None:
        if not self.failed:
            self._receiver.has_answered()

    def woke(self, now: int) -> None:
        self._sender.woke(now)


class _Receiver:
    def __init__(self, pair: IrnPair) -> None:
        self._pair = pair
        self._first = _after(pair.config.peer_first_psn, 0)
        self._expected = 0
        """PSNs as distances from the first one"""
        self._here: dict[int, bool] = {}
        """what came from there on: whether it ends its message"""
        self._messages = 0
        self._owed: deque[_Answer] = deque()
        self.request: RoceFrame | None = None
        """under judgement"""

    def asked(self, request: RoceFrame) -> None:
        self.request = request
        at = self._expected + _distance(request.psn, self._first + self._expected)
        if at - self._expected >= MOST_AHEAD:
            return
        if at >= self._expected and at not in self._here:
            if request.opcode in _NOT_SERVED:
                return  # nothing but a refusal
            self._here[at] = _ends_message(request)
        while (ends := self._here.pop(self._expected, None)) is not None:
            self._expected += 1
            self._messages += ends
        self._owed.append(
            _Answer(at > self._expected, self._psn(self._expected), request.psn, _after(self._messages, 0))
        )

    def untaken(self) -> None:
        """The request came too early to be taken: it is as if it were lost. Hosts of ours have their receives
        posted."""
        if self._owed and self.request is not None and self._owed[-1].selective == self.request.psn:
            self._owed.pop()

    def _psn(self, at: int) -> int:
        return _after(self._first + at, 0)

    def answered(self, answer: RoceFrame) -> None:
        if answer.syndrome not in (ACK, RELIABLE.gap_code):
            return  # a refusal: what is wrong with a request is the responder's to know
        tell = self._pair.tell
        if answer.held is not None:
            self._judge_map(*answer.held, answer.psn)
        if answer.sack is None or not self._owed:
            tell("answers_are_earned", f"an answer about PSN {answer.psn}, and nothing is to be answered")
            return
        owed, said = self._owed.popleft(), _Answer(answer.syndrome == RELIABLE.gap_code, *answer.sack, answer.msn)
        if said.msn != owed.msn:
            tell(
                "msn_counts_messages",
                f"MSN {said.msn} in an answer about PSN {said.selective}, by which {owed.msn} messages ended",
            )
        elif said != owed or answer.psn != owed.selective:
            tell("answers_are_earned", f"answers {said}; what came makes that {owed}")

    def _judge_map(self, first: int, count: int, bits: int, newest: int, answered: int) -> None:
        start = self._expected + _distance(first, self._psn(self._expected))
        here = [start + number < self._expected or start + number in self._here for number in range(count)]
        if newest != answered:
            self._pair.tell("answers_are_earned", f"its map names PSN {newest}, but it is about {answered}")
        elif any(bits >> number & 1 and not came for number, came in enumerate(here)):
            self._pair.tell("answers_are_earned", f"its map from PSN {first} on says that more is here than came")

    def has_answered(self) -> None:
        if self._owed:
            self._pair.tell(
                "answers_are_given", f"must send an answer about PSN {self._owed[0].selective}, and goes on without it"
            )
            self._owed.clear()
