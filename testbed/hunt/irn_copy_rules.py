"""Senders of `irn-rack` and `irn-held`: what they send again depends on the order in which all copies left
(`irn_rules`)."""

from __future__ import annotations

from testbed.hunt.irn_sender_rules import Sender, Tell
from workloads.config import QpConfig
from workloads.rc.transport import RELIABLE

__all__ = ["HeldSenderRules", "RackSenderRules"]

_after, _distance = RELIABLE.after, RELIABLE.distance


_PROBE_TRIPS = 2


class CountedSender(Sender):
    """Knows in which order all copies left."""

    def __init__(self, config: QpConfig, tell: Tell) -> None:
        super().__init__(config, tell)
        self._copies: dict[int, list[int]] = {}
        """by PSN: places of its copies among all that left"""
        self._places = 0

    def heard(self, syndrome: int, cumulative: int, selective: int, now: int) -> None:
        super().heard(syndrome, cumulative, selective, now)
        self._copies = {psn: places for psn, places in self._copies.items() if psn >= self._oldest}

    def sent(self, psn: int, now: int) -> None:
        super().sent(psn, now)
        at = self._oldest + _distance(psn, self._oldest)
        self._places += 1
        self._copies.setdefault(at, []).append(self._places)

    def _is_of_the_timer(self, at: int) -> bool:
        """Whether it was over and nothing was sent again since; whatever else asks for the oldest packet, what leaves
        now is the timer's, too."""
        if at != self._oldest or self._fired is None:
            return False
        self._since, self._fired = self._fired, None
        return True


class RackSenderRules(CountedSender):
    """What was overtaken may be sent again, as often as that happens; by how much, only the sender's clock knows."""

    def __init__(self, config: QpConfig, tell: Tell) -> None:
        super().__init__(config, tell)
        self._newest = self._timer_place = -1
        """the latest places of a packet that an answer named, and of what had left when a timer was over last"""
        self._left_at = dict[int, int]()
        """when each PSN left that left once"""
        self._quiet_since = 0
        """when it sent or heard something last"""
        self._shortest: int | None = None
        """the shortest round trip: the mean one is no shorter"""
        self._probe: int | None = None
        """the packet that a probe may send again"""

    def woke(self, now: int) -> None:
        super().woke(now)
        is_quiet = self._shortest is not None and now - self._quiet_since >= _PROBE_TRIPS * self._shortest
        if is_quiet and self._irn.in_order:
            missing = (psn for psn in range(self._oldest, self._end) if psn not in self._arrived)
            self._probe = max(missing, default=None)

    def heard(self, syndrome: int, cumulative: int, selective: int, now: int) -> None:
        at = self._oldest + _distance(selective, self._oldest)
        self._newest = max(self._newest, *self._copies.get(at, (-1,)))
        self._quiet_since = now
        if at in self._left_at and at not in self._arrived:
            took = now - self._left_at.pop(at)
            self._shortest = took if self._shortest is None else min(self._shortest, took)
        super().heard(syndrome, cumulative, selective, now)

    def sent(self, psn: int, now: int) -> None:
        at, end = self._oldest + _distance(psn, self._oldest), self._end
        super().sent(psn, now)
        self._quiet_since = now
        if at == end:
            self._left_at[at] = now
            return
        self._left_at.pop(at, None)
        if at == self._oldest:  # its timer starts again
            self._since, self._fired = now, None

    def _asked_by_a_timer(self) -> int:
        self._timer_place = self._places
        oldest = super()._asked_by_a_timer()
        return oldest if self._irn.in_order else max((oldest, *self._arrived))

    def _repeats(self, at: int, psn: int) -> None:
        last = max(self._copies.get(at, (0,)))
        asked = at <= self._lost_to and last <= self._timer_place
        if self._is_of_the_timer(at) or last < self._newest or asked:
            return
        if at == self._probe:
            self._probe = None
            return
        if at != self._oldest:
            self._tell(
                "holes_alone_again", f"sends PSN {psn} again, and nothing that left after it is known to have arrived"
            )
        else:
            self._tell("timers_wait", f"sends PSN {psn} again before its timer was over")


class HeldSenderRules(CountedSender):
    """A sender that resends what a map asks for, once for each request."""

    def __init__(self, config: QpConfig, tell: Tell) -> None:
        super().__init__(config, tell)
        self._seen: dict[int, int] = {}
        """by PSN on the wire: place of its latest copy"""
        self._asked: set[int] = set()

    def told(self, first: int, count: int, bits: int, newest: int) -> None:
        limit = self._seen.get(newest, 0)
        for number in range(count):
            at = self._oldest + _distance(first + number, self._oldest)
            if not bits >> number & 1 and max(self._copies.get(at, (limit + 1,))) <= limit:
                self._asked.add(at)

    def sent(self, psn: int, now: int) -> None:
        super().sent(psn, now)
        self._asked.discard(self._oldest + _distance(psn, self._oldest))
        self._seen[psn] = self._places

    def _repeats(self, at: int, psn: int) -> None:
        if self._is_of_the_timer(at) or at in self._asked or (at <= self._lost_to and at != self._oldest):
            return
        if at != self._oldest:
            self._tell("holes_alone_again", f"sends PSN {psn} again, and no map asked for it")
        elif at > self._lost_to:
            self._tell("timers_wait", f"sends PSN {psn} again before its timer was over")
