"""The line at the bottom of a terminal that shows how far something is.

It never hides the cursor and takes one line alone, shorter than the terminal is wide. So the terminal is usable
whatever ends the program, kill -9 included. `close` leaves nothing of it.
"""

from __future__ import annotations

from typing import TextIO

from testbed.terminal.folding import fold_laid_out
from testbed.terminal.stream import columns

__all__ = ["StatusLine"]

_BAR = 30
_ERASE = "\r\x1b[2K"
_FULL, _EMPTY = "\x1b[36m", "\x1b[2m"
_PLAIN = "\x1b[0m"


class StatusLine:
    """Of a terminal (`testbed.terminal.stream.wants_color`)."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = ""

    def show(self, done: float | None, text: str) -> None:
        """`done`: 0 to 1; None: there is no bar."""
        room = columns(self._stream) - 1
        if done is None:
            self._shown = _cut(text, room)
            self._write(f"{_ERASE}{self._shown}")
            return
        done = min(1.0, max(0.0, done))
        full = round(done * _BAR)
        bar = f"{_FULL}{self._mark() * full}{_PLAIN}{_EMPTY}{self._mark() * (_BAR - full)}{_PLAIN}"
        rest = _cut(f" {done:4.0%} {text}", room - _BAR)
        self._write(f"{_ERASE}{bar}{rest}")
        self._shown = f"{bar}{rest}"

    def say(self, line: str) -> None:
        """A line that stays, above."""
        erase = _ERASE if self._shown else ""
        text = "".join(f"{row}\n" for row in fold_laid_out(line, columns(self._stream)))
        self._write(f"{erase}{text}{self._shown}")

    def close(self) -> None:
        """Harmless when it was closed before."""
        if self._shown:
            self._shown = ""
            self._write(_ERASE)

    def _mark(self) -> str:
        try:
            "━".encode(self._stream.encoding or "utf-8")
        except UnicodeEncodeError:
            return "-"
        return "━"

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _cut(text: str, room: int) -> str:
    """Whole words only: what does not fit is left away."""
    if len(text) <= room:
        return text
    return text[: room + 1].rpartition(" ")[0]
