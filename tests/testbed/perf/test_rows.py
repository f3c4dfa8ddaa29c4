"""Rows of finished runs."""

from __future__ import annotations

import json

import pytest

from testbed.perf.request import PerfRequest, resolved, sweep_of
from testbed.perf.rows import rows_of
from testbed.sweeps.compute import compute_point
from testbed.sweeps.scenario_engine import run_scenario_sweep
from workloads.errors import ScenarioError


def here(points):
    """In this process."""
    for place, point in enumerate(points):
        yield place, json.loads(json.dumps(compute_point(point.text, point.program)))


def finished(request, folder):
    request, scenario = resolved(request)
    return request, run_scenario_sweep(sweep_of(request, scenario), folder, here, lambda *_: None)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    asked = PerfRequest(
        "rack", (400, 8000), protocols=("ring", "rabenseifner"), world="simulated", iterations=3, warmup=1, op="max"
    )
    return finished(asked, tmp_path_factory.mktemp("perf"))


def test_a_row_has_the_figures_of_its_runs(small):
    request, done = small
    first, second, *others = rows_of(request, done)
    assert [(row.protocol, row.size, row.count) for row in (first, second, *others)] == [
        ("ring", 400, 100), ("ring", 8000, 2000), ("rabenseifner", 400, 100), ("rabenseifner", 8000, 2000),
    ]  # fmt: skip
    for row in (first, second):
        for half in row.halves:
            assert (half.verdict, half.is_exact, half.iterations, row.ranks) == ("pass", True, 4, 4)
            assert len(half.times.each_s) == 3
            assert row.algbw(half) == pytest.approx(row.size * 3 / sum(half.times.each_s))
            assert row.busbw(half) == pytest.approx(1.5 * row.algbw(half))
            # Four ranks: each sends 2 (4 - 1) / 4 of the gradient, and headers.
            assert 1.5 * row.size < half.per_iteration("wire.sent_per_rank_bytes") < 1.5 * row.size + 2000
    assert second.out_of_place.times.mean_s > first.out_of_place.times.mean_s


def test_without_warmup_the_bandwidth_is_the_figure_of_sweeps(tmp_path):
    request, done = finished(PerfRequest("rack", (8000,), world="simulated", iterations=2, warmup=0), tmp_path)
    (row,) = rows_of(request, done)
    assert 8 * row.algbw(row.out_of_place) == pytest.approx(row.out_of_place.figures["algbw_bps"])
    assert 8 * row.busbw(row.in_place) == pytest.approx(row.in_place.figures["busbw_bps"])


def test_a_protocol_without_an_in_place_form_has_a_reason_instead(small):
    *_, row = rows_of(*small)
    assert row.out_of_place.times is not None
    assert row.in_place.times is None
    assert row.in_place.reason.startswith("rabenseifner has no in-place form")


def test_a_job_that_does_not_end_has_no_time(tmp_path):
    late = PerfRequest("rack", (8000,), world="simulated", overrides=("time_limit=1ms",))
    request, done = finished(late, tmp_path)
    (row,) = rows_of(request, done)
    assert done.exit_code == 1
    for half in row.halves:
        assert half.times is None
        assert "liveness" in half.reason


def test_a_damaged_result(small, tmp_path):
    request, done = finished(PerfRequest("rack", (400,), world="simulated"), tmp_path)
    (tmp_path / "points" / done.names[0] / "result.json").write_text("{", encoding="utf-8")
    with pytest.raises(ScenarioError, match="is damaged: "):
        list(rows_of(request, done))
