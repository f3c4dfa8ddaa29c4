"""One guest: from its command line to its end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from testbed.interop.qemu import QemuWire
from testbed.kernel.ledger import Ledger, PathEntry
from testbed.kernel.processes import ProcessId, child_setup, identify, is_alive, send_signal
from workloads.errors import HostCapabilityError, InternalError

__all__ = ["GuestMachine"]

_TAIL_LINES = 15
_END_S = 5.0


class GuestMachine:
    """A QEMU process that we own: it is in the ledger before it runs QEMU, dies with us, and is ended by its
    identity."""

    def __init__(
        self, command: Sequence[str], wires: Sequence[QemuWire], ledger: Ledger, folder: Path, out: Path
    ) -> None:
        """`folder`: for console and QEMU's own output; `out`: the folder that the guest writes to. Raises
        HostCapabilityError when there is no QEMU."""
        self._out, self._console, self._errors = out, folder / "console.log", folder / "qemu.log"
        for wire in wires:
            for path in (wire.guest_end, wire.switch_end):
                ledger.note(PathEntry(path.name, "socket"))
        parent = os.getpid()

        def setup() -> None:
            child_setup(parent, lambda process: ledger.note_process(process, "guest"))
            os.setsid()

        with self._errors.open("wb") as errors:
            try:
                self._process = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=errors,
                    stderr=errors,
                    preexec_fn=setup,
                    close_fds=True,
                )
            except FileNotFoundError:
                raise HostCapabilityError("QEMU for x86", "install it: sudo apt-get install qemu-system-x86") from None
        self._identity: ProcessId | None = identify(self._process.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    @property
    def status(self) -> int | None:
        """Exit status of the guest's script; None while there is none."""
        try:
            return int((self._out / "status").read_text(encoding="ascii"))
        except (FileNotFoundError, ValueError):
            return None

    def wait_for(self, arrived: Callable[[], bool], limit_s: float, what: str) -> None:
        """Until `arrived`. Raises InternalError with the end of all logs when the guest ends or the limit passes
        first."""
        deadline = time.monotonic() + limit_s
        while not arrived():
            if not self.running or self.status is not None:
                if arrived():
                    return
                raise InternalError(f"the guest ended before {what}\n{self.evidence()}")
            if time.monotonic() > deadline:
                raise InternalError(f"no sign of {what} within {limit_s:g} s\n{self.evidence()}")
            time.sleep(0.01)

    def evidence(self) -> str:
        """The ends of the logs, for a person."""
        texts = [f"QEMU exit {self._process.poll()}, script status {self.status}"]
        for path in (self._errors, self._console, self._out / "setup.log", self._out / "runner.log"):
            try:
                lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            except FileNotFoundError:
                continue
            texts += [f"{path.name}: {line}" for line in lines[-_TAIL_LINES:]]
        return "\n".join(texts)

    def end(self, timeout_s: float = _END_S) -> int | None:
        """Wait a little for it to power off, then end it; the script's status. May be called again."""
        deadline = time.monotonic() + timeout_s
        while self.running and time.monotonic() < deadline:
            time.sleep(0.02)
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.running and self._identity is not None and is_alive(self._identity):
                send_signal(self._identity, number)
                try:
                    self._process.wait(2)
                except subprocess.TimeoutExpired:
                    continue
        self._process.wait(2)
        return self.status
