"""Planners at the sizes of the paper, and what tables say when something does not hold."""

from __future__ import annotations

import pytest

from testbed.bench import gridsizes
from testbed.bench.gridsizes import fabric_problem, growth, scale
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


def test_scale_says_what_is_not_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"small": lambda: spine_leaf([4] * 4, 4, LinkShape(rate_bps=100_000_000_000))}
    monkeypatch.setattr(gridsizes, "FABRICS", small)
    table = scale(_quiet, counts=(4, 12), seeds=(1,))
    assert [row[:2] for row in table.rows] == [("small", "4"), ("small", "12")]
    # One small draw leaves the nearest switches room: ATP has no residual, and ties are told.
    assert table.missed[0] == "small, 4 workers: not in the order grid > atp > switchml > geryon"
    assert table.rows[0][-1] == "0 of 1"


@pytest.mark.minutes
@pytest.mark.parametrize("fabric", gridsizes.FABRICS)
def test_planners_are_in_the_papers_order_and_fall(fabric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gridsizes, "FABRICS", {fabric: gridsizes.FABRICS[fabric]})
    table = scale(_quiet, counts=(20, 40), seeds=(1, 2, 3))
    assert table.missed == ()
    assert [row[1] for row in table.rows] == ["20", "40"]


def test_means_and_not_single_draws_must_be_in_order_and_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gridsizes, "FABRICS", {"one": lambda: spine_leaf([4] * 4, 4, LinkShape())})
    names = ("grid-lp", "grid", "atp", "switchml", "geryon")
    drawn = iter([(9.0, 8.0, 4.0, 2.0, 1.0), (9.0, 1.0, 4.0, 2.0, 1.0), (9.0, 6.0, 4.0, 2.0, 1.0)] * 2)
    monkeypatch.setattr(gridsizes, "_rates", lambda problem: dict(zip(names, next(drawn), strict=True)))
    table = scale(_quiet, counts=(4, 8), seeds=(1, 2, 3))
    assert table.missed == ()
    assert table.rows[0] == (
        "one", "4", "9.00, 9.00 (9.00-9.00)", "5.00, 6.00 (1.00-8.00)", "4.00, 4.00 (4.00-4.00)",
        "2.00, 2.00 (2.00-2.00)",
        "1.00, 1.00 (1.00-1.00)",
        "2 of 3",
    )  # fmt: skip
    drawn = iter([(9.0, 8.0, 4.0, 2.0, 1.0), (9.0, 8.0, 4.0, 2.5, 1.0)])
    assert scale(_quiet, counts=(4, 8), seeds=(1,)).missed == ("one, 8 workers: switchml is faster than with fewer",)


def test_growth_says_what_takes_too_long_and_how_far_the_bound_is(monkeypatch: pytest.MonkeyPatch) -> None:
    table = growth(_quiet, [(6, 2)])
    assert table.missed == ()
    assert [row[:3] for row in table.rows] == [("6", "4", "1"), ("6", "4", "4")]
    assert all(row[-1].endswith("%") for row in table.rows)
    monkeypatch.setattr(gridsizes, "_MOST_S", 0.0)
    table = growth(_quiet, [(6, 2)], [0.2])
    assert len(table.missed) == 4
    assert table.missed[0].startswith("6 hosts, 4 switches, 1 of them sum: geryon took ")
