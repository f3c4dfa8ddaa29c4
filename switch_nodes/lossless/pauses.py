"""What a port that obeys PFC knows: which classes may not begin a frame, since when and until when.

Rule 1: a frame in service ends first. New frames begin until the response time after the PFC frame came has passed.
Rule 2: a pause ends when its time is over, counted from the arrival of its last PFC frame, or with a time of 0.
Rule 3: a later PFC frame replaces the time. A class that a frame does not enable keeps its time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workloads.wire.pfc import PFC_CLASSES, pause_ns

__all__ = ["Interval", "PauseState"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A time in which a class was paused, in ns."""

    pfc_class: int
    since: int
    until: int


class PauseState:
    """Of one port. All times in ns."""

    def __init__(self, rate_bps: int, response_ns: int) -> None:
        self.rate_bps, self.response_ns = rate_bps, response_ns
        self._since = [-1] * PFC_CLASSES
        """when the pause takes effect; -1: there is none"""
        self._until = [-1] * PFC_CLASSES
        self.heard_at = [-1] * PFC_CLASSES
        """when the last PFC frame with a time above 0 came"""
        self.ignored = [False] * PFC_CLASSES
        """classes that a watchdog lets pass in spite of PFC"""
        self.is_quiet = True
        """whether no pause holds or is about to, of any class"""
        self.frames_heard = 0
        self.pauses = [0] * PFC_CLASSES
        """PFC frames that paused a class, or went on to pause it"""
        self._ended: list[Interval] = []
        self._total = [0] * PFC_CLASSES
        """ns of the pauses that are over"""

    def hear(self, times: Mapping[int, int], now: int) -> None:
        """A PFC frame came, with quanta by class."""
        self.frames_heard += 1
        for pfc_class, quanta in times.items():
            self._end_if_over(pfc_class, now)
            if not quanta:
                self._end(pfc_class, now)
                continue
            self.is_quiet = False
            self.pauses[pfc_class] += 1
            self.heard_at[pfc_class] = now
            if self._since[pfc_class] < 0:
                self._since[pfc_class] = now + self.response_ns
            self._until[pfc_class] = now + pause_ns(quanta, self.rate_bps)

    def may_begin(self, pfc_class: int, now: int) -> bool:
        """Whether a frame of the class may begin."""
        if self.is_quiet or self.ignored[pfc_class]:
            return True
        return not self._since[pfc_class] <= now < self._until[pfc_class]

    def paused_since(self, pfc_class: int, now: int) -> int | None:
        """When the pause that holds now took effect; None: none does."""
        since = self._since[pfc_class]
        return since if 0 <= since <= now < self._until[pfc_class] else None

    def paused_ns(self, pfc_class: int, now: int) -> int:
        """How long the class was paused up to now, all pauses together."""
        if self.is_quiet:
            total: int = self._total[pfc_class]
            return total
        since = self._since[pfc_class]
        open_ns = max(0, min(now, self._until[pfc_class]) - since) if since >= 0 else 0
        return self._total[pfc_class] + open_ns

    def is_any(self, now: int) -> bool:
        """Whether a pause holds, or is about to."""
        return any(now < until for until in self._until)

    def ends_at(self, pfc_class: int) -> int:
        """When the pause ends if nothing else comes; -1: there is none."""
        return self._until[pfc_class]

    def tick(self, now: int) -> None:
        """Notice what is over by now."""
        for pfc_class in range(PFC_CLASSES):
            self._end_if_over(pfc_class, now)

    def finish(self, now: int) -> None:
        """The run is over."""
        for pfc_class in range(PFC_CLASSES):
            self._end_if_over(pfc_class, now)
            self._end(pfc_class, now)

    def ended(self) -> list[Interval]:
        """Pauses that ended since the last call."""
        found, self._ended = self._ended, []
        return found

    def _end_if_over(self, pfc_class: int, now: int) -> None:
        if 0 <= self._until[pfc_class] <= now:
            self._end(pfc_class, self._until[pfc_class])

    def _end(self, pfc_class: int, now: int) -> None:
        since = self._since[pfc_class]
        self._since[pfc_class] = self._until[pfc_class] = -1
        self.is_quiet = max(self._since) < 0
        if 0 <= since < now:
            self._ended.append(Interval(pfc_class, since, now))
            self._total[pfc_class] += now - since
