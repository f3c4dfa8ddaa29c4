"""A node that stands still for no reason of the scenario is the machine's fault, not the protocol's; a dead link stays
what it is."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from testbed.history.events import TrafficStarted
from testbed.runs.options import RunOptions
from testbed.runs.run import RunResult, run_scenario
from testbed.scenario import load_scenario
from tests.support.emulated import needs_root
from tests.support.selection import some_at_once

pytestmark = needs_root
STOPPED_S = 1.5
SETTINGS = ["job.size=4MB", "time_limit=20s", "dilation=1"]


def child_called(name: str) -> int | None:
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError, IndexError):
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == os.getpid() and (process / "comm").read_text().strip() == name:
                return int(process.name)
    return None


def run_with_stopped(
    node: str, folder: Path, stopped_s: float = STOPPED_S, *, twin: bool = True, timer: int = 13
) -> RunResult:
    """The machine does not run this node's process for a while; the run does not know of it. With timer 13 senders give
    up after 268 ms."""
    began = threading.Event()

    def hear(record: dict[str, Any]) -> None:
        if isinstance(record.event, TrafficStarted):
            began.set()

    def stop() -> None:
        began.wait(30)
        pid = child_called(f"tb {node}")
        assert pid is not None
        handle = os.pidfd_open(pid)
        with contextlib.suppress(ProcessLookupError):
            time.sleep(0.1)
            signal.pidfd_send_signal(handle, signal.SIGSTOP)
            time.sleep(stopped_s)
            signal.pidfd_send_signal(handle, signal.SIGCONT)
        os.close(handle)

    stopping = threading.Thread(target=stop)
    stopping.start()
    try:
        scenario = load_scenario("rack", [*SETTINGS, f"transport.timeout={timer}"], 1, "emulated")
        return run_scenario(scenario, folder, observer=lambda plan: hear, options=RunOptions(twin=twin))
    finally:
        began.set()
        stopping.join()


@pytest.mark.parametrize("node", some_at_once(["h2", "s1"], quick=["s1"]))
def test_the_verdict_is_unknown_and_names_the_node(tmp_path: Path, node: str) -> None:
    document = run_with_stopped(node, tmp_path / "run").document
    checks = {check["name"]: check for check in document["checks"]}
    assert f"the machine let {node} stand still for " in checks["liveness"]["detail"]
    assert "RETRY_EXC" in checks["liveness"]["detail"]
    assert checks["liveness"]["verdict"] == document["verdict"] == "unknown"


def test_a_dead_link_stays_a_failure(tmp_path: Path) -> None:
    document = run_scenario(load_scenario("dead-link", ["dilation=1"], world="emulated"), tmp_path / "run").document
    assert document["verdict"] == "fail"


def test_without_a_reference_run_a_short_stand_still_makes_the_figures_unknown(tmp_path: Path) -> None:
    document = run_with_stopped("s1", tmp_path / "run", 0.2, twin=False, timer=15).document
    assert document["fidelity"]["verdict"] == "unknown"
    found = [re.match(r"s1: stood still for ([\d.]+) ms", text) for text in document["fidelity"]["reasons"]]
    assert max(float(match[1]) for match in found if match) > 190
    assert (document["metrics"]["jct_s"], document["metrics"]["goodput_bps"]) == (None, None)
