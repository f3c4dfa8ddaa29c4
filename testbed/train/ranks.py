"""The processes of a training's ranks: started, listened to, ended. Nothing of theirs is left behind."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from testbed.kernel.processes import die_with_parent
from workloads.errors import HostCapabilityError, ScenarioError

__all__ = ["RankProcesses", "free_port", "rank_environment"]

_PROJECT = Path(__file__).resolve().parents[2]
_READ = 1 << 16
_KEPT_LINES = 40
"""number of last lines of each rank's stderr, for the reason of its end"""
_TIMEOUT_S = 5.0
"""time between the request to end and its enforcement"""


@dataclass(slots=True)
class _Rank:
    number: int
    process: subprocess.Popen[bytes]
    handle: int
    """pidfd"""
    rest: dict[int, bytes] = field(default_factory=dict)
    """line without its end, by pipe"""
    errors: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT_LINES))
    status: int | None = None


class RankProcesses:
    """`line(rank, text, is_error)` is called with each line that a rank prints; `ended(rank, status, tail)` at its end,
    once. `watch` and `unwatch`: of the loop that waits for them (`RankServer`)."""

    def __init__(
        self,
        watch: Callable[[int, Callable[[], None]], None],
        unwatch: Callable[[int], None],
        line: Callable[[int, str, bool], None],
        ended: Callable[[int, int, Sequence[str]], None],
    ) -> None:
        self._watch, self._unwatch, self._line, self._ended = watch, unwatch, line, ended
        self._ranks: list[_Rank] = []

    @property
    def running(self) -> list[int]:
        """Ranks that have not ended."""
        return [rank.number for rank in self._ranks if rank.status is None]

    def start(self, command: Sequence[str], environments: Sequence[Mapping[str, str]], folder: Path) -> None:
        """One process for each environment, by rank. Raises ScenarioError when the command is not there."""
        for number, environment in enumerate(environments):
            try:
                process = subprocess.Popen(
                    command, env=dict(environment), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, start_new_session=True, preexec_fn=partial(die_with_parent, os.getpid()),
                )  # fmt: skip
            except FileNotFoundError as error:
                raise ScenarioError(
                    "no such program", file="tb train", key="COMMAND", found=command[0],
                    allowed="a program on the PATH, as: -- python train.py",
                ) from error  # fmt: skip
            except OSError as error:
                raise HostCapabilityError(
                    f"what the program {command[0]} needs ({error.strerror})", "can you start it by hand?"
                ) from error
            rank = _Rank(number, process, os.pidfd_open(process.pid))
            self._ranks.append(rank)
            for pipe, is_error in ((process.stdout, False), (process.stderr, True)):
                assert pipe is not None
                os.set_blocking(pipe.fileno(), False)
                rank.rest[pipe.fileno()] = b""
                self._watch(pipe.fileno(), partial(self._read, rank, pipe.fileno(), is_error))
            self._watch(rank.handle, partial(self._reap, rank))

    def end(self) -> None:
        """Ask the ranks that still run to end, then make them; afterwards none of their processes is left."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            alive = [rank for rank in self._ranks if rank.status is None]
            for rank in alive:
                _signal_group(rank.process.pid, number)
            deadline = time.monotonic() + _TIMEOUT_S
            for rank in alive:
                if select.select([rank.handle], [], [], max(0.0, deadline - time.monotonic()))[0]:
                    self._reap(rank)

    def _read(self, rank: _Rank, pipe: int, is_error: bool) -> None:
        if pipe not in rank.rest:
            return  # heard to its end in this very turn
        try:
            data = os.read(pipe, _READ)
        except BlockingIOError:
            return
        *lines, rank.rest[pipe] = (rank.rest[pipe] + data).split(b"\n")
        if not data and rank.rest[pipe]:
            lines, rank.rest[pipe] = [rank.rest[pipe]], b""
        for line in lines:
            text = line.decode(errors="replace").rstrip("\r")
            if is_error:
                rank.errors.append(text)
            self._line(rank.number, text, is_error)
        if not data:
            self._unwatch(pipe)
            del rank.rest[pipe]

    def _reap(self, rank: _Rank) -> None:
        if rank.status is not None:
            return
        _signal_group(
            rank.process.pid, signal.SIGKILL
        )  # what it started and left behind; the number is its own until we wait
        status = rank.process.wait()
        assert rank.process.stdout is not None
        for pipe in list(rank.rest):
            while pipe in rank.rest:
                before = rank.rest[pipe]
                self._read(rank, pipe, pipe != rank.process.stdout.fileno())
                if pipe in rank.rest and rank.rest[pipe] == before:
                    self._unwatch(pipe)  # a process of another group holds it open
                    del rank.rest[pipe]
        rank.status = status
        self._unwatch(rank.handle)
        os.close(rank.handle)
        for stream in (rank.process.stdout, rank.process.stderr):
            assert stream is not None
            stream.close()
        self._ended(rank.number, status, tuple(rank.errors))


def _signal_group(group: int, number: int) -> None:
    """The group of a process that we started, and that led it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def free_port() -> int:
    """A TCP port of the loopback interface that is free at the moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def rank_environment(
    inherited: Mapping[str, str], *, rank: int, size: int, port: int, site: Path, extra: Mapping[str, str]
) -> dict[str, str]:
    """As `torchrun` on one machine gives it, with the backend of `make_site`, and without the rest of this project."""
    variables = {
        "RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size, "GROUP_RANK": 0,
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
    }  # fmt: skip
    # Threads of all ranks would share the few processors of one machine.
    path = [entry for entry in inherited.get("PYTHONPATH", "").split(os.pathsep) if entry and Path(entry) != _PROJECT]
    own = {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    named = {name: str(value) for name, value in variables.items()}
    return {**own, **inherited, **named, **extra, "PYTHONPATH": os.pathsep.join([str(site), *path])}
