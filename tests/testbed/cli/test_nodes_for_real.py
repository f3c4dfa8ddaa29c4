"""`tb switch` and `tb worker` as processes of their own, on veth pairs in a namespace of their own."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import signal
from pathlib import Path

import pytest

from testbed.checkers.reference import expected_results
from testbed.plan import Plan, make_plan
from testbed.scenario import load_scenario
from tests.support.namespace import own_namespace
from tests.support.nodes import Node, events, plain


class Rack:
    """One `tb switch` on the far ends of veth pairs, and jobs of two workers on the near ends."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder = folder
        self.configure(plan, 0)
        (switch,) = plan.switches
        words = ["--program", switch.program, "--port", "port0", "--port", "port1", "--config", str(folder / "s1.json")]
        self.switch = Node(folder, "s1", "switch", *words)
        self.switch.await_event("SwitchStarted")

    def configure(self, plan: Plan, generation: int) -> None:
        (switch,) = plan.switches
        (ring,) = switch.rings
        config = plain(dataclasses.replace(switch, rings=(dataclasses.replace(ring, generation=generation),)))
        del config["program"], config["ports"]
        (self.folder / "s1.json").write_text(json.dumps(config))

    def run(self, plan: Plan) -> None:
        """A whole job; its results are the right ones."""
        workers = []
        for rank, worker in enumerate(plan.workers):
            path = self.folder / f"{worker.name}.json"
            path.write_text(json.dumps(plain(worker)))
            words = ["--config", str(path), "--port", f"host{rank}", "--linger", "500ms"]
            workers.append(Node(self.folder, worker.name, "worker", *words))
        try:
            told = [worker.ended(within_s=60) for worker in workers]
        finally:
            for node in workers:
                node.kill()
        wanted = [
            [hashlib.sha256(result.tobytes()).hexdigest() for result in results] for results in expected_results(plan)
        ]
        for rank, output in enumerate(told):
            digests = {record["iteration"]: record["sha256"] for record in events(output, "CollectiveCompleted")}
            assert digests == {iteration: results[rank] for iteration, results in enumerate(wanted)}


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
            rack.switch.process.send_signal(signal.SIGHUP)
            assert rack.switch.await_event("RingsInstalled")["installed"] == [1]
            rack.run(plans[1])
            told = rack.switch.stop()
        finally:
            rack.switch.kill()
    (statistics,) = events(told, "SwitchStatistics")
    assert statistics["counters"]["results_out"] > 0
    assert [record["open"] for record in events(told, "SlotsAtEnd")] == [0, 0]
