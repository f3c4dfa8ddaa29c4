"""Until when a call into the user's own code must be back. The time stands in memory that the supervising process reads
(`testbed.kernel.supervised`): only another process can see a loop without end."""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

__all__ = [
    "LIMIT_S",
    "Overdue",
    "is_shared",
    "moving",
    "must_answer",
    "named_code",
    "note_result",
    "noted_results",
    "share",
    "unshare",
]

LIMIT_S = 300.0
"""time limit for one call, and for one virtual instant of a simulation"""
_LOOK_S = 1.0
_leave = os._exit
"""the original `os._exit`, kept before other code can replace it"""
_NAMED = re.compile(r"[^:\s=,\"'\[\]{}]+\.py:[A-Za-z_]\w*")
_FORM = struct.Struct("dq")


def named_code(words: Iterable[str]) -> tuple[str, ...]:
    """Code of the user's own that words of a command line, or values in them, name."""
    return tuple(dict.fromkeys(name for word in words for name in _NAMED.findall(word)))


class Overdue:
    """Deadline (monotonic clock; 0: none) and the process that has to keep it."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _FORM.size)

    def read(self) -> tuple[float, int]:
        deadline, pid = _FORM.unpack_from(self._memory)
        return deadline, pid

    def write(self, deadline: float, pid: int) -> None:
        _FORM.pack_into(self._memory, 0, deadline, pid)


_shared: Overdue | None = None
_results: list[tuple[str, str]] = []


def note_result(path: Path, verdict: str) -> None:
    """An exit code 0 of this process stands for this verdict in this result.json."""
    _results.append((str(path), verdict))


def noted_results() -> list[tuple[str, str]]:
    return _results


def share() -> Overdue:
    """Before the fork: what processes below write, the caller reads."""
    global _shared
    _shared = Overdue()
    return _shared


def is_shared() -> bool:
    """A process above us watches the time."""
    return _shared is not None


def unshare() -> None:
    """For a process whose calls another process limits."""
    global _shared
    _shared = None


@contextlib.contextmanager
def must_answer() -> Iterator[None]:
    """A call into the user's own code. A copy of this process that the code made (fork) ends here and does nothing
    else."""
    before, cell = os.getpid(), _shared
    outer = (0.0, 0) if cell is None else cell.read()
    if cell is not None:
        cell.write(time.monotonic() + LIMIT_S, before)
    try:
        yield
    finally:
        if os.getpid() != before:
            _leave(0)
        if cell is not None:
            cell.write(*outer)


@contextlib.contextmanager
def moving(progress: Callable[[], object]) -> Iterator[None]:
    """A long call is fine as long as `progress` gives other values from time to time."""
    cell, ended = _shared, threading.Event()
    if cell is None:
        yield
        return

    def look() -> None:
        before = progress()
        while not ended.wait(_LOOK_S):
            now = progress()
            if now != before:
                before = now
                cell.write(time.monotonic() + LIMIT_S, os.getpid())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
