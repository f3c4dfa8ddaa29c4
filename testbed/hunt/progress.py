"""What a person sees while a hunt goes on: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from typing import TextIO

from testbed.terminal.folding import fold_laid_out
from testbed.terminal.statusline import StatusLine
from testbed.terminal.stream import columns, wants_color

__all__ = ["HuntProgress"]

_LINE_EVERY_S = 10.0


class HuntProgress:
    def __init__(self, schedules: int, folder: str, stream: TextIO, *, no_color: bool = False) -> None:
        self._schedules, self._folder, self._stream = schedules, folder, stream
        self._began = self._line_at = time.monotonic()
        self._first = True
        self._bar = StatusLine(stream) if wants_color(stream, no_color) else None

    def __call__(self, done: int, before: int, anew: int) -> None:
        """As `hear` of `Hunt.run`."""
        now = time.monotonic()
        if self._first:
            self._first = False
            if anew:
                self._tell(
                    f"{anew:,} of {self._schedules:,} schedules were hunted by other code, as {self._folder} tells; "
                    "they are "
                    "hunted anew"
                )
            if before:
                self._tell(
                    f"{before:,} of {self._schedules:,} schedules were done before, as {self._folder} tells; going on"
                )
        speed = (done - before) / max(1e-9, now - self._began)
        if self._bar is not None:
            left = (self._schedules - done) / speed if speed > 0 else 0.0
            text = f"{done:,} of {self._schedules:,} schedules, {speed:.0f}/s, about {left:.0f} s to go"
            self._bar.show(done / max(1, self._schedules), text)
        elif now - self._line_at >= _LINE_EVERY_S:
            self._line_at = now
            self._tell(f"{done:,} of {self._schedules:,} schedules, {speed:.0f}/s")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def _tell(self, line: str) -> None:
        if self._bar is not None:
            self._bar.say(line)
        else:
            self._stream.writelines(f"{row}\n" for row in fold_laid_out(line, columns(self._stream)))
            self._stream.flush()
