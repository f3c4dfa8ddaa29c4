"""How long a loop stood still when it should have gone on."""

from __future__ import annotations

__all__ = ["Standstills"]

_MOST = 8


class Standstills:
    """The longest sleeps that went on after their end. With `tick_ns`, a controller sends a message at this interval,
    so no sleep is long. After a gap of several ticks it is unknown when the sleep would have ended. Frames would have
    ended it as soon as they came."""

    def __init__(self, tick_ns: int | None) -> None:
        self._tick_ns = tick_ns
        self._longest: list[tuple[int, int]] = []

    def note(self, now: int, turned_at: int, timeout: int) -> None:
        """One sleep, from `turned_at` to `now`, which should have lasted `timeout` at most (negative: no limit)."""
        gap, asleep, tick_ns = now - turned_at, timeout, self._tick_ns
        if tick_ns is not None and not 0 <= timeout <= tick_ns:
            asleep = 0 if gap > 2 * tick_ns else tick_ns
        if asleep >= 0 and gap > asleep and (len(self._longest) < _MOST or gap - asleep > self._longest[-1][0]):
            self._longest = sorted([*self._longest, (gap - asleep, now)], reverse=True)[:_MOST]

    @property
    def longest(self) -> tuple[tuple[int, int], ...]:
        """How long and until when, the longest first."""
        return tuple(self._longest)
