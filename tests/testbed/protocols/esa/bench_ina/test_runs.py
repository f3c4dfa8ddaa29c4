"""Figures of a run of several jobs, from its outcome in a sweep."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.protocols.esa.bench_ina.cases import ATP, SWITCHML
from testbed.protocols.esa.bench_ina.runs import InaFigures, figures_of
from testbed.sweeps.compute import compute_point, task_of
from testbed.sweeps.scenario_model import Outcome
from tests.support.ina_runs import outcome
from tests.testbed.protocols.esa.bench_ina.test_bench import small_case
from workloads.errors import InternalError

pytestmark = pytest.mark.protocols("switchml")


def test_counts_are_sums_over_jobs() -> None:
    found = outcome(0.5, collisions=3, evictions=1, resends=2, server_bytes=500)
    second = {name.replace("vgg16-1", "vgg16-2"): value for name, value in found.figures.items() if "vgg16-1" in name}
    second["jobs.each.vgg16-2.evictions"] = None
    both = replace(found, figures={**found.figures, **second})
    assert figures_of(both, "here") == InaFigures(0.5, 0.75, 0.5, 0.25, 6, 1, 4, 1000)


def test_figures_of_a_machine_that_did_not_keep_up_come_with_the_reason() -> None:
    found = figures_of(outcome(0.5, "s1 had no time", resends=2), "here")
    assert (found.average_jct_s, found.untimed, found.resends) == (0.5, "s1 had no time", 2)


def test_conditions_of_real_time_are_figures_too() -> None:
    found = figures_of(outcome(0.5, **{"dilation": 4, "twin.deviation": -0.02}), "here")
    assert (found.dilation, found.deviation) == (4, -0.02)


def test_a_job_that_does_not_end_is_no_measurement() -> None:
    found = outcome(0.5)
    with pytest.raises(InternalError, match="atp, seed 3: not every job came to its end"):
        figures_of(replace(found, figures=dict(found.figures) | {"jobs.average_jct_s": None}), "atp, seed 3")


def test_a_point_measured() -> None:
    """Too little memory: what the server gets, and what nobody gets with SwitchML."""
    points = {str(point.values["variant"]): point for point in small_case().points}
    atp, switchml = (_measured(compute_point(**task_of(points[name]))) for name in (ATP, SWITCHML))
    assert atp.collisions > 0
    assert atp.server_bytes > 0
    assert (switchml.collisions, switchml.server_bytes, switchml.resends) == (0, 0, 0)
    assert 0 < atp.useful < atp.busy < 1
    assert 0 < atp.average_jct_s <= atp.p95_jct_s < 1


def _measured(found: dict[str, object]) -> InaFigures:
    found.pop("document")
    return figures_of(Outcome(**found), "here")  # type: ignore[arg-type]
