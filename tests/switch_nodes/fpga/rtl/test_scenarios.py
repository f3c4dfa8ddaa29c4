"""Every built-in scenario that the emulated card can do, through the hardware: frame by frame, and as the switch of a
run. A few of them stand for all; the mark `minutes` has the others, with their own sizes."""

from __future__ import annotations

import pytest

from benchmarks.card_scenarios import fits, pressure_of, problems_of
from switch_nodes.fpga.golden import compare, describe, reference_outputs
from switch_nodes.fpga.rtl.simulation.playing import parameters_for, play_simulated, reference_counters
from testbed.runs.run import run_scenario
from testbed.scenario import builtin_names, load_scenario
from testbed.worlds.simulated.switch_trace import scenario_trace
from tests.support.rtl import needs_simulation
from workloads.errors import ScenarioError
from workloads.events import CollectiveCompleted

_OWN_SIZE = {"message-only-first-lost": (), "rewind": ()}
"""scenarios whose fault needs their own size"""
_SMALL = ("job.size=60kB",)
_FEW = ("rack-lossy", "psn-wrap", "message-only-first-lost")


def _load(name: str, *more: str):
    sets = (*_OWN_SIZE.get(name, _SMALL), *more)
    try:
        return load_scenario(name, sets, None, "simulated")
    except ScenarioError:  # its jobs have sizes of their own
        return load_scenario(name, more, None, "simulated")


NAMES = (
    "accelerator",
    "accelerator-dies",
    "accelerator-flap",
    "accelerator-killed",
    "accelerator-lossy",
    "accelerator-one-port",
    "accelerator-openflow-lossy",
    "accelerator-slow",
    "hierarchical",
    "hierarchical-lossy",
    "pfc-slots",
    "ack-lost",
    "congested",
    "corrupt-contribution",
    "corrupt-result",
    "corruption",
    "data-first-lost",
    "data-last-lost",
    "data-middle-lost",
    "dead-link",
    "delayed-link",
    "ecn-marked",
    "first-of-last-message-lost",
    "hello-lost",
    "last-result-lost",
    "link-flap",
    "link-slowed",
    "message-only-first-lost",
    "mixed-netreduce-ring",
    "nak-lost",
    "network-duplicate",
    "pfc-netreduce",
    "priority",
    "psn-wrap",
    "rack",
    "rack-32",
    "rack-bursty",
    "rack-int32",
    "rack-jumbo",
    "rack-lossy",
    "rack-send",
    "receiver-not-ready",
    "reorder",
    "result-lost",
    "retransmission-lost-again",
    "rewind",
    "stale-duplicate",
    "straggler",
    "netreduce-barrier-lossy",
    "netreduce-broadcast-lossy",
    "netreduce-reduce-scatter-lossy",
    "straggler-too-late",
    "strategy",
    "switch-killed",
    "switch-paused",
    "switch-restarted",
    "tail-lost",
    "worker-killed",
    "worker-paused",
)
_CASES = [name if name in _FEW else pytest.param(name, marks=pytest.mark.minutes) for name in NAMES]


def _library(config, width: int = 64):
    needs_simulation()
    from switch_nodes.fpga.rtl.simulation.building import built_library

    return built_library(parameters_for(config, width))


def test_all_that_a_card_can_do_are_here():
    assert set(_FEW) <= set(NAMES)
    assert set(NAMES) == {name for name in builtin_names() if fits(name)}


def _problems(scenario, width: int) -> tuple[str, ...]:
    config, inputs = scenario_trace(scenario)
    passage = play_simulated(_library(config, width), config, inputs, seed=pressure_of(scenario.name))
    return problems_of(passage, reference_outputs(config, inputs), config, inputs)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", _CASES)
def test_golden(name):
    scenario = _load(name) if name in _FEW else load_scenario(name, (), None, "simulated")
    assert _problems(scenario, 64) == ()


@pytest.mark.minutes
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("width", "dtype"), [(64, "int32"), (512, "float32"), (512, "int32")])
@pytest.mark.parametrize("name", NAMES)
def test_golden_of_other_widths_and_types(name, width, dtype):
    assert _problems(_load(name, f"job.dtype={dtype}"), width) == ()


@pytest.mark.minutes
@pytest.mark.timeout(900)
@pytest.mark.parametrize("dtype", ["float32", "int32", "int32sat"])
@pytest.mark.parametrize("name", ["rack-lossy", "psn-wrap", "ecn-marked", "stale-duplicate"])
def test_golden_of_512_bits(name, dtype):
    config, inputs = scenario_trace(_load(name, f"job.dtype={dtype}"))
    for seed in range(4):
        passage = play_simulated(_library(config, 512), config, inputs, seed=seed)
        difference = compare(reference_outputs(config, inputs), passage.outputs)
        assert difference is None, "\n".join(describe(difference, inputs))
        assert dict(passage.counters) == reference_counters(config, inputs)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", _CASES)
def test_runs_give_the_sums_of_the_reference(name, tmp_path):
    _library(scenario_trace(_load(name))[0])
    found = {}
    for program in ("rtl", "netreduce"):
        result = run_scenario(_load(name, f"switch.program={program}"), tmp_path / program)
        sums = {
            (record.node, record.event.iteration): record.event.sha256
            for record in result.history
            if isinstance(record.event, CollectiveCompleted)
        }
        found[program] = (result.document["verdict"], sums)
    assert found["rtl"] == found["netreduce"]
