"""From the first rank to the last: who is started, who is waited for, and when it is over."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from testbed.train.ranks import RankProcesses, free_port, rank_environment
from testbed.train.server import RankServer
from testbed.train.site import make_site
from workloads.ranks.client import SOCKET_VARIABLE

__all__ = ["Conversation", "Voice"]

_TURN_S = 0.5
_AFTER_FAILURE_S = 10.0
"""time for ranks to end by themselves when nothing is summed any more"""


class Voice(Protocol):
    """What a person reads while a training goes on."""

    def say(self, text: str) -> None:
        """A line of the testbed's own."""
        ...

    def rank(self, rank: int, text: str, is_error: bool) -> None:
        """A line that a rank printed."""
        ...

    def stepped(self, step: int, all_reduces: int, network_s: float) -> None:
        """The optimizer of the slowest rank stepped for the `step`-th time; what was summed until then, in how long."""
        ...


class Conversation:
    """With the ranks of one training. `command`: of each rank; empty: ranks come by themselves, until a user
    ends it."""

    def __init__(self, server: RankServer, voice: Voice, command: Sequence[str], size: int) -> None:
        self._server, self._voice, self._command, self._size = server, voice, command, size
        self._processes = RankProcesses(server.watch, server.unwatch, voice.rank, self._ended)
        self._end_at: float | None = None

    def begin(self, socket: Path, folder: Path) -> None:
        """Start the ranks. `folder`: for what they need, removed by the caller. Raises as `RankProcesses.start`."""
        site = make_site(folder / "site")
        if not self._command:
            self._voice.say(
                f"a network for {self._size} ranks is up; in another terminal:\n"
                f"  export {SOCKET_VARIABLE}={socket} PYTHONPATH={site}${{PYTHONPATH:+:$PYTHONPATH}}\n"
                f"  torchrun --nproc-per-node {self._size} train.py\n"
                "`tb down` ends it with a verdict"
            )
            return
        port = free_port()
        environments = [
            rank_environment(
                os.environ, rank=rank, size=self._size, port=port, site=site, extra={SOCKET_VARIABLE: str(socket)}
            )
            for rank in range(self._size)
        ]
        self._processes.start(self._command, environments, Path.cwd())

    def turn(self, timeout_s: float = _TURN_S) -> None:
        """Read and answer messages of all ranks, for at most so long."""
        self._server.poll(timeout_s)
        if self._server.session.failure is not None and self._end_at is None:
            self._voice.say(f"training failed: {self._server.session.failure}")
            self._end_at = time.monotonic() + _AFTER_FAILURE_S
        if self._end_at is not None and time.monotonic() >= self._end_at:
            self._processes.end()

        if not self._command and self._server.session.is_over and not self._server.connected:
            self._voice.say("the training is over; the network waits for the next one")
            self._server.renew()
            self._end_at = None

    @property
    def turn_s(self) -> float:
        """In how many seconds the next turn must be at the latest."""
        due = self._server.turn_s
        return due if self._end_at is None else min(due, max(0.0, self._end_at - time.monotonic()))

    @property
    def is_over(self) -> bool:
        if self._command:
            return not self._processes.running
        return self._server.asked_down

    def close(self) -> None:
        """No process of ours is left."""
        self._processes.end()

    def _ended(self, rank: int, status: int, tail: Sequence[str]) -> None:
        self._server.rank_ended(rank, _reason(status, tail))


def _reason(status: int, tail: Sequence[str]) -> str:
    """Why a process ended so: the exception that it printed last; empty: in order."""
    if status == 0:
        return ""
    how = f"exit code {status}" if status > 0 else f"signal {-status}"
    last = next((line.strip() for line in reversed(tail) if line.strip()), "")
    return f"{how}: {last}" if last else how
