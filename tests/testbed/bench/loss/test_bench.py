"""The table of `tb bench loss`, from runs that are made up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.bench.loss.bench import cost_table
from testbed.bench.loss.cases import LOSS_KEY, LossCase, cases_of
from testbed.sweeps.groups import PointGroup
from testbed.sweeps.scenario_model import Outcome, Point

pytestmark = pytest.mark.protocols("loss-rack-4")


def group(label: str, loss: float, times: list[float], verdict: str = "pass") -> PointGroup:
    labels = (("scenario", "rack-lossy"), ("variant", label), (LOSS_KEY, loss))
    points = tuple(Point(labels, seed, "simulated", "x") for seed in range(len(times)))
    return PointGroup(labels, points, tuple(Outcome("done", verdict, {"jct_s": time}, "why") for time in times))


def case() -> LossCase:
    first = cases_of("simulated")[0]
    return replace(first, sweep=replace(first.sweep, axes=((LOSS_KEY, (0.0, 0.01)),)))


def test_the_table_has_medians_against_no_loss_and_marks_what_did_not_pass() -> None:
    groups = [
        group("ring irn", 0.0, [0.1, 0.2, 0.3]),
        group("ring irn", 0.01, [0.3, 0.3, 0.9], "unknown"),
        group("ATP", 0.0, [0.1]),
        group("ATP", 0.01, [0.1], "fail"),
    ]
    lines = list(cost_table(case(), groups, 80))
    assert [line.split() for line in lines] == [
        ["0", "%", "1", "%"], ["ring", "irn", "200", "ms", "1.50"], ["ATP", "100", "ms", "-!"],
    ]  # fmt: skip
    assert all(len(line) <= 80 for line in lines)
