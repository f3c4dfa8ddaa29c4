"""Planners at the sizes of the paper, and what tables say when something does not hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from testbed.protocols.grid import bench_sizes as gridsizes
from testbed.protocols.grid.bench_sizes import fabric_problem, growth, scale
from topologies import LinkShape, spine_leaf


def _quiet(text: str) -> None:
    del text


def test_more_workers_contain_fewer() -> None:
    topology = spine_leaf([4, 4, 4], 3, LinkShape())
    few, many = (fabric_problem(topology, count, 7) for count in (3, 9))
    assert many.workers[:3] == few.workers
    assert (many.servers, many.capacities) == (few.servers, few.capacities)
    assert len(few.capacities) == 1
    assert len(fabric_problem(topology, 3, 7, 1.0).capacities) == 6


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    gridsizes._fabric.cache_clear()
    gridsizes._drawn.cache_clear()


def test_scale_says_what_is_not_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"small": lambda: spine_leaf([4] * 4, 4, LinkShape(rate_bps=100_000_000_000))}
    monkeypatch.setattr(gridsizes, "FABRICS", small)
    found = scale(_quiet, counts=(4, 12), seeds=(1,))
    assert len(found.finished.points) == 2 * 5
    # One small draw leaves the nearest switches room: ATP has no residual, and ties are told.
    assert found.missed[0] == "small, 4 workers: not in the order grid > atp > switchml > geryon"
    assert found.notes[0].startswith("small, 4 workers: means in Gbit/s: grid-lp ")
    assert found.notes[0].endswith("; strictly in order: 0 of 1")


@pytest.mark.minutes
@pytest.mark.parametrize("fabric", gridsizes.FABRICS)
def test_planners_are_in_the_papers_order_and_fall(fabric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gridsizes, "FABRICS", {fabric: gridsizes.FABRICS[fabric]})
    found = scale(_quiet, counts=(20, 40), seeds=(1, 2, 3))
    assert found.missed == ()
    assert [note.split(":")[0] for note in found.notes] == [f"{fabric}, 20 workers", f"{fabric}, 40 workers"]


def test_means_and_not_single_draws_must_be_in_order_and_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("grid-lp", "grid", "atp", "switchml", "geryon")
    drawn = {1: (9.0, 8.0, 4.0, 2.0, 1.0), 2: (9.0, 1.0, 4.0, 2.0, 1.0), 3: (9.0, 6.0, 4.0, 2.0, 1.0)}

    def rate(values: Mapping[str, Any], seed: int) -> dict[str, float]:
        more = 0.5 if values["variant"] == "switchml" and values["workers"] == rising else 0.0
        return {"min_rate_bps": 1e9 * (drawn[seed][names.index(values["variant"])] + more)}

    monkeypatch.setattr(gridsizes, "FABRICS", {"one": lambda: None})
    monkeypatch.setattr(gridsizes, "rate", wraps(gridsizes.rate)(rate))  # under its name, by which a point finds it
    rising = 0
    found = scale(_quiet, counts=(4, 8), seeds=(1, 2, 3))
    assert found.missed == ()
    means = "grid-lp 9.00, grid 5.00, atp 4.00, switchml 2.00, geryon 1.00"
    assert found.notes[0] == f"one, 4 workers: means in Gbit/s: {means}; strictly in order: 2 of 3"
    rising = 9
    found = scale(_quiet, counts=(5, 9), seeds=(1,))
    assert found.missed == ("one, 9 workers: switchml is faster than with fewer",)


def test_growth_says_what_takes_too_long_and_how_far_the_bound_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gridsizes, "_LEAVES", {6: 2})
    found = growth(_quiet, [6])
    assert found.missed == ()
    rows = list(zip(found.finished.points, found.finished.outcomes, strict=True))
    assert [(point.values["share"], outcome.figures["switches"], outcome.figures["aggregating"])
            for point, outcome in rows if point.values["variant"] == "grid"] == [(0.2, 4, 1), (1.0, 4, 4)]  # fmt: skip
    gaps = [float(outcome.figures["gap"] or 0) for point, outcome in rows if point.values["variant"] == "grid"]
    assert all(-1e-6 < gap < 1 for gap in gaps), gaps
    monkeypatch.setattr(gridsizes, "_MOST_S", 0.0)
    found = growth(_quiet, [6], [0.2])
    assert len(found.missed) == 4
    assert found.missed[0].startswith("6 hosts, 4 switches, 1 of them sum: geryon took ")
