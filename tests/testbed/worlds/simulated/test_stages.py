"""Strategies over datagrams, alone and beside other jobs, judged by the stock checkers and held against the model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from testbed.history import Record
from testbed.hunt.judge import run_and_judge
from testbed.scenario import load_scenario
from testbed.scenario.model import Scenario
from workloads.events import CollectiveCompleted, GradientComputed

PROGRAMS = ("switchml", "atp", "esa")
STAGES = {
    "operators": [
        {"name": "a", "weights": "400kB", "activations": "100kB", "compute": "8ms"},
        {"name": "b", "weights": "90kB", "activations": "300kB", "compute": "4ms"},
        {"name": "c", "weights": "600kB", "activations": "40kB"},
    ],
    "divide": 1,
}
RAIN = "faults=[{kind: loss, name: rain, rate: 1%}]"


def scenario_of(program: str, strategy: str, *more: str, **job: Any) -> Scenario:
    keys = {"protocol": program, "dtype": "int32", "iterations": 2, "window_packets": 32, **job}
    if program != "switchml":
        keys["server"] = "h5"
    keys["stages"] = {**STAGES, "strategy": strategy}
    return load_scenario(
        "atp" if program != "switchml" else "switchml",
        [f"topology={{kind: rack, hosts: {5 if program != 'switchml' else 4}, link: {{rate: 100Mbps, delay: 20us}}}}",
         f"switch={{program: {program}, memory: 256}}", f"job={json.dumps(keys)}", *more],
        world="simulated",
    )  # fmt: skip


def completed(history: list[Record]) -> int:
    return sum(isinstance(record.event, CollectiveCompleted) for record in history)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("strategy", ["DP", "MP,DP,MP"])
@pytest.mark.parametrize("faults", [(), (RAIN,)])
def test_every_sum_is_right(program: str, strategy: str, faults: tuple[str, ...]) -> None:
    failure, history = run_and_judge(scenario_of(program, strategy, *faults))
    assert failure is None
    assert completed(history) == 2 * 4


@pytest.mark.parametrize("program", ["atp", "esa"])
def test_floats_by_one_scale(program: str) -> None:
    failure, _ = run_and_judge(scenario_of(program, "DP,MP,DP", dtype="float32", quantisation="fixed:1e6"))
    assert failure is None


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_iteration_takes_what_the_stages_say(program: str) -> None:
    """Stages follow one another: computing of a quarter, then as many full datagrams as each has blocks. A window's
    round trip at the end of each stage is what the model has not."""
    scenario = scenario_of(program, "MP,DP,MP", iterations=1)
    _, history = run_and_judge(scenario)
    blocks = -(-100_000 // 1024) + -(-75_000 // 1024) + -(-90_000 // 1024) + -(-225_000 // 1024) + -(-40_000 // 1024)
    from testbed.plan import make_plan

    frame = make_plan(scenario).workers[0].framing.frame_bytes
    predicted = (8e-3 + 4e-3) / 4 + blocks * frame * 8 / 1e8
    last = max(record.event.completed_ns for record in history if isinstance(record.event, CollectiveCompleted))
    assert last / 1e9 == pytest.approx(predicted, rel=0.05)
    assert last / 1e9 > predicted


def test_the_gradient_is_computed_when_the_last_stage_is() -> None:
    """`GradientComputed` tells one span for all stages, with the traffic between them."""
    _, history = run_and_judge(scenario_of("switchml", "MP,DP,MP", iterations=1))
    told = [record for record in history if isinstance(record.event, GradientComputed)]
    assert len(told) == 4
    before_last_s = (8e-3 + 4e-3) / 4 + 8 * (100_000 + 75_000 + 90_000 + 225_000) / 1e8
    for record in told:
        assert record.event.forward_ns == record.event.backward_ns == 0
        assert record.event.ready_ns / 1e9 == pytest.approx(before_last_s, rel=0.15)
        assert record.event.ready_ns / 1e9 > before_last_s


@pytest.mark.parametrize("program", PROGRAMS)
def test_beside_other_jobs(program: str) -> None:
    jobs = [f"switch.program={program}"]
    if program == "switchml":
        jobs.append("job={protocol: switchml, dtype: int32, window_packets: 4}")
    else:
        jobs.append(f"job.protocol={program}")
    failure, history = run_and_judge(load_scenario("strategy-esa", jobs, world="simulated"))
    assert failure is None
    assert completed(history) == (1 if program == "switchml" else 2) * 11
