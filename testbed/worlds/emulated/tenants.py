"""Background TCP: iperf3 between two hosts of the network, bounded by the run and by what the scenario allows.

The server counts what arrived, the client knows how long it sent and how often it retransmitted. Both live in the
namespaces of their hosts, are in the ledger, die with us, and write to the run directory.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from switch_nodes.dataplane.clock import EmulatedClock
from testbed.history.events import TcpFlowMeasured
from testbed.kernel.ledger import Ledger
from testbed.kernel.namespaces import enter
from testbed.kernel.processes import child_setup
from testbed.plan import PlannedFlow
from topologies import format_ip
from workloads.errors import InternalError
from workloads.machine import Event

__all__ = ["Tenants", "measured"]

_LISTEN_TIMEOUT_S = 5.0
_LAST_WORDS_S = 3.0
_LISTENING = "0A"
"""TCP_LISTEN in /proc/PID/net/tcp, include/net/tcp_states.h"""
_SECOND_NS = 10**9


class _Flow:
    def __init__(self, plan: PlannedFlow, folder: Path) -> None:
        self.plan = plan
        self.server_log, self.client_log = (folder / f"{plan.config.name}.{end}.json" for end in ("server", "client"))
        self.server: subprocess.Popen[bytes] | None = None
        self.client: subprocess.Popen[bytes] | None = None
        self.started_ns: int | None = None
        self.asked_to_end = False


class Tenants:
    """The TCP flows of a plan. `pid_of(host)`: a process in its namespace; `tell` hears what they measured; times are
    those of `clock`, but for the kernel's own timers."""

    def __init__(
        self,
        flows: tuple[PlannedFlow, ...],
        pid_of: Callable[[str], int],
        ledger: Ledger,
        run_dir: Path,
        tell: Callable[[Event], None],
        clock: EmulatedClock | None = None,
    ) -> None:
        self._clock = clock or EmulatedClock()
        folder = run_dir / "background"
        self._flows = [_Flow(flow, folder) for flow in flows if flow.kind == "tcp"]
        self._pid_of, self._ledger, self._tell, self._folder = pid_of, ledger, tell, folder

    def listen(self) -> None:
        """Start the servers. Raises InternalError when one does not listen before long."""
        if self._flows:
            self._folder.mkdir(parents=True, exist_ok=True)
        for flow in self._flows:
            config = flow.plan.config
            arguments = ["-s", "-1", "-B", format_ip(config.envelope.dst_ip)]
            flow.server = self._start(flow, flow.plan.target, arguments, flow.server_log)
        for flow in self._flows:
            self._await_listening(flow)

    def advance(self, now: int) -> int | None:
        """Start and end the clients that are due; when there is something to do again, None: never."""
        due: list[int] = []
        for flow in self._flows:
            config = flow.plan.config
            if flow.client is None:
                if config.start_ns > now:
                    due.append(config.start_ns)
                    continue
                self._connect(flow, now)
            if config.stop_ns is not None and not flow.asked_to_end:
                if config.stop_ns > now:
                    due.append(config.stop_ns)
                else:
                    self._ask_to_end(flow)
        return min(due, default=None)

    def finish(self) -> None:
        """The run is over: end what still runs, and report what each flow did. A flow that never began has no
        report."""
        for flow in self._flows:
            self._ask_to_end(flow)
        for flow in self._flows:
            if flow.client is None or flow.server is None or flow.started_ns is None:
                continue
            for process in (flow.client, flow.server):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_LAST_WORDS_S)
            found = measured(flow.plan.config.name, flow.started_ns, _read(flow.client_log), _read(flow.server_log))
            self._tell(replace(found, duration_ns=self._clock.emulated(found.duration_ns)))

    def close(self) -> None:
        """Nothing of it lives afterwards. Never raises for a process."""
        for flow in self._flows:
            for process in (flow.client, flow.server):
                if process is not None:
                    process.kill()
                    process.wait()

    def _connect(self, flow: _Flow, now: int) -> None:
        config = flow.plan.config
        arguments = ["-c", format_ip(config.envelope.dst_ip), "-B", format_ip(config.envelope.src_ip)]
        # iperf3 takes one bound; time is kept by `advance`, and by the end of the run.
        arguments += ["-t", "0"] if config.size_bytes is None else ["-n", str(config.size_bytes)]
        if config.rate_bps is not None:
            arguments += ["-b", str(self._clock.real_bps(config.rate_bps))]
        flow.started_ns = now
        flow.client = self._start(flow, flow.plan.source, arguments, flow.client_log)

    def _start(self, flow: _Flow, host: str, arguments: list[str], log: Path) -> subprocess.Popen[bytes]:
        command = ["iperf3", "-J", "-p", str(flow.plan.config.dport), *arguments]
        setup = partial(_enter_host, os.getpid(), self._pid_of(host), self._ledger, f"iperf3 {flow.plan.config.name}")
        with log.open("wb") as output:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, preexec_fn=setup
            )

    def _await_listening(self, flow: _Flow) -> None:
        assert flow.server is not None
        wanted = f":{flow.plan.config.dport:04X}"
        table = Path(f"/proc/{flow.server.pid}/net/tcp")
        deadline = time.monotonic() + _LISTEN_TIMEOUT_S
        while flow.server.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                rows = [line.split() for line in table.read_text(encoding="ascii").splitlines()[1:]]
                if any(row[1].endswith(wanted) and row[3] == _LISTENING for row in rows):
                    return
            time.sleep(0.01)
        said = flow.server_log.read_text(encoding="utf-8", errors="replace").strip()
        raise InternalError(
            f"background flow {flow.plan.config.name}: iperf3 does not listen on {flow.plan.target}: {said}"
        )

    @staticmethod
    def _ask_to_end(flow: _Flow) -> None:
        """As Ctrl-C: the client informs the server, and both write what they know."""
        if flow.client is not None and not flow.asked_to_end:
            flow.asked_to_end = True
            flow.client.send_signal(signal.SIGINT)


def _enter_host(parent: int, pid: int, ledger: Ledger, role: str) -> None:
    child_setup(parent, lambda process: ledger.note_process(process, role))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.setpgid(0, 0)  # Ctrl-C in the terminal is for us, who end it in order
    enter(pid)


def measured(flow: str, started_ns: int, client: Mapping[str, Any], server: Mapping[str, Any]) -> TcpFlowMeasured:
    """From what the two ends wrote (`iperf3 -J`); what is missing there counts as 0, with the reason as `trouble`. A
    client that is ended before it began says that it ended and names no bytes, or says nothing and names 0."""
    sent = client.get("end", {}).get("sum_sent", {})
    received = server.get("end", {}).get("sum_received", {})
    troubles = [
        f"{end}: {report['error']}"
        for end, report in (("client", client), ("server", server))
        if "error" in report and "terminated" not in report["error"]
    ]
    if not troubles and not sent.get("bytes"):
        troubles = ["client: ended before it had sent anything"]
    return TcpFlowMeasured(
        flow,
        int(received.get("bytes", 0)),
        int(sent.get("bytes", 0)),
        max(0, int(sent.get("retransmits", 0))),
        started_ns,
        round(float(sent.get("seconds", 0)) * _SECOND_NS),
        "; ".join(troubles),
    )


def _read(log: Path) -> dict[str, Any]:
    try:
        report: dict[str, Any] = json.loads(log.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return {"error": f"iperf3 left no report ({error})"}
    return report
