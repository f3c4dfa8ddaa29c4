"""Code that is not ours, run in a process of its own: whatever it does to that process, the caller gets an answer."""

from __future__ import annotations

import contextlib
import io
import math
import mmap
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, TypeVar

from testbed.kernel.awake import AwakePipe, awake
from testbed.kernel.overdue import is_shared, share, unshare
from testbed.kernel.processes import die_with_parent
from workloads.errors import InternalError, TestbedError

__all__ = ["Ended", "PassedOn", "run_apart"]

_leave = os._exit
"""the original `os._exit`, kept before other code can replace it"""
_TOLD, _RETURNED, _RAISED, _CRASHED = range(4)
_LOOK_S = 0.5
_T = TypeVar("_T")


class Ended(Exception):
    """The process ended without an answer."""

    def __init__(self, status: int, *, overdue: bool = False) -> None:
        self.status = status
        """exit code, or minus the number of a signal"""
        self.overdue = overdue
        """we ended it, since it took longer than it may"""
        super().__init__(f"status {status}")


class PassedOn:
    """Signals that the child takes itself, from the moment on when it says that it is ready for them. Until then they
    do to us what they did before, and the child ends with us."""

    def __init__(self, numbers: Sequence[signal.Signals]) -> None:
        self.numbers = tuple(numbers)
        self._is_ready = mmap.mmap(-1, 1)
        """shared with the child: a message through the pipe would be read later than it was sent"""
        self._sent: set[int] = set()
        self._child: int | None = None
        self._too_early: list[int] = []
        """came when the number of the child was not known yet"""
        self._before: dict[signal.Signals, Any] = {}

    def ready(self) -> None:
        """In the child: its handlers stand."""
        self._is_ready[0] = 1

    @contextlib.contextmanager
    def caught(self) -> Iterator[None]:
        """From before the fork on. A mask alone would leave them to other threads of ours, and their handlers, which
        run here, would raise during the fork."""
        self._before = {number: signal.getsignal(number) for number in self.numbers}
        for number in self.numbers:
            signal.signal(number, self._handle)
        try:
            yield
        finally:
            self.restore()

    def restore(self) -> None:
        """As they were before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def to(self, child: int) -> None:
        """What came since they are caught takes effect now; raises what its handler does."""
        self._child = child
        while self._too_early:
            self._handle(self._too_early.pop(0), None)

    def _handle(self, number: int, frame: Any) -> None:
        if self._child is None:
            self._too_early.append(number)
        elif not self._is_ready[0]:
            handler = self._before[signal.Signals(number)]
            if callable(handler):
                handler(number, frame)
            elif handler is not signal.SIG_IGN:
                self.die_of(number)
        else:
            self._sent.add(number)
            os.kill(self._child, number)

    def ended(self, status: int) -> bool:
        """Whether the child died of a signal that we gave it, past its handlers."""
        return -status in self._sent

    @staticmethod
    def die_of(number: int) -> None:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def run_apart(
    work: Callable[[Callable[[Any], None]], _T],
    hear: Callable[[Any], None] = lambda told: None,
    signals: PassedOn | None = None,
    limit_s: float | None = None,
) -> _T:
    """`work(tell)` in a child process. Values passed to `tell` are received here, in order, and the return value of
    `work` is returned. Ctrl-C is ours: the child never gets it, nor any other signal that is not among `signals`.
    Raises what `work` raises of our errors, MemoryError and BrokenPipeError, and InternalError, with its traceback, for
    others. Raises Ended when the child ended before `work` did, or after `limit_s`. The same goes for a call
    (`must_answer`) that takes too long and that no process above limits. The child ends with us; a copy of it that
    `work` makes (fork) answers nothing. Values that cross must be picklable."""
    if not hasattr(os, "fork"):  # other systems have no such thing
        return work(hear)
    sys.stdout.flush()
    sys.stderr.flush()
    with signals.caught() if signals else contextlib.nullcontext():
        kind, value, status, overdue = _run(work, hear, signals, limit_s)
    if kind is None:
        if signals and signals.ended(status):
            signals.die_of(-status)
        raise Ended(status, overdue=overdue)
    if kind == _RAISED:
        made, args, fields = value
        error = made.__new__(made)
        error.args = args
        error.__dict__.update(fields)
        raise error
    if kind == _CRASHED:
        raise InternalError(value)
    result: _T = value
    return result


def _run(
    work: Callable[[Callable[[Any], None]], Any],
    hear: Callable[[Any], None],
    signals: PassedOn | None,
    limit_s: float | None,
) -> tuple[int | None, Any, int, bool]:
    """(kind of the last word, the word, status of the child, whether it took too long)"""
    parent, (source, sink) = os.getpid(), os.pipe()
    cell = None if is_shared() else share()
    # What comes before the child has handlers of its own must not run ours there.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signals.numbers if signals else ())
    try:
        child = os.fork()
        if not child:
            os.close(source)
            if signals:
                signals.restore()
            _answer(work, parent, sink, mask)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if cell is not None:
            unshare()
    os.close(sink)
    overdue, done, handle = threading.Event(), threading.Event(), os.pidfd_open(child)
    end_s = math.inf if limit_s is None else time.monotonic() + limit_s

    def look() -> None:
        while not done.wait(_LOOK_S):
            deadline = cell.read()[0] if cell is not None else 0
            if time.monotonic() > min(end_s, deadline or math.inf):
                overdue.set()
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                return

    watch = None if limit_s is None and cell is None else threading.Thread(target=look, daemon=True)
    if watch is not None:
        watch.start()
    try:
        with awake() as woken, io.BufferedReader(AwakePipe(source, woken), 1 << 20) as answers:
            if signals:
                signals.to(child)
            kind, value = _read(answers, hear)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        raise
    finally:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        done.set()
        if watch is not None:
            watch.join()
        os.close(handle)
    return kind, value, status, overdue.is_set()


def _read(answers: BinaryIO, hear: Callable[[Any], None]) -> tuple[int | None, Any]:
    """The last word; None: there was none."""
    while True:
        try:
            kind, value = pickle.load(answers)
        except Exception:  # cut short, or another's bytes are among them
            return None, None
        if kind != _TOLD:
            return kind, value
        hear(value)


def _answer(
    work: Callable[[Callable[[Any], None]], Any], parent: int, sink: int, mask: set[int | signal.Signals]
) -> None:
    """Never returns. `mask`: signals that stay blocked."""
    own = os.getpid()
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        die_with_parent(parent)
        with os.fdopen(sink, "wb", 1 << 20) as out:

            def tell(told: Any) -> None:
                if os.getpid() != own:
                    _leave(0)
                pickle.dump((_TOLD, told), out)

            try:
                word = _RETURNED, work(tell)
            except (TestbedError, MemoryError, BrokenPipeError) as error:
                word = _RAISED, (type(error), error.args, error.__dict__)
            except BaseException as error:
                word = _CRASHED, "".join(traceback.format_exception(error)).strip()
            if os.getpid() != own:
                _leave(0)
            pickle.dump(word, out)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        _leave(0)
