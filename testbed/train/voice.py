"""What a person reads while a training goes on: the ranks' own lines, and progress where they print none."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from testbed.terminal.activity import hide
from testbed.terminal.numbers import seconds
from testbed.terminal.stream import say

__all__ = ["PrintedVoice"]

_LEAST_PAUSE_S = 0.2
"""time between two lines of progress"""


class PrintedVoice:
    """Lines of ranks go to `stream`, what they write to stderr to ours. `quiet`: no word of our own."""

    def __init__(self, stream: TextIO, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._quiet, self._clock = stream, quiet, clock
        self._ranks_spoke = False
        """since the last step"""
        self._silent_until = 0.0

    def say(self, text: str) -> None:
        if self._quiet:
            return
        for line in text.splitlines():
            hide()
            if line.startswith(" "):  # to be copied: never folded
                self._stream.write(f"{line}\n")
            else:
                say(f"tb: {line}", stream=self._stream)
        self._stream.flush()

    def rank(self, rank: int, text: str, is_error: bool) -> None:
        self._ranks_spoke = self._ranks_spoke or not is_error
        stream = sys.stderr if is_error else self._stream
        hide()
        stream.write(f"[rank {rank}] {text}\n")
        stream.flush()

    def stepped(self, step: int, all_reduces: int, network_s: float) -> None:
        spoke, self._ranks_spoke = self._ranks_spoke, False
        if spoke or self._clock() < self._silent_until:
            return
        self._silent_until = self._clock() + _LEAST_PAUSE_S
        self.say(f"step {step:,}: {all_reduces:,} all-reduces, {seconds(network_s)} in the network so far")
