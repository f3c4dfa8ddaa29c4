"""Several jobs in virtual time: right sums of each, at the times that arithmetic says."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from testbed.checkers import CheckContext, run_checks
from testbed.figures.metrics import metrics
from testbed.history import Record, sort_history
from testbed.history.events import TrafficStarted
from testbed.history.verdict import Verdict
from testbed.plan import Plan, make_plan
from testbed.scenario import load_scenario, parse_scenario
from testbed.worlds.simulated import simulate
from tests.support.records import event_with
from workloads.events import CollectiveCompleted, CollectiveStarted, GradientComputed

MIX = """name: mix
world: simulated
topology: {kind: rack, hosts: 7, link: {rate: 50Mbps}}
switch: {program: switchml, memory: 24}
transport: {path_mtu: 256, rto: 4ms}
job: {protocol: switchml, window_packets: 16}
jobs:
  - {name: layers, workers: 2, model: alexnet, scale: 20000, iterations: 2, compute: {ratio: 1, jitter: 10%}}
  - {name: short, workers: 3, size: 3kB, dtype: int32, arrival: 3ms}
  - {name: slow, workers: 2, size: 10kB, iterations: 3, compute: {forward: 1ms, backward: 2ms},
     straggler: {rank: 1, slowdown: 2}}
faults:
  - {kind: loss, name: loss, links: all, direction: both, rate: 2%}
time_limit: 5s
"""


def run(text: str, *changes: str) -> tuple[Plan, list[Record]]:
    plan = make_plan(parse_scenario(text, "x.yaml", changes))
    return plan, sort_history(simulate(plan))


def verdicts(plan: Plan, history: list[Record]) -> dict[str, Verdict]:
    return {result.name: result.verdict for result in run_checks(CheckContext(plan, history)).results}


def jobs(plan: Plan, history: list[Record]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = metrics(CheckContext(plan, history))["jobs"]["each"]
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_jobs_of_different_lengths_under_loss(seed):
    plan, history = run(MIX, f"seed={seed}")
    assert set(verdicts(plan, history).values()) == {Verdict.PASS}
    assert [len(job["iterations_s"]) for job in jobs(plan, history)] == [2, 1, 3]
    assert sum(job["resends"] for job in jobs(plan, history)) > 0


@pytest.mark.parametrize("packets", [1, 3])
def test_jobs_over_unreliable_connections_under_loss(packets):
    plan, history = run(MIX, "transport.framing=uc", f"transport.uc_packets={packets}")
    found = verdicts(plan, history)
    assert found.pop("unreliable") is Verdict.UNKNOWN, "it reads captures, and here are none"
    assert set(found.values()) == {Verdict.PASS}
    assert sum(job["resends"] for job in jobs(plan, history)) > 0


def test_a_wrong_sum_of_the_longest_job_is_found_when_the_others_are_over():
    plan, history = run(MIX)
    last = next(r for r in history if isinstance(r.event, CollectiveCompleted) and r.event.iteration == 2)
    assert verdicts(plan, history)["bit_exact"] is Verdict.PASS
    broken = [event_with(record, sha256="0" * 64) if record is last else record for record in history]
    assert verdicts(plan, broken)["bit_exact"] is Verdict.FAIL
    missing = [record for record in history if record is not last]
    assert verdicts(plan, missing)["bit_exact"] is Verdict.UNKNOWN


ALONE = """name: alone
world: simulated
topology: {kind: rack, hosts: 2, link: {rate: 20Mbps}}
switch: {program: switchml, memory: 256}
transport: {path_mtu: 256, rto: 100ms}
job: {protocol: switchml, window_packets: 128, dtype: int32, iterations: 4, size: 25600B}
"""
SERIAL_S = 100 * 338 * 8 / 20e6
"""of the 100 packets on a host's link"""


def test_without_computing_an_iteration_takes_the_gradient_s_time_on_the_wire():
    plan, history = run(ALONE)
    (job,) = jobs(plan, history)
    assert job["iterations_s"] == pytest.approx([SERIAL_S] * 4, rel=0.02)


def test_computing_in_one_layer_is_added():
    plan, history = run(ALONE, "job.compute={ratio: 1}")
    (job,) = jobs(plan, history)
    assert job["iterations_s"] == pytest.approx([2 * SERIAL_S] * 4, rel=0.02)


def test_what_is_ready_early_is_sent_while_the_rest_is_computed():
    """Ten layers whose backward passes take as long as their gradients on the wire: all but one of them overlap."""
    layer_s = SERIAL_S / 10
    layers = ", ".join(f"{{layer: l{n}, elements: 640, backward: {layer_s * 1e6:.0f}us}}" for n in range(10))
    plan, history = run(ALONE, "job={protocol: switchml, window_packets: 128, dtype: int32, iterations: 4, scale: 1, "
                        f"layers: [{layers}]}}")  # fmt: skip
    (job,) = jobs(plan, history)
    assert job["iterations_s"] == pytest.approx([SERIAL_S + layer_s] * 4, rel=0.02)


def test_one_slow_host_slows_its_job_and_no_other():
    plan, history = run(MIX, "faults=[]")
    computing = {
        r.node: r.event.ready_ns - r.event.forward_ns for r in history if isinstance(r.event, GradientComputed)
    }
    assert computing["h6"] == 3_000_000
    assert computing["h7"] == 6_000_000
    _, without = run(MIX, "faults=[]", "jobs[2].straggler.slowdown=1")
    slow, even = jobs(plan, history), jobs(plan, without)
    assert slow[2]["jct_s"] == pytest.approx(even[2]["jct_s"] + 3 * 0.003, rel=0.05)
    assert slow[0]["jct_s"] == pytest.approx(even[0]["jct_s"], rel=0.05)


def test_a_job_starts_when_it_arrives():
    plan, history = run(MIX, "faults=[]", "jobs[1].arrival=30ms")
    started = {r.node: r.t for r in history if isinstance(r.event, CollectiveStarted)}
    traffic = next(r.t for r in history if isinstance(r.event, TrafficStarted))
    assert {started[host] - traffic for host in ("h3", "h4", "h5")} == {30_000_000}
    assert jobs(plan, history)[1]["arrival_s"] == 0.03
    assert jobs(plan, history)[1]["jct_s"] < 0.03


def test_iterations_follow_one_another_and_add_up():
    plan, history = run(MIX)
    for job in jobs(plan, history):
        assert sum(job["iterations_s"]) == pytest.approx(job["jct_s"])
    for node in ("h1", "h2"):
        computed = [r for r in history if isinstance(r.event, GradientComputed) and r.node == node]
        done = [r.event.completed_ns for r in history if isinstance(r.event, CollectiveCompleted) and r.node == node]
        assert [r.event.iteration for r in computed] == [0, 1]
        for (before, after), end in zip(pairwise(computed), done, strict=False):
            assert before.event.ready_ns < end <= after.event.backward_ns


def test_memory_is_used_a_part_of_the_time_and_less_of_it_usefully():
    plan, history = run(MIX)
    found = metrics(CheckContext(plan, history))["jobs"]
    assert 0 < found["useful"] < found["busy"] < 1


@pytest.mark.parametrize("seed", [1, 2])
def test_sixty_four_jobs_side_by_side(seed):
    """Of `jobs-64`, with two workers instead of four, and less to send."""
    scenario = load_scenario("jobs-64", seed=seed)
    entries = ", ".join(f"{{workers: 2, size: {4 + n % 3 * 4}kB, arrival: {n // 4}ms}}" for n in range(64))
    scenario = load_scenario("jobs-64", [f"jobs=[{entries}]", "job.iterations=1"], seed)
    plan = make_plan(scenario)
    history = sort_history(simulate(plan))
    assert set(verdicts(plan, history).values()) == {Verdict.PASS}
    assert len(jobs(plan, history)) == 64
