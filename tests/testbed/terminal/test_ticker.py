"""Signs of life by a clock that the test moves, and by the real one in a process that computes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testbed.terminal.activity import State, begin, doing, end
from testbed.terminal.ticker import SILENT_S, Ticker, speak, ticking

_TOP = Path(__file__).resolve().parents[3]


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Looked:
    """A ticker that is looked at every 0.2 s of its own clock."""

    def __init__(self, *, live=False):
        self.stream, self.clock = io.StringIO(), Clock()
        self.ticker = Ticker(self.stream, "tb run", live=live, clock=self.clock)
        self.times = []

    def wait(self, seconds):
        until = self.clock.now + seconds
        while self.clock.now < until - 1e-9:
            self.clock.now += 0.2
            before = self.stream.tell()
            self.ticker.look()
            if self.stream.tell() != before:
                self.times.append(self.clock.now - 100.0)

    @property
    def lines(self):
        return self.stream.getvalue().splitlines()


def test_no_silence_of_five_seconds_whatever_goes_on():
    looked = Looked()
    looked.wait(30)
    with doing("planning"):
        looked.wait(30)
    gaps = [b - a for a, b in zip([0.0, *looked.times], looked.times, strict=False)]
    assert max(gaps) < 5
    assert min(gaps[1:]) > 2.5
    assert looked.lines[0] == "tb run: at work; 2 s so far"
    assert looked.lines[-1].startswith("tb run: planning; ")


def test_lines_of_the_command_itself_are_signs_of_life_too():
    looked = Looked()
    for _ in range(10):
        looked.ticker.say("iteration complete")
        looked.wait(SILENT_S - 0.5)
    assert looked.lines == ["iteration complete"] * 10


def test_how_far_it_is_and_how_long_it_takes_still():
    looked, done = Looked(), [0.0]
    with doing(lambda: State("a hunt", done[0])), doing("one schedule"):
        looked.wait(2.2)
        done[0] = 0.25
        looked.wait(3)
    assert looked.lines[0] == "tb run: a hunt; one schedule; 2 s so far"
    assert looked.lines[1] == "tb run: a hunt; one schedule; 5 s so far, about 9 s left"


def test_what_was_there_before_does_not_count_as_fast_work():
    """A sweep that goes on where it stopped: half of it was there."""
    looked, done = Looked(), [0.5]
    with doing(lambda: State("a sweep", done[0])):
        looked.wait(2.2)
        done[0] = 0.6
        looked.wait(3)
    assert looked.lines[1].endswith("5 s so far, about 12 s left")


def test_a_bar_on_a_terminal_is_there_while_something_goes_on(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    looked = Looked(live=True)
    activity = begin(lambda: State("judging", 0.5))
    looked.wait(1)
    assert len(looked.times) == 5
    assert "50% judging" in looked.stream.getvalue()
    end(activity)
    looked.ticker.hide()
    assert looked.stream.getvalue().endswith("\r\x1b[2K")
    shown = looked.stream.tell()
    looked.wait(1)
    assert looked.stream.tell() == shown


def test_an_activity_that_failed_is_over():
    with pytest.raises(ValueError, match="x"), doing("planning"):
        raise ValueError("x")
    looked = Looked()
    looked.wait(4)
    assert looked.lines == ["tb run: at work; 2 s so far"]


def test_the_bar_goes_before_anything_else_is_printed(capsys):
    from testbed.terminal.stream import complain

    looked = Looked(live=True)
    with ticking(looked.ticker), doing("planning"):
        looked.ticker.look()
        complain("a warning")
        assert looked.stream.getvalue().rstrip().endswith("\x1b[2K") or "planning" in looked.stream.getvalue()
        speak("iteration 1")
    assert "iteration 1\n" in looked.stream.getvalue()
    assert capsys.readouterr().err == "a warning\n"


def test_a_child_does_not_wait_for_the_thread_that_it_does_not_have():
    """Forked while the thread of the parent prints all the time."""
    ticker = Ticker(io.StringIO(), "tb", live=False, clock=lambda: time.monotonic() * 1e6)
    with ticking(ticker), doing("parent"):
        for _ in range(30):
            child = os.fork()
            if not child:
                with doing("child"):
                    os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            time.sleep(0.01)


_BUSY = """
import sys, time
from testbed.terminal.ticker import Ticker, ticking
from testbed.terminal.activity import doing
with ticking(Ticker(sys.stderr, "tb", live=False)), doing("drawing gradients"):
    until = time.monotonic() + 10.5
    while time.monotonic() < until:
        sum(range(100_000))
"""


def test_a_computation_does_not_silence_it_on_a_pipe():
    """By the real clock, while the main thread computes without a pause."""
    process = subprocess.Popen([sys.executable, "-c", _BUSY], cwd=_TOP, stderr=subprocess.PIPE)
    times = [time.monotonic()]
    for line in process.stderr:
        assert line.startswith(b"tb: drawing gradients; ")
        times.append(time.monotonic())
    assert process.wait() == 0
    assert len(times) >= 3
