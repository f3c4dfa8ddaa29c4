from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from testbed.bench.ina import runs
from testbed.bench.ina.place import SIMULATED, Point
from testbed.bench.ina.runs import Figures, figures_of, measure_point, run_points
from testbed.bench.ina.subjects import ATP, ESA, SWITCHML
from workloads.errors import InternalError

_SMALL = replace(SIMULATED, scale=100_000_000, iterations=1, workers=2)


def document(**changes: Any) -> dict[str, Any]:
    each = {"collisions": 3, "evictions": 1, "resends": 2, "server_bytes": 500}
    jobs = {
        "average_jct_s": 0.5,
        "p95_jct_s": 0.75,
        "busy": 0.25,
        "useful": 0.125,
        "each": [each, each | {"evictions": None}],
    }
    return {
        "checks": [{"name": "bit_exact", "verdict": "pass", "detail": "fine"}],
        "metrics": {"jobs": jobs, "unreliable": None},
        "fidelity": {"verdict": "pass", "reasons": []},
    } | changes  # fmt: skip


def test_counts_are_sums_over_jobs() -> None:
    assert figures_of(document(), "here") == Figures(0.5, 0.75, 0.25, 0.125, 6, 1, 4, 1000)


def test_figures_of_a_machine_that_did_not_keep_up_come_with_that_verdict() -> None:
    jobs = document()["metrics"]["jobs"]
    hollow = jobs | {"average_jct_s": None, "p95_jct_s": None, "busy": None, "useful": None}
    told = document(
        metrics={"jobs": hollow, "unreliable": {"reason": "late", "jobs": jobs}},
        fidelity={"verdict": "unknown", "reasons": ["s1 had no time"]},
    )
    found = figures_of(told, "here")
    assert (found.average_jct_s, found.fidelity, found.reasons) == (0.5, "unknown", ("s1 had no time",))


def test_a_wrong_sum_is_no_measurement() -> None:
    wrong = document(checks=[{"name": "bit_exact", "verdict": "fail", "detail": "h1 holds other bits"}])
    with pytest.raises(InternalError) as caught:
        figures_of(wrong, "atp, seed 3")
    assert "atp, seed 3: bit_exact failed: h1 holds other bits" in str(caught.value)


def test_a_job_that_does_not_end_is_none_either() -> None:
    open_jobs = document()["metrics"]["jobs"] | {"average_jct_s": None}
    with pytest.raises(InternalError, match="atp, seed 3: not every job came to its end"):
        figures_of(document(metrics={"jobs": open_jobs, "unreliable": None}), "atp, seed 3")


def test_a_point_measured() -> None:
    """Too little memory: what the server gets, and what nobody gets with SwitchML."""
    atp, switchml = (measure_point(Point(_SMALL, "mix-2+2", subject, 8, 1)) for subject in (ATP, SWITCHML))
    assert atp.collisions > 0
    assert atp.server_bytes > 0
    assert (switchml.collisions, switchml.server_bytes, switchml.resends) == (0, 0, 0)
    assert 0 < atp.useful < atp.busy < 1
    assert 0 < atp.average_jct_s <= atp.p95_jct_s < 1


def test_runs_are_given_back_in_the_order_of_the_points(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [Point(_SMALL, "same-4", ESA, 8, seed) for seed in (2, 1, 3)]
    monkeypatch.setattr(runs, "_measured", lambda points, processes: ((p, p.seed) for p in reversed(points)))
    said: list[str] = []
    found = run_points(said.append, points, 1)
    assert list(found.items()) == [(point, point.seed) for point in points]
    assert len(said) == 1
    assert said[0].startswith("3 of 3 runs, ")


def test_processes_find_what_one_finds() -> None:
    points = [Point(_SMALL, "same-4", ATP, 8, seed) for seed in (1, 2)]
    silent = [run_points(lambda text: None, points, processes) for processes in (1, 2)]
    assert silent[0] == silent[1]
