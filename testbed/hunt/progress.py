"""What a person sees while a hunt goes on: how many schedules are done, by the clock on the wall."""

from __future__ import annotations

from testbed.terminal.activity import State, begin, end
from testbed.terminal.ticker import speak

__all__ = ["HuntProgress"]


class HuntProgress:
    def __init__(self, schedules: int, folder: str) -> None:
        self._schedules, self._folder = schedules, folder
        self._done = 0
        self._first = True
        self._activity = begin(self._state)

    def __call__(self, done: int, before: int, anew: int) -> None:
        """As `hear` of `Hunt.run`."""
        self._done = done
        if not self._first:
            return
        self._first = False
        if anew:
            speak(
                f"{anew:,} of {self._schedules:,} schedules were hunted by other code, as {self._folder} shows; "
                "they are hunted again"
            )
        if before:
            speak(f"{before:,} of {self._schedules:,} schedules were done before, as {self._folder} shows; going on")

    def close(self) -> None:
        end(self._activity)

    def _state(self) -> State:
        return State(f"{self._done:,} of {self._schedules:,} schedules", self._done / max(1, self._schedules))
