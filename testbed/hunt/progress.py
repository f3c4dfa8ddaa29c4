"""What a person sees while a hunt goes on: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from typing import Any, TextIO

from testbed.report.terminal import wants_color

__all__ = ["HuntProgress"]

_LINE_EVERY_S = 10.0


class HuntProgress:
    def __init__(self, schedules: int, folder: str, stream: TextIO, *, no_color: bool = False) -> None:
        self._schedules, self._folder, self._stream = schedules, folder, stream
        self._began = self._told = time.monotonic()
        self._first = True
        self._bar: Any = None
        self._task: Any = None
        if wants_color(stream, no_color):
            self._make_bar()

    def __call__(self, done: int, before: int, anew: int) -> None:
        """As `hear` of `Hunt.run`."""
        now = time.monotonic()
        if self._first:
            self._first = False
            if anew:
                self._tell(
                    f"{anew:,} of {self._schedules:,} schedules were hunted by other code, as {self._folder} tells; they are "
                    "hunted anew"
                )
            if before:
                self._tell(
                    f"{before:,} of {self._schedules:,} schedules were done before, as {self._folder} tells; going on"
                )
        speed = (done - before) / max(1e-9, now - self._began)
        if self._bar is not None:
            self._bar.update(self._task, completed=done, description=f"{done:,} schedules, {speed:.0f}/s")
            self._bar.refresh()
        elif now - self._told >= _LINE_EVERY_S:
            self._told = now
            self._tell(f"{done:,} of {self._schedules:,} schedules, {speed:.0f}/s")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _tell(self, line: str) -> None:
        if self._bar is not None:
            self._bar.console.print(line, highlight=False, markup=False)
        else:
            self._stream.write(f"{line}\n")
            self._stream.flush()

    def _make_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            BarColumn(bar_width=30),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
            console=Console(file=self._stream),
            auto_refresh=False,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=self._schedules)
        self._bar.start()
