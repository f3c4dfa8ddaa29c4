"""Scenarios whose switch is an aggregation card, told everything through its registers."""

from __future__ import annotations

import pytest

from testbed.history import Record
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from tests.support.emulated import needs_root
from tests.support.passing import assert_passes
from workloads.errors import ScenarioError
from workloads.events import CollectiveCompleted

SMALL = ["job.size=60kB", "job.iterations=2"]


def sums(history: list[Record]) -> list[tuple[str, int, str]]:
    return sorted(
        (r.node, r.event.iteration, r.event.sha256) for r in history if isinstance(r.event, CollectiveCompleted)
    )


def run(tmp_path, name, world, program, *changes):
    scenario = load_scenario(name, [*SMALL, f"switch.program={program}", *changes], 5, world)
    result = run_scenario(scenario, tmp_path / f"{name}-{world}-{program}")
    assert_passes(result.document)
    found = sums(result.history)
    assert found
    return found


@pytest.mark.parametrize("name", ["rack", "hierarchical", "accelerator"])
def test_the_card_gives_the_sums_of_the_program(tmp_path, name):
    found = run(tmp_path, name, "simulated", "fpga")
    assert found
    assert found == run(tmp_path, name, "simulated", "netreduce")


def test_loss_at_the_card_is_repaired(tmp_path):
    lossless = run(tmp_path, "rack", "simulated", "netreduce")
    assert run(tmp_path, "rack-lossy", "simulated", "fpga", "topology.hosts=4") == lossless


@pytest.mark.parametrize("mark", [pytest.param(None, marks=needs_root)])
def test_both_worlds_give_the_same_sums(tmp_path, mark):
    real = run(tmp_path, "rack", "emulated", "fpga")
    assert real == run(tmp_path, "rack", "simulated", "netreduce")


def test_leaves_and_a_spine_may_be_cards(tmp_path):
    changes = ("topology.spines=1", "job.size=20kB")
    found = run(tmp_path, "spine-leaf", "simulated", "fpga", *changes)
    assert found == run(tmp_path, "spine-leaf", "simulated", "netreduce", *changes)


def test_a_trace_of_steps_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="trace: a card does not tell the steps of its tables; found true"):
        run(tmp_path, "rack", "simulated", "fpga", "trace=true")
