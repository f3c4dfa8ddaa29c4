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
from testbed.plan import Plan, make_plan
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


class Rack:
    """One `tb switch` on the far ends of veth pairs, and jobs of two workers on the near ends."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder, self.told = folder, ""
        self.configure(plan, 0)
        (switch,) = plan.switches
        words = ["--program", switch.program, "--port", "port0", "--port", "port1", "--config", str(folder / "s1.json")]
        self.switch = start("switch", *words)
        self.await_event("SwitchStarted")

    def configure(self, plan: Plan, generation: int) -> None:
        (switch,) = plan.switches
        (ring,) = switch.rings
        config = plain(dataclasses.replace(switch, rings=(dataclasses.replace(ring, generation=generation),)))
        del config["program"], config["ports"]
        (self.folder / "s1.json").write_text(json.dumps(config))

    def await_event(self, name: str) -> dict[str, Any]:
        assert self.switch.stdout is not None
        for line in self.switch.stdout:
            self.told += line
            if json.loads(line)["event"] == name:
                return json.loads(line)
        raise AssertionError(f"the switch ended before {name}: {self.switch.communicate()[1]}")

    def run(self, plan: Plan) -> None:
        """A whole job; its results are the right ones."""
        workers = []
        for rank, worker in enumerate(plan.workers):
            path = self.folder / f"{worker.name}.json"
            path.write_text(json.dumps(plain(worker)))
            workers.append(start("worker", "--config", str(path), "--port", f"host{rank}", "--linger", "500ms"))
        try:
            told = [worker.communicate(timeout=60) for worker in workers]
        finally:
            for process in workers:
                process.kill()
        assert [worker.returncode for worker in workers] == [0, 0], told
        wanted = [
            [hashlib.sha256(result.tobytes()).hexdigest() for result in results] for results in expected_results(plan)
        ]
        for rank, (output, _) in enumerate(told):
            digests = {record["iteration"]: record["sha256"] for record in events(output, "CollectiveCompleted")}
            assert digests == {iteration: results[rank] for iteration, results in enumerate(wanted)}

    def stop(self) -> str:
        """Everything that the switch told."""
        self.switch.send_signal(signal.SIGTERM)
        self.told += self.switch.communicate(timeout=20)[0]
        assert self.switch.returncode == 0
        return self.told


@pytest.mark.root
def test_two_workers_and_a_switch_reduce_one_job_after_the_other(tmp_path: Path) -> None:
    """The second job has other queue pairs and begins with message 0: the ring is installed anew in between."""
    plans = [make_plan(load_scenario("rack", ["topology.hosts=2", "job.size=100kB"], seed)) for seed in (1, 2)]
    with own_namespace() as namespace:
        for rank in range(2):
            namespace.veth(f"host{rank}", f"port{rank}")
        rack = Rack(tmp_path, plans[0])
        try:
            rack.run(plans[0])
            rack.configure(plans[1], 1)
            rack.switch.send_signal(signal.SIGHUP)
            assert rack.await_event("RingsInstalled")["installed"] == [1]
            rack.run(plans[1])
            told = rack.stop()
        finally:
            rack.switch.kill()
    (statistics,) = events(told, "SwitchStatistics")
    assert statistics["counters"]["results_out"] > 0
    assert [record["open"] for record in events(told, "SlotsAtEnd")] == [0, 0]
