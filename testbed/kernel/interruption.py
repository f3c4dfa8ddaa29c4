"""Ctrl-C and its relatives become a flag that the run looks at where it can stop, and that wakes its poll."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from types import FrameType, TracebackType
from typing import Any

__all__ = ["Interruption", "interrupt_when_told_to_end"]

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Windows has no SIGHUP."""


class Interruption:
    """While it is entered, SIGINT, SIGTERM and SIGHUP only set the flag, also the second time: a teardown is never cut
    short. Outside the main thread Python allows no handlers; then `request` is the way."""

    def __init__(self) -> None:
        self.requested = False
        self._previous: dict[int, Any] = {}
        self._woken_before: int | None = None
        self._read, self._write = socket.socketpair()
        self._read.setblocking(False)
        self._write.setblocking(False)

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._previous[number] = signal.signal(number, self._handle)
            # A handler runs between two steps of Python, in the main thread: a signal that another thread takes, or
            # that comes right before a poll, would else be heard only when that poll ends.
            self._woken_before = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        if self._woken_before is not None:
            signal.set_wakeup_fd(self._woken_before)
        self._read.close()
        self._write.close()

    def fileno(self) -> int:
        """Readable as soon as a signal or a request came; a signal's handler may run right after that."""
        return self._read.fileno()

    def request(self) -> None:
        self.requested = True
        with contextlib.suppress(OSError):
            self._write.send(b"!")

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.request()

    def check(self) -> None:
        """Raises KeyboardInterrupt once requested."""
        if self.requested:
            raise KeyboardInterrupt


def interrupt_when_told_to_end() -> None:
    """From now on SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does, so that what was started is ended too.
    Nothing changes for one that is handled or ignored already, nor outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in _SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
