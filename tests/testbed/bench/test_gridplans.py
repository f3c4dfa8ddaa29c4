"""Tables of plans: small ones, and what they say when something does not hold."""

from __future__ import annotations

import json

import pytest

from testbed.bench import gridplans
from testbed.bench.gridplans import Table, fabric_problem, growth, random_problem, rounding, run_plans, scale
from topologies import LinkShape, spine_leaf


def _quiet(text: str) -> None:
    del text


def test_rounding_counts_every_draw() -> None:
    table = rounding(_quiet, draws=40, topologies=3)
    assert table.missed == ()
    assert [row[1] for row in table.rows] == ["40", "40", "15", "15"]
    assert [row[5] for row in table.rows] == ["40", "40", "15", "15"]
    assert table.rows[0][-1] == "0.00%"
    assert table.rows[0][2] == "0"


def test_random_problems_are_the_same_for_a_seed() -> None:
    assert random_problem(gridplans._generator(4)) == random_problem(gridplans._generator(4))
    assert random_problem(gridplans._generator(4)) != random_problem(gridplans._generator(5))


def test_more_workers_contain_fewer() -> None:
    topology = spine_leaf([4, 4, 4], 3, LinkShape())
    few, many = (fabric_problem(topology, count, 7) for count in (3, 9))
    assert many.workers[:3] == few.workers
    assert (many.servers, many.capacities) == (few.servers, few.capacities)


def test_scale_says_what_is_not_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"small": lambda: spine_leaf([4] * 4, 4, LinkShape(rate_bps=100_000_000_000))}
    monkeypatch.setattr(gridplans, "_FABRICS", small)
    table = scale(_quiet, counts=(4, 12), seeds=(1,))
    assert [row[:2] for row in table.rows] == [("small", "4"), ("small", "12")]
    # One small draw leaves the nearest switches room: ATP has no residual, and ties are told.
    assert table.missed[0] == "small, 4 workers: not in the order grid > atp > switchml > geryon"


def test_growth_says_what_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    assert growth(_quiet, [(6, 2)]).missed == ()
    monkeypatch.setattr(gridplans, "_MOST_S", 0.0)
    table = growth(_quiet, [(6, 2)])
    assert len(table.missed) == 4
    assert table.rows[0][:3] == ("6", "4", "1")


def test_a_table_with_a_miss_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(gridplans.TABLES, "scale", lambda say: Table("t", ("a", "b"), (("1", "22"),), ("it broke",)))
    assert run_plans("scale") == 1
    assert capsys.readouterr().out == "t\n  a   b\n  1  22\n  MISSED: it broke\n\n"
    assert run_plans("scale", as_json=True) == 1
    assert json.loads(capsys.readouterr().out) == [
        {"title": "t", "header": ["a", "b"], "rows": [["1", "22"]], "missed": ["it broke"]}
    ]


def test_sensitivity_is_monotone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(gridplans, "_CAPACITIES", range(9, 11))
    monkeypatch.setattr(gridplans, "_INGRESS", range(8, 10))
    table = gridplans.sensitivity(_quiet)
    assert table.missed == ()
    assert table.rows == (("9", "3 / 2.667", "3 / 3"), ("10", "3 / 2.667", "3 / 3"))
