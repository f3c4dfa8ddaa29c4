"""What `tb bench loss` runs: every point is a scenario that is valid, with as many workers as its network says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.bench.loss.cases import LOSS_KEY, cases_of
from testbed.scenario import parse_scenario
from testbed.sweeps.scenario_points import make_points
from testbed.sweeps.values import number_of

pytestmark = pytest.mark.protocols("loss-rack-4")


@pytest.mark.parametrize("world", ["simulated"])
def test_every_point_is_valid_and_has_its_workers(world: str) -> None:
    cases = cases_of(world, seeds=1)
    assert [(case.network, case.workers) for case in cases] == [
        ("rack", 4), ("rack", 8), ("spine-leaf", 4), ("spine-leaf", 8),
    ]  # fmt: skip
    for case in cases:
        labels = set()
        ((key, rates),) = case.sweep.axes
        assert {0.0, 0.001, 0.01} <= set(map(number_of, rates))
        for point in make_points(replace(case.sweep, axes=((key, rates[-1:]),))):
            assert not point.problem, point.problem
            scenario = parse_scenario(point.text, "point")
            job = scenario.all_jobs[0]
            assert (len(job.hosts) or len(scenario.ranks)) == case.workers
            assert scenario.world == world
            assert scenario.faults[0].rate == number_of(point.values[LOSS_KEY])  # type: ignore[attr-defined]
            label = str(point.values[case.sweep.variant_name])
            labels.add(label)
            if " " in label:
                assert scenario.transport.recovery == label.split()[1]
        lacking = set() if case.network == "rack" else {"SwitchML"}
        everything = {
            "NetReduce gbn",
            "NetReduce irn",
            "NetReduce irn-rack",
            "NetReduce irn-held",
            "ring gbn",
            "ring irn",
            "ATP",
            "ESA",
        }
        assert labels == (everything | {"SwitchML"}) - lacking


@pytest.mark.parametrize(
    ("world", "quick", "most"), [("simulated", True, 0.05), ("emulated", False, 0.01), ("emulated", True, 0.01)]
)
def test_real_packets_are_not_lost_at_rates_that_take_minutes(world: str, quick: bool, most: float) -> None:
    for case in cases_of(world, quick=quick):
        [(key, rates)] = case.sweep.axes
        assert (key, rates[0], max(rates)) == (LOSS_KEY, 0.0, most)
