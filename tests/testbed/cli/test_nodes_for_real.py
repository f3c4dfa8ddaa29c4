"""`tb switch` and `tb worker` as processes of their own, on veth pairs in a namespace of their own."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from testbed.checkers.reference import expected_results
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from tests.support.namespace import own_namespace
from topologies import format_ip, format_mac

ROOT = Path(__file__).resolve().parents[3]


def plain(value: Any) -> Any:
    """A configuration as a person would write it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, bytes):
        return format_mac(value) if len(value) == 6 else format_ip(value)
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "testbed", *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def events(output: str, name: str) -> list[dict[str, Any]]:
    return [record for line in output.splitlines() if (record := json.loads(line))["event"] == name]


@pytest.mark.root
def test_two_workers_and_a_switch_reduce(tmp_path: Path) -> None:
    plan = make_plan(load_scenario("rack", ["topology.hosts=2", "job.size=100kB"]))
    (switch,) = plan.switches
    config = plain(switch)
    del config["program"], config["ports"]
    (tmp_path / "s1.json").write_text(json.dumps(config))
    for worker in plan.workers:
        (tmp_path / f"{worker.name}.json").write_text(json.dumps(plain(worker)))
    with own_namespace() as namespace:
        for rank in range(2):
            namespace.veth(f"host{rank}", f"port{rank}")
        s1 = start(
            "switch",
            "--program",
            switch.program,
            "--port",
            "port0",
            "--port",
            "port1",
            "--config",
            str(tmp_path / "s1.json"),
        )
        workers = [
            start(
                "worker",
                "--config",
                str(tmp_path / f"{worker.name}.json"),
                "--port",
                f"host{rank}",
                "--linger",
                "500ms",
            )
            for rank, worker in enumerate(plan.workers)
        ]
        try:
            told = [worker.communicate(timeout=60) for worker in workers]
            s1.send_signal(signal.SIGTERM)
            switch_told = s1.communicate(timeout=20)
        finally:
            for process in (s1, *workers):
                process.kill()
    assert [worker.returncode for worker in workers] == [0, 0], told
    wanted = [
        [hashlib.sha256(result.tobytes()).hexdigest() for result in results] for results in expected_results(plan)
    ]
    for rank, (output, _) in enumerate(told):
        digests = {record["iteration"]: record["sha256"] for record in events(output, "CollectiveCompleted")}
        assert digests == {iteration: results[rank] for iteration, results in enumerate(wanted)}
    assert s1.returncode == 0
    (statistics,) = events(switch_told[0], "SwitchStatistics")
    assert statistics["counters"]["results_out"] > 0
