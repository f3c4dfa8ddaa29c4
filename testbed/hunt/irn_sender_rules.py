"""The sender of a queue pair with IRN, as plain sets: what it may send, and send again (`irn_rules`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from workloads.config import QpConfig
from workloads.rc.transport import RELIABLE

__all__ = ["ACK", "Sender", "Tell"]

_after, _distance = RELIABLE.after, RELIABLE.distance

ACK = 0
"""syndrome of an answer"""
Tell: TypeAlias = Callable[[str, str], None]
"""which rule is broken, and how"""


class Sender:
    """PSNs count on without wrapping."""

    def __init__(self, config: QpConfig, tell: Tell) -> None:
        self._config, self._tell, self._irn = config, tell, config.irn
        self._oldest = self._end = config.first_psn
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
        self._due: set[int] = set()
        """what a timer took for lost, and what has not left since, as when PFC pauses the host"""

    def woke(self, now: int) -> None:
        known = len(self._arrived) if self._irn.in_order else 0
        many = self._end - self._oldest - known > self._irn.few_packets
        wait_ns = self._irn.rto_high_ns if many else self._irn.rto_low_ns
        if many and not self._irn.in_order and not self._arrived:
            wait_ns += self._irn.rto_low_ns
        is_over = now - self._since >= wait_ns
        if self._fired is None and self._end > self._oldest and is_over:
            is_burst = self._waited_for == self._oldest - 1 and not self._arrived
            asked = self._asked_by_a_timer()
            self._lost_to = self._end - 1 if is_burst else asked
            self._fired, self._waited_for = now, self._oldest
            self._due.update(range(self._oldest, self._lost_to + 1))

    def _asked_by_a_timer(self) -> int:
        """The oldest packet apart, all up to here."""
        return self._oldest - 1

    def heard(self, syndrome: int, cumulative: int, selective: int, now: int) -> None:
        named = [self._oldest + _distance(psn, self._oldest) for psn in (cumulative, selective)]
        expected, answered = named
        if expected > self._end or answered >= self._end or syndrome not in (ACK, RELIABLE.gap_code):
            return
        if (syndrome == ACK) != (answered < expected):
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
        if syndrome == RELIABLE.gap_code:
            before.add(answered)
            self._gap_told |= expected == self._oldest
        self._arrived = {psn for psn in before if psn > self._oldest}

    def told(self, first: int, count: int, bits: int, newest: int) -> None:
        """A map came: `irn-held` alone heeds it."""

    def sent(self, psn: int, now: int) -> None:
        at = self._oldest + _distance(psn, self._oldest)
        oldest, end = _after(self._oldest, 0), _after(self._end, 0)
        tell = self._tell
        if at == self._end:
            cap = min(self._irn.cap_packets, self._config.window_packets)
            if at - self._oldest >= cap:
                tell("requests_in_order", f"sends PSN {psn} with {cap} packets unacknowledged, from {oldest} on")
            if self._end == self._oldest:
                self._since = now
            self._end += 1
        elif not self._oldest <= at < self._end:
            tell("requests_in_order", f"sends PSN {psn}; unacknowledged from {oldest} on, {end} is next")
        elif at in self._arrived:
            tell("acks_are_believed", f"sends PSN {psn} again, which was answered to have arrived")
        elif at == self._oldest or at <= self._lost_to or at not in self._due:
            self._repeats(at, psn)
        self._due.discard(at)

    def _repeats(self, at: int, psn: int) -> None:
        tell, done = self._tell, self._again.get(at) == self._round
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
