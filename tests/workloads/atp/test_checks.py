"""What cannot be in a configuration of a worker of ATP."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.plan import make_plan
from testbed.scenario import load_scenario
from workloads.atp import AtpConfig
from workloads.atp.checks import problems_in_worker
from workloads.config import ArithmeticSpec


@pytest.mark.parametrize(
    ("scale", "dtype", "expected"),
    [
        (1e4, "float32", []),
        (0.0, "float32", ["fixed_scale: 0 for float32; above 0, for float32"]),
        (1e4, "int32", ["fixed_scale: 10000 for int32; above 0, for float32"]),
    ],
)
def test_fixed_scale(scale: float, dtype: str, expected: list[str]) -> None:
    config = make_plan(load_scenario("atp", [], 1)).workers[0]
    assert isinstance(config, AtpConfig)
    share = replace(config.collective, arithmetic=ArithmeticSpec("sum", dtype))
    wrong = replace(config, collective=share, fixed_scale=scale)
    assert [f"{each.key}: {each.found}; {each.allowed}" for each in problems_in_worker(wrong)] == expected


@pytest.mark.parametrize(
    ("x0", "bad"), [(None, False), (1e-12, False), (1e6, False), (1e-13, True), (1.1e6, True), (0.0, True)]
)
def test_where_the_scale_of_priorities_begins(x0: float | None, bad: bool) -> None:
    config = make_plan(load_scenario("atp", [], 1)).workers[0]
    assert isinstance(config, AtpConfig)
    found = [f"{each.key}: {each.allowed}" for each in problems_in_worker(replace(config, priority_x0=x0))]
    assert found == (["priority_x0: 1e-12 .. 1e+06"] if bad else [])
