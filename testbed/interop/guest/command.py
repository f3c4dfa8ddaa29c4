"""Case kind `command`: programs of the guest (ibv_rc_pingpong, perftest, ping), each at its own end of the wires.

Options: `commands`, a list of argument lists. All but the last are started first, in order, `gap_s` apart; the case is
over when the last one ends. Facts: `statuses` and `outputs`, in the order of the commands.
"""

from __future__ import annotations

import subprocess
import time
from typing import TextIO

from testbed.interop.guest.session import CancelSign
from testbed.interop.protocol import CaseRequest, CaseResult, QpNames

__all__ = ["open_session"]

_END_S = 3.0


class _Commands:
    names: tuple[QpNames, ...] = ()

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[str]] = []

    def run(self, request: CaseRequest, cancelled: CancelSign) -> CaseResult:
        deadline = time.monotonic() + request.limit_s
        outputs: list[TextIO] = []
        for number, command in enumerate(request.options["commands"]):
            if number:
                time.sleep(float(request.options.get("gap_s", 0.5)))
            output: TextIO = open(f"/tmp/command.{number}", "w+", encoding="utf-8", errors="replace")  # noqa: SIM115
            outputs.append(output)
            self._running.append(
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, text=True)
            )
        last = self._running[-1]
        while last.poll() is None and time.monotonic() < deadline and not cancelled():
            time.sleep(0.02)
        ended = last.poll() is not None
        until = time.monotonic() + (_END_S if ended else 0)
        while any(process.poll() is None for process in self._running) and time.monotonic() < until:
            time.sleep(0.02)
        statuses = [process.poll() for process in self._running]
        texts = []
        for file in outputs:
            file.seek(0)
            texts.append(file.read()[-8000:])
            file.close()
        return CaseResult("" if ended else "the last command did not end", (), {"statuses": statuses, "outputs": texts})

    def close(self) -> None:
        for process in self._running:
            if process.poll() is None:
                process.kill()
            process.wait()


def open_session(request: CaseRequest) -> _Commands:
    return _Commands()
