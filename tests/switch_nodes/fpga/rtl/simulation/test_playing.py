"""The whole card in hardware against the reference, frame by frame, counter by counter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.fpga.golden import reference_outputs, sums_in
from switch_nodes.fpga.rtl.names import PLANTS
from switch_nodes.fpga.rtl.parameters import RtlParameters
from switch_nodes.fpga.rtl.simulation.building import built_library
from switch_nodes.fpga.rtl.simulation.playing import play_simulated, refuse_unfit
from testbed.worlds.simulated.switch_trace import scenario_trace
from tests.support.rtl import TRACES, needs_simulation, proof_of, what_is_wrong
from workloads.errors import ScenarioError


@pytest.mark.parametrize("name", ["rack", "rack-lossy", "psn-wrap", "ecn-marked", "corruption", "reorder", "rack-send"])
def test_a_scenario_gives_the_frames_of_the_reference(library, trace, name):
    config, inputs = trace(name)
    assert sums_in(reference_outputs(config, inputs), inputs)
    for seed in range(4):
        assert what_is_wrong(library, config, inputs, seed=seed, apart=seed == 3) == []


@pytest.mark.parametrize(("name", "sets", "seed"), TRACES)
def test_a_mutated_trace_does_too(library, trace, name, sets, seed):
    config, inputs = trace(name, *sets, mutate=seed)
    assert what_is_wrong(library, config, inputs, seed=seed) == []


@pytest.mark.parametrize("dtype", ["float32", "int32", "int32sat"])
@pytest.mark.parametrize("op", ["sum", "max", "xor"])
def test_every_arithmetic(library, trace, op, dtype):
    workload = "special" if dtype == "float32" else "extreme"
    config, inputs = trace("rack", f"job.op={op}", f"job.dtype={dtype}", f"job.workload={workload}")
    assert what_is_wrong(library, config, inputs) == []


@pytest.mark.parametrize("change", [{"release": "asap"}, {"gate": "epsn"}, {"hairpin": True}, {"macs": ()}])
def test_options_of_the_switch(library, trace, change):
    config, inputs = trace("rack-lossy", mutate=11)
    config = replace(config, **change)
    assert what_is_wrong(library, config, inputs, seed=5) == []


@pytest.mark.parametrize("seed", range(20, 40))
def test_more_mutated_traces(library, trace, seed):
    name = ("rack", "rack-lossy", "rack-int32", "ecn-marked", "psn-wrap")[seed % 5]
    config, inputs = trace(name, mutate=seed)
    assert what_is_wrong(library, config, inputs, seed=seed) == []


@pytest.mark.parametrize("plant", PLANTS)
def test_every_planted_bug_is_found(library, plant):
    if proof_of(library, plant) is None:
        pytest.fail(f"nothing shows that {PLANTS[plant]}")


def test_a_switch_among_several_is_refused():
    from testbed.scenario import load_scenario

    config, _ = scenario_trace(load_scenario("spine-leaf", ["job.size=20kB"], None, "simulated"))
    with pytest.raises(ScenarioError, match="has no feature FABRIC"):
        refuse_unfit(config)


def test_a_waveform_has_the_cycles_around_one(library, trace, tmp_path):
    config, inputs = trace("rack")
    play_simulated(library, config, inputs[:20], waveform=(tmp_path / "cut.vcd", 3_000))
    lines = (tmp_path / "cut.vcd").read_text().splitlines()
    times = [int(line[1:]) for line in lines if line.startswith("#")]
    assert times[0] >= 2 * (3_000 - 150)
    assert times[-1] <= 2 * (3_000 + 50) + 1
    assert any(" rx_valid " in line for line in lines)


@pytest.mark.minutes
def test_the_wide_card_gives_the_frames_of_the_reference(trace):
    needs_simulation()
    library = built_library(RtlParameters(width=512))
    for name, sets, seed in TRACES:
        config, inputs = trace(name, *sets, mutate=seed)
        assert what_is_wrong(library, config, inputs, seed=seed) == []
