"""Reads that a signal ends. Python runs a handler only between two steps of its own. A handler whose signal comes right
before a read that blocks would wait for the end of that read."""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import threading
from collections.abc import Iterator
from typing import Any

__all__ = ["AwakePipe", "awake"]


class AwakePipe(io.RawIOBase):
    """The reading end of a pipe; owns `source`."""

    def __init__(self, source: int, woken: int | None) -> None:
        self._source = source
        self._woken = woken
        """readable as soon as a signal came; None: no signal is reported"""
        self._either = select.poll()
        for handle in (source, woken):
            if handle is not None:
                self._either.register(handle, select.POLLIN)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Handlers run while it waits; 0 at the end of the pipe."""
        while self._woken is not None:
            ready = {handle for handle, _ in self._either.poll()}
            if self._woken not in ready:
                break
            os.read(self._woken, 4096)
        return os.readv(self._source, [buffer])

    def close(self) -> None:
        if not self.closed:
            os.close(self._source)
        super().close()


@contextlib.contextmanager
def awake() -> Iterator[int | None]:
    """What an AwakePipe watches; None outside the main thread, where Python runs no handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield None
        return
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    before = signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    try:
        yield woken
    finally:
        signal.set_wakeup_fd(before)
        os.close(woken)
        os.close(waker)
