"""The sign of life of a command, by the clock on the wall. On a terminal it is a status line; elsewhere a line whenever
nothing was printed for some seconds.

`Ticker` has no thread: `ticking` runs one that looks several times a second, so that a long computation cannot
silence it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from testbed.terminal.activity import Activity, activities, guard, shown_by
from testbed.terminal.folding import fold_laid_out
from testbed.terminal.statusline import StatusLine
from testbed.terminal.stream import columns, complain

__all__ = ["SILENT_S", "Ticker", "speak", "ticking"]

SILENT_S = 3.0
"""seconds of silence after which a line comes; five seconds are promised, and a busy machine may look late"""
_LOOK_EVERY_S = 0.2
_STARTED_S = 1.0
"""what the interpreter may have taken before"""
_NO_ESTIMATE_S = 2.0
"""so long nothing is said of the time that is left"""


class Ticker:
    def __init__(self, stream: TextIO, name: str, *, live: bool, clock: Callable[[], float] = time.monotonic) -> None:
        """`name`: of the command; `live`: the stream is a terminal that can move its cursor back."""
        self._stream, self._name, self._clock = stream, name, clock
        self._bar = StatusLine(stream) if live else None
        self._began = clock()
        self._spoke = self._began - _STARTED_S
        self._measured: Activity | None = None
        self._from = (0.0, 0.0)
        """(when the activity that is measured was first seen, how far it was then)"""

    def say(self, line: str) -> None:
        """A line that stays, above the status line."""
        with guard:
            self._spoke = self._clock()
            if self._bar is not None:
                self._bar.say(line)
            else:
                self._stream.writelines(f"{row}\n" for row in fold_laid_out(line, columns(self._stream)))
                self._stream.flush()

    def look(self) -> None:
        """Show what must be shown by now."""
        with guard:
            is_silent = self._clock() - self._spoke >= SILENT_S
            if self._bar is not None and activities():
                self._bar.show(*self._state())
            elif is_silent:
                self.say(f"{self._name}: {self._state()[1]}")

    def hide(self) -> None:
        """Take the status line away, for something else that is printed."""
        with guard:
            self._spoke = self._clock()
            if self._bar is not None:
                self._bar.close()

    def _state(self) -> tuple[float | None, str]:
        now = self._clock()
        texts, done, left_s = list[str](), None, None
        for activity in activities():
            state = activity.state()
            texts.append(state.text)
            if done is None and state.done is not None:
                done, left_s = state.done, state.left_s
                if activity is not self._measured:
                    self._measured, self._from = activity, (now, done)
        since = now - self._began
        words = [text for text in texts if text] or ["at work"]
        return done, "; ".join(
            [*words, f"{_span(since)} so far{self._left(now, done) if left_s is None else _about(left_s)}"]
        )

    def _left(self, now: float, done: float | None) -> str:
        began, before = self._from
        if done is None or done <= before or done >= 1 or now - began < _NO_ESTIMATE_S:
            return ""
        return _about((now - began) / (done - before) * (1 - done))


def _about(left_s: float) -> str:
    return f", about {_span(left_s)} left"


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


_current: Ticker | None = None


@contextmanager
def ticking(ticker: Ticker | None) -> Iterator[None]:
    """Let a thread look after it, and pass to it what `speak` says; None: neither."""
    global _current
    if ticker is None:
        yield
        return
    before, _current = _current, ticker
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_EVERY_S):
            try:
                ticker.look()
            except (OSError, ValueError):  # nobody reads the stream any more
                return

    thread = threading.Thread(target=look, name="ticker", daemon=True)
    thread.start()
    try:
        with shown_by(ticker.hide):
            yield
    finally:
        over.set()
        thread.join()
        _current = before
        ticker.hide()


def speak(line: str) -> None:
    """A line of progress, on stderr."""
    if _current is not None:
        _current.say(line)
    else:
        complain(line)
