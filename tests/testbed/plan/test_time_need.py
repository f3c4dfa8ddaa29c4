"""How long a job takes, told before it runs: never more than a run took, and about as much."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.checkers import CheckContext
from testbed.figures.metrics import metrics
from testbed.history import sort_history
from testbed.plan import make_plan
from testbed.plan.time_need import _computing_ns, time_need
from testbed.scenario import builtin_names, load_scenario
from testbed.worlds.simulated.world import simulate
from workloads.layers import ComputeConfig, LayerConfig

SMALL = ["job.size=200kB"]


def _took_s(plan) -> float:
    took = metrics(CheckContext(plan, sort_history(simulate(plan))))["jct_s"]
    assert took is not None
    return took


def _plan(name: str, changes: list[str]):
    return make_plan(load_scenario(name, changes, world="simulated"))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("rack", SMALL),
        ("rack-int32", [*SMALL, "topology.link.rate=1Gbps"]),
        ("ring", SMALL),
        ("shift", SMALL),
        ("spine-leaf", SMALL),
        ("spine-leaf-ring", SMALL),
        ("hierarchical", SMALL),
        ("hierarchical-tencent", SMALL),
        ("accelerator", SMALL),
        ("switchml", SMALL),
        ("switchml-uc", SMALL),
        ("atp", SMALL),
        ("grid-triangle", SMALL),
        ("straggler", SMALL),
        ("rack", [*SMALL, "topology.link.delay=5ms"]),
        ("rack", [*SMALL, "job.window_messages=1", "job.message_packets=16"]),
    ],
)
def test_a_run_takes_no_less_and_about_as_much(name: str, changes: list[str]) -> None:
    plan = _plan(name, changes)
    need, took = time_need(plan), _took_s(plan)
    assert need.least_s <= took
    assert need.least_s <= need.about_s
    assert 0.4 * took < need.about_s < 2 * took


@pytest.mark.parametrize(
    "name",
    ["accelerator-one-port", "rack-lossy", "atp-two-jobs", "esa-scarce", "grid-link-down", "link-slowed", "jobs-mix"],
)
def test_with_faults_and_other_jobs_a_run_takes_no_less(name: str) -> None:
    plan = _plan(name, [] if name == "jobs-mix" else SMALL)
    assert time_need(plan).least_s <= _took_s(plan)


def test_a_link_that_a_fault_makes_faster_is_counted_as_that_fast() -> None:
    plan = _plan("link-slowed", SMALL)
    faster = _plan("link-slowed", [*SMALL, "faults[0].rate=10Gbps", "faults[0].links=all"])
    assert time_need(faster).least_s < time_need(plan).least_s / 10


def test_a_fault_makes_its_own_links_faster_and_no_others() -> None:
    plan = _plan("link-slowed", SMALL)
    faster = _plan("link-slowed", [*SMALL, "faults[0].rate=10Gbps", "faults[0].links=[h1-s1]"])
    assert time_need(faster).least_s == time_need(plan).least_s


def test_computing_takes_at_least_what_jitter_leaves_of_it() -> None:
    layers = (LayerConfig(10, 1_000, 2_000), LayerConfig(10, 3_000, 4_000))
    work = _plan("ring", SMALL).workers[0].workload
    for slowdown, jitter, took_ns in ((1.0, 0.0, 10_000), (2.0, 0.0, 20_000), (2.0, 0.25, 15_000)):
        compute = ComputeConfig(layers, slowdown=slowdown, jitter=jitter)
        assert _computing_ns(replace(work, compute=compute)) == took_ns


def test_the_link_that_decides_is_named() -> None:
    slow = ["topology.links={h3-s1: {rate: 1Mbps}}"]
    assert time_need(_plan("rack", [*SMALL, *slow])).bottleneck.startswith("h3-s1 ")
    assert time_need(_plan("straggler", SMALL)).bottleneck == ""


def test_no_builtin_scenario_has_less_time_than_it_needs() -> None:
    for name in builtin_names():
        scenario = load_scenario(name)
        assert time_need(make_plan(scenario)).least_s < scenario.time_limit_ns / 1e9, name


def test_a_slowed_machine_carries_more_frames_in_an_emulated_second() -> None:
    changes = ["topology.link.rate=10Gbps", "job.size=10MB"]
    plain, slowed, left_open = (
        time_need(make_plan(load_scenario("rack", [*changes, f"dilation={value}"]))).about_s
        for value in ("1", "10", "auto")
    )
    assert plain == pytest.approx(10 * slowed)
    assert left_open < slowed
