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
  timer is over. Under `irn-held`: a map has its bit clear and names as the newest something that left no earlier than
  its last copy. When a timer is over, and since the one before nothing came but the packet that this had sent again:
  all that had left by then.
- `timers_wait`: what no answer asked for is sent again only when RTO_low is over since the last progress, or RTO_high
  when more than N were in flight.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from testbed.checkers.frames import RoceFrame, Role
from workloads.config import IRN_HELD, QpConfig
from workloads.events import FrameRejected
from workloads.machine import Event
from workloads.rc.irn_receiver import MOST_AHEAD
from workloads.wire import PSN_MASK, Nak, Opcode, psn_diff

__all__ = ["IRN_RULES", "IrnPair", "is_request"]

IRN_RULES = ("holes_alone_again", "timers_wait")
"""beside those of `endpoint_rules`"""
_ACK = 0
_UNTAKEN = ("no_receive", "too_far")
_NOT_SERVED = frozenset((Opcode.READ_REQUEST, Opcode.CMP_SWAP, Opcode.FETCH_ADD))
"""requests all the same: they have a PSN, by which they are duplicates, or else are refused"""


class _Answer(NamedTuple):
    is_gap: bool
    cumulative: int
    selective: int
    msn: int


def is_request(found: RoceFrame) -> bool:
    return found.role is Role.DATA or found.opcode in _NOT_SERVED


class IrnPair:
    """One queue pair of a host."""

    def __init__(self, config: QpConfig, tell: Callable[[QpConfig, str, str], None]) -> None:
        self.config, self._tell = config, tell
        self.own, self.peer = config.envelope.src_ip, config.envelope.dst_ip
        self.failed = False
        kind = {"irn-rack": _RackSender, IRN_HELD: _HeldSender}.get(config.recovery, _Sender)
        self._sender, self._receiver = kind(self), _Receiver(self)

    def tell(self, rule: str, what: str) -> None:
        self._tell(self.config, rule, what)

    def came(self, found: RoceFrame, now: int) -> None:
        if found.role is Role.ANSWER and found.sack is not None:
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
        if found.role is Role.ANSWER:
            self._receiver.answered(found)
        elif found.role is Role.DATA:
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


class _Sender:
    """PSNs count on without wrapping."""

    def __init__(self, pair: IrnPair) -> None:
        self._pair, self._irn = pair, pair.config.irn
        self._oldest = self._end = pair.config.first_psn
        self._arrived: set[int] = set()
        self._since = 0
        """the last progress, or the last time that its timer was over"""
        self._fired: int | None = None
        """its timer was over then, and nothing was sent again since"""
        self._gap_told = False
        """an answer showed a gap since the last progress, or since the one before while packets behind it are here"""
        self._round, self._again = 0, dict[int, int]()
        """how often a timer was over or a recovery ended; in which round each PSN was sent again last"""
        self._recover_to: int | None = None
        """a recovery goes on until more than this is acknowledged"""
        self._waited_for = self._lost_to = self._oldest - 2
        """the oldest PSN when the timer was over last; all up to here is taken for lost"""

    def woke(self, now: int) -> None:
        many = self._end - self._oldest > self._irn.few_packets
        is_over = now - self._since >= (self._irn.rto_high_ns if many else self._irn.rto_low_ns)
        if self._fired is None and self._end > self._oldest and is_over:
            is_burst = self._waited_for == self._oldest - 1 and not self._arrived
            asked = self._asked_by_a_timer()
            self._lost_to = self._end - 1 if is_burst else asked
            self._fired, self._waited_for = now, self._oldest

    def _asked_by_a_timer(self) -> int:
        """The oldest packet apart, all up to here."""
        return self._oldest - 1

    def heard(self, syndrome: int, cumulative: int, selective: int, now: int) -> None:
        named = [self._oldest + psn_diff(psn & PSN_MASK, self._oldest & PSN_MASK) for psn in (cumulative, selective)]
        expected, answered = named
        if expected > self._end or answered >= self._end or syndrome not in (_ACK, Nak.PSN_SEQUENCE):
            return
        if (syndrome == _ACK) != (answered < expected):
            return
        progress = expected > self._oldest
        if progress:
            self._round += self._fired is not None  # a timer was over, if its packet did not leave
            self._oldest, self._since, self._fired = expected, now, None
            self._again = {psn: round_ for psn, round_ in self._again.items() if psn >= expected}
            if self._recover_to is not None and expected > self._recover_to:
                self._recover_to = None
                self._round += 1
        before = {psn for psn in self._arrived if psn > self._oldest}
        if progress:  # a gap above the one that was filled: what lacks there was known to lack
            self._gap_told &= bool(before)
        if syndrome == Nak.PSN_SEQUENCE:
            before.add(answered)
            self._gap_told |= expected == self._oldest
        self._arrived = {psn for psn in before if psn > self._oldest}

    def told(self, first: int, count: int, bits: int, newest: int) -> None:
        """A map came: `irn-held` alone heeds it."""

    def sent(self, psn: int, now: int) -> None:
        at = self._oldest + psn_diff(psn, self._oldest & PSN_MASK)
        oldest, end = self._oldest & PSN_MASK, self._end & PSN_MASK
        tell = self._pair.tell
        if at == self._end:
            cap = min(self._irn.cap_packets, self._pair.config.window_packets)
            if at - self._oldest >= cap:
                tell("requests_in_order", f"sends PSN {psn} with {cap} packets unacknowledged, from {oldest} on")
            if self._end == self._oldest:
                self._since = now
            self._end += 1
        elif not self._oldest <= at < self._end:
            tell("requests_in_order", f"sends PSN {psn}; unacknowledged from {oldest} on, {end} is next")
        elif at in self._arrived:
            tell("acks_are_believed", f"sends PSN {psn} again, which was answered to have arrived")
        else:
            self._repeats(at, psn)

    def _repeats(self, at: int, psn: int) -> None:
        tell, done = self._pair.tell, self._again.get(at) == self._round
        if at > max(self._oldest, self._lost_to, *self._arrived):
            tell("holes_alone_again", f"sends PSN {psn} again, and nothing behind it is known to have arrived")
        elif at != self._oldest and done:
            tell("holes_alone_again", f"sends PSN {psn} again a second time, and no timer was over")
        elif at == self._oldest and (self._fired is not None or done or not self._is_known_to_lack()):
            # After a timer this is its packet, known to lack or not.
            if self._fired is None:
                tell("timers_wait", f"sends PSN {psn} again before its timer was over")
            else:
                self._since = self._fired
            self._fired = None
            self._round += 1
        if at == self._oldest:
            self._recover_to = self._end - 1
        # What was due when a recovery ended still belongs to that one.
        self._again[at] = self._round - (self._recover_to is None)

    def _is_known_to_lack(self) -> bool:
        """The oldest packet. In a recovery any packet behind it that arrived says so, be it by an answer that was
        overtaken; and where packets are answered in the order in which they came, whatever moves it does."""
        in_recovery = self._recover_to is not None and (self._irn.in_order or bool(self._arrived))
        return self._gap_told or in_recovery or self._oldest <= self._lost_to


class _CountedSender(_Sender):
    """Knows in which order all copies left."""

    def __init__(self, pair: IrnPair) -> None:
        super().__init__(pair)
        self._copies: dict[int, list[int]] = {}
        """by PSN: places of its copies among all that left"""
        self._places = 0

    def heard(self, syndrome: int, cumulative: int, selective: int, now: int) -> None:
        super().heard(syndrome, cumulative, selective, now)
        self._copies = {psn: places for psn, places in self._copies.items() if psn >= self._oldest}

    def sent(self, psn: int, now: int) -> None:
        super().sent(psn, now)
        at = self._oldest + psn_diff(psn, self._oldest & PSN_MASK)
        self._places += 1
        self._copies.setdefault(at, []).append(self._places)

    def _is_of_the_timer(self, at: int) -> bool:
        """Whether it was over and nothing was sent again since; whatever else asks for the oldest packet, what leaves
        now is the timer's, too."""
        if at != self._oldest or self._fired is None:
            return False
        self._since, self._fired = self._fired, None
        return True


class _RackSender(_CountedSender):
    """What was overtaken may be sent again, as often as that happens; by how much, only the sender's clock knows."""

    def __init__(self, pair: IrnPair) -> None:
        super().__init__(pair)
        self._newest = self._timer_place = -1
        """the latest places of a packet that an answer named, and of what had left when a timer was over last"""

    def heard(self, syndrome: int, cumulative: int, selective: int, now: int) -> None:
        at = self._oldest + psn_diff(selective & PSN_MASK, self._oldest & PSN_MASK)
        self._newest = max(self._newest, *self._copies.get(at, (-1,)))
        super().heard(syndrome, cumulative, selective, now)

    def _asked_by_a_timer(self) -> int:
        self._timer_place = self._places
        oldest = super()._asked_by_a_timer()
        return oldest if self._irn.in_order else max((oldest, *self._arrived))

    def _repeats(self, at: int, psn: int) -> None:
        last = max(self._copies.get(at, (0,)))
        asked = at <= self._lost_to and last <= self._timer_place
        if self._is_of_the_timer(at) or last < self._newest or asked:
            return
        if at != self._oldest:
            self._pair.tell(
                "holes_alone_again", f"sends PSN {psn} again, and nothing that left after it is known to have arrived"
            )
        else:
            self._pair.tell("timers_wait", f"sends PSN {psn} again before its timer was over")


class _HeldSender(_CountedSender):
    """What a map tells of is sent again, as often as one does."""

    def __init__(self, pair: IrnPair) -> None:
        super().__init__(pair)
        self._seen: dict[int, int] = {}
        """by PSN on the wire: place of its latest copy"""
        self._asked: set[int] = set()

    def told(self, first: int, count: int, bits: int, newest: int) -> None:
        limit = self._seen.get(newest, 0)
        for number in range(count):
            at = self._oldest + psn_diff(first + number & PSN_MASK, self._oldest & PSN_MASK)
            if not bits >> number & 1 and max(self._copies.get(at, (limit + 1,))) <= limit:
                self._asked.add(at)

    def sent(self, psn: int, now: int) -> None:
        super().sent(psn, now)
        self._asked.discard(self._oldest + psn_diff(psn, self._oldest & PSN_MASK))
        self._seen[psn] = self._places

    def _repeats(self, at: int, psn: int) -> None:
        if self._is_of_the_timer(at) or at in self._asked or (at <= self._lost_to and at != self._oldest):
            return
        if at != self._oldest:
            self._pair.tell("holes_alone_again", f"sends PSN {psn} again, and no map asked for it")
        elif at > self._lost_to:
            self._pair.tell("timers_wait", f"sends PSN {psn} again before its timer was over")


class _Receiver:
    def __init__(self, pair: IrnPair) -> None:
        self._pair = pair
        self._first = pair.config.peer_first_psn & PSN_MASK
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
        at = self._expected + psn_diff(request.psn, (self._first + self._expected) & PSN_MASK)
        if at - self._expected >= MOST_AHEAD:
            return
        if at >= self._expected and at not in self._here:
            if request.opcode in _NOT_SERVED:
                return  # nothing but a refusal
            self._here[at] = request.opcode == Opcode.WRITE_ONLY_IMM
        while (ends := self._here.pop(self._expected, None)) is not None:
            self._expected += 1
            self._messages += ends
        self._owed.append(
            _Answer(at > self._expected, self._psn(self._expected), request.psn, self._messages & PSN_MASK)
        )

    def untaken(self) -> None:
        """The request came too early to be taken: it is as if it were lost. Hosts of ours have their receives
        posted."""
        if self._owed and self.request is not None and self._owed[-1].selective == self.request.psn:
            self._owed.pop()

    def _psn(self, at: int) -> int:
        return (self._first + at) & PSN_MASK

    def answered(self, answer: RoceFrame) -> None:
        if answer.syndrome not in (_ACK, Nak.PSN_SEQUENCE):
            return  # a refusal: what is wrong with a request is the responder's to know
        tell = self._pair.tell
        if answer.held is not None:
            self._judge_map(*answer.held, answer.psn)
        if answer.sack is None or not self._owed:
            tell("answers_are_earned", f"an answer about PSN {answer.psn}, and nothing is to be answered")
            return
        owed, said = self._owed.popleft(), _Answer(answer.syndrome == Nak.PSN_SEQUENCE, *answer.sack, answer.msn)
        if said.msn != owed.msn:
            tell(
                "msn_counts_messages",
                f"MSN {said.msn} in an answer about PSN {said.selective}, by which {owed.msn} messages ended",
            )
        elif said != owed or answer.psn != owed.selective:
            tell("answers_are_earned", f"answers {said}; what came makes that {owed}")

    def _judge_map(self, first: int, count: int, bits: int, newest: int, answered: int) -> None:
        start = self._expected + psn_diff(first, self._psn(self._expected))
        here = [start + number < self._expected or start + number in self._here for number in range(count)]
        if newest != answered:
            self._pair.tell("answers_are_earned", f"its map names PSN {newest}, but it is about {answered}")
        elif any(bits >> number & 1 and not came for number, came in enumerate(here)):
            self._pair.tell("answers_are_earned", f"its map from PSN {first} on says that more is here than came")

    def has_answered(self) -> None:
        if self._owed:
            self._pair.tell(
                "answers_are_given", f"owes an answer about PSN {self._owed[0].selective}, and goes on without it"
            )
            self._owed.clear()
