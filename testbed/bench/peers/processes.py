"""Programs of others inside a measurement's namespaces: started, waited for, ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from testbed.bench.peers.network import PeerNetwork
from testbed.kernel.ledger import Ledger
from testbed.kernel.namespaces import enter
from testbed.kernel.processes import child_setup, descendants, end_processes
from workloads.errors import InternalError

__all__ = ["TIMEOUT_S", "PeerProgram", "run_in", "wait_until"]

TIMEOUT_S = 180.0
"""time limit for a start, and for one all-reduce"""
_STEP_S = 0.01
_TAIL = 1500


class PeerProgram:
    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.name, self.process, self.log = name, process, log

    def check(self) -> None:
        """Raises InternalError, with what it said, when it has ended badly."""
        status = self.process.poll()
        if status:
            said = self.log.read_bytes().decode(errors="replace").strip()[-_TAIL:]
            raise InternalError(f"{self.name} ended with exit status {status}: {said or 'it said nothing'}")


@contextmanager
def run_in(
    network: PeerNetwork, host: str, name: str, command: Sequence[str | Path], environment: Mapping[str, str]
) -> Iterator[PeerProgram]:
    """`command` in the namespace of `host`; afterwards nothing of it lives. Its stdin and stdout are files only."""
    log = network.folder / f"{name}.log"
    setup = partial(_enter, os.getpid(), network.pid(host), network.ledger, name)
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, preexec_fn=setup,
            cwd=network.folder, env={**os.environ, **environment},
        )  # fmt: skip
    try:
        yield PeerProgram(name, process, log)
    finally:
        end_processes(descendants(process.pid))
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait()


def _enter(parent: int, pid: int, ledger: Ledger, role: str) -> None:
    child_setup(parent, lambda process: ledger.note_process(process, role))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.setpgid(0, 0)  # Ctrl-C in the terminal is for us, who end it in order
    enter(pid)


def wait_until(
    network: PeerNetwork, programs: Sequence[PeerProgram], there: Callable[[], bool], what: str, timeout_s: float
) -> None:
    """Raises InternalError when a program ends badly or is not there in time, KeyboardInterrupt."""
    deadline = time.monotonic() + timeout_s
    while not there():
        network.interruption.check()
        for program in programs:
            program.check()
        if time.monotonic() > deadline:
            raise InternalError(f"after {timeout_s:g} s not there: {what} of {programs[0].name}")
        time.sleep(_STEP_S)
