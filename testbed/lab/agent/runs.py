"""Processes of runs: started for a lease, ended with it. Each writes its events to a file of the run's folder.

A process waits at a barrier: it says that it is ready, and starts when it gets a line.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import resource
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from testbed.lab.agent.answers import FileEntry, ProcessStarted, ProcessStatus
from testbed.lab.agent.protocol import AgentRefused

__all__ = ["Runs", "checked_name"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z", re.ASCII)
_MAX_FILE = 256 << 20
"""bytes of events that one process may write"""
_TIMEOUT_S = 8.0
_STATES = {b'WorkerFinished"': "finished", b'WorkerFailed"': "failed", b'WorkerFellBack"': ""}
"""state by event; one that fell back restarts"""
_LONGEST = 20
"""less than the pattern of the shortest one, so that none is seen twice"""


def checked_name(name: object) -> str:
    """A name for a file or folder of ours that leads nowhere else. Raises Refused."""
    if not isinstance(name, str) or not _NAME.match(name) or ".." in name:
        raise AgentRefused("a name is letters, digits and . _ - (at most 100, no two dots)")
    return name


@dataclass
class _Process:
    popen: subprocess.Popen[bytes]
    resource: str
    """resource with the lease that keeps the process alive"""
    output: Path
    errors: Path
    started: bool = False
    seen: int = 0
    """bytes of the output that were looked at"""
    rest: bytes = b""
    state: str = ""
    """finished, failed; empty: neither"""

    def look(self) -> str:
        """What the newest events say. A worker that has finished goes on to answer peers that have not."""
        with contextlib.suppress(OSError), self.output.open("rb") as file:
            file.seek(self.seen)
            data = file.read()
            self.seen += len(data)
            text = self.rest + data
            ends = {text.rfind(b'"event":"' + word): state for word, state in _STATES.items()}
            last = max(ends)
            if last >= 0:
                self.state = ends[last]
            self.rest = text[-_LONGEST:]
        return self.state


@dataclass
class Runs:
    """`base`: the agent's folder. Thread-safe."""

    base: Path
    _processes: dict[tuple[str, str], _Process] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def folder(self, run: object) -> Path:
        return self.base / "runs" / checked_name(run)

    def prepare(
        self, run: str, name: str, argv: Sequence[str], config: str, resource_name: str, environment: Mapping[str, str]
    ) -> ProcessStarted:
        """Start a process that waits at the barrier. `config` is written to a file, whose path is appended. Raises
        Refused."""
        folder = self.folder(run)
        checked_name(name)
        with self._lock:
            if (run, name) in self._processes:
                raise AgentRefused(f"run {run} has a process {name} already")
            try:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                file = folder / f"{name}.json"
                file.write_text(config, encoding="utf-8")
                output, errors = folder / f"{name}.jsonl", folder / f"{name}.log"
                with output.open("wb") as out, errors.open("wb") as err:
                    popen = subprocess.Popen(
                        [*argv, str(file)],
                        stdin=subprocess.PIPE,
                        stdout=out,
                        stderr=err,
                        cwd=folder,
                        env={**os.environ, **environment},
                        start_new_session=True,
                    )
            except OSError as error:
                raise AgentRefused(f"process {name} could not be started: {error.strerror or error}") from None
            # Not between fork and exec, where a process with threads may do next to nothing.
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(popen.pid, resource.RLIMIT_FSIZE, (_MAX_FILE, _MAX_FILE))
                resource.prlimit(popen.pid, resource.RLIMIT_CORE, (0, 0))
            self._processes[run, name] = _Process(popen, resource_name, output, errors)
        return ProcessStarted(popen.pid)

    def ready(self, run: str) -> dict[str, bool]:
        """Which processes of a run wait at the barrier, or ended before."""
        found = {}
        for name, process in self._of(run):
            with contextlib.suppress(OSError):
                found[name] = process.output.stat().st_size > 0
        return found

    def go(self, run: str) -> None:
        for _, process in self._of(run):
            if not process.started and process.popen.stdin is not None:
                process.started = True
                with contextlib.suppress(OSError):
                    process.popen.stdin.write(b"go\n")
                    process.popen.stdin.flush()

    def status(self, run: str) -> dict[str, ProcessStatus]:
        """By process."""
        return {
            name: ProcessStatus(
                process.look(), process.popen.poll(), _end_of(process.errors) if process.popen.poll() else ""
            )
            for name, process in self._of(run)
        }

    def stop(self, run: str) -> dict[str, int]:
        """SIGTERM, and SIGKILL for processes that ignore it; exit status by process. Its files stay."""
        with self._lock:
            chosen = {key: process for key, process in self._processes.items() if key[0] == run}
            for key in chosen:
                del self._processes[key]
        return {name: status for (_, name), status in _end(chosen).items()}

    def stop_lease(self, resource_name: str) -> tuple[str, ...]:
        """Everything that lives by this lease."""
        with self._lock:
            chosen = {key: process for key, process in self._processes.items() if process.resource == resource_name}
            for key in chosen:
                del self._processes[key]
        _end(chosen)
        return tuple(f"{run}/{name}" for run, name in chosen)

    def running(self) -> tuple[str, ...]:
        with self._lock:
            living = [key for key, process in self._processes.items() if process.popen.poll() is None]
        return tuple(f"{run}/{name}" for run, name in living)

    def files(self, run: str) -> tuple[FileEntry, ...]:
        """What `collect` may fetch: plain files of the run's folder, with size and hash."""
        try:
            paths = sorted(self.folder(run).iterdir())
        except OSError:
            raise AgentRefused(f"there is no run {run} here") from None
        found = []
        for path in paths:
            if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
                data = path.read_bytes()
                found.append(FileEntry(path.name, len(data), hashlib.sha256(data).hexdigest()))
        return tuple(found)

    def remove(self, run: str) -> None:
        """The folder of a run that has ended. Raises Refused."""
        if self._of(run):
            raise AgentRefused(f"run {run} still goes on")
        folder = self.folder(run)
        with contextlib.suppress(FileNotFoundError):
            for path in folder.iterdir():
                path.unlink()
            folder.rmdir()

    def _of(self, run: str) -> list[tuple[str, _Process]]:
        with self._lock:
            return [(name, process) for (known, name), process in self._processes.items() if known == run]


def _end_of(path: Path, most: int = 2000) -> str:
    with contextlib.suppress(OSError):
        return path.read_bytes()[-most:].decode(errors="replace")
    return ""


def _end(processes: Mapping[tuple[str, str], _Process]) -> dict[tuple[str, str], int]:
    for process in processes.values():
        _signal(process, signal.SIGTERM)
    found = {}
    for key, process in processes.items():
        try:
            found[key] = process.popen.wait(_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            _signal(process, signal.SIGKILL)
            found[key] = process.popen.wait()
        if process.popen.stdin is not None:
            with contextlib.suppress(OSError):
                process.popen.stdin.close()
    return found


def _signal(process: _Process, number: int) -> None:
    """To its session: a process of ours leads one of its own. Popen knows that it was not reaped, so the number is its
    own."""
    if process.popen.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.popen.pid, number)
