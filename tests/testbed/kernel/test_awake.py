"""A signal that comes right before a read that blocks is heard at once."""

from __future__ import annotations

import ctypes
import functools
import io
import operator
import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from testbed.kernel import awake as module
from testbed.kernel.awake import AwakePipe, awake

_raise = ctypes.PyDLL(None)["raise"]


class _SignalBeforePoll:
    """Nothing of Python's runs between the signal and the call that waits."""

    def __init__(self) -> None:
        self._inner, self._count = select.poll(), 0
        self.register = self._inner.register

    def poll(self) -> Any:
        self._count += 1
        if self._count == 1:
            steps = [functools.partial(_raise, signal.SIGUSR1), self._inner.poll]
            return list(map(operator.call, steps))[-1]
        return self._inner.poll()


class _Select:
    POLLIN, poll = select.POLLIN, _SignalBeforePoll


@pytest.fixture
def heard() -> Iterator[list[float]]:
    times: list[float] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: times.append(time.monotonic()))
    yield times
    signal.signal(signal.SIGUSR1, before)


def _written_after(sink: int, seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, lambda: os.write(sink, b"word"))
    timer.start()
    return timer


def test_a_handler_need_not_wait_for_the_next_word(heard: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "select", _Select)
    source, sink = os.pipe()
    writer = _written_after(sink, 0.5)
    with awake() as woken, io.BufferedReader(AwakePipe(source, woken)) as words:
        assert words.read(4) == b"word"
        assert time.monotonic() - heard[0] > 0.25
    writer.join()
    os.close(sink)


def test_the_end_of_a_pipe_is_told() -> None:
    source, sink = os.pipe()
    os.write(sink, b"last")
    os.close(sink)
    with awake() as woken, io.BufferedReader(AwakePipe(source, woken)) as words:
        assert words.read() == b"last"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(source)


def test_what_listened_to_signals_before_does_so_again() -> None:
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    signal.set_wakeup_fd(theirs)
    try:
        with awake():
            pass
    finally:
        assert signal.set_wakeup_fd(-1) == theirs
    os.close(ours)
    os.close(theirs)


def test_another_thread_just_reads() -> None:
    source, sink = os.pipe()
    os.write(sink, b"word")
    got: list[bytes | None] = []

    def read() -> None:
        with awake() as woken, io.BufferedReader(AwakePipe(source, woken)) as words:
            got.append(None if woken else words.read(4))

    thread = threading.Thread(target=read)
    thread.start()
    thread.join(5)
    os.close(sink)
    assert got == [b"word"]
