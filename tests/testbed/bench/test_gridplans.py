"""Tables of plans: small ones, and what they say when something does not hold."""

from __future__ import annotations

import json

import pytest

from testbed.bench import gridplans
from testbed.bench.gridplans import random_problem, rounding, run_plans
from testbed.bench.gridtable import Table, generator
from workloads.errors import ScenarioError


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
    assert random_problem(generator(4)) == random_problem(generator(4))
    assert random_problem(generator(4)) != random_problem(generator(5))


def test_a_table_with_a_miss_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(
        gridplans.TABLES, "scale", lambda say, seeds: Table("t", ("a", "b"), (("1", "22"),), ("it broke",))
    )
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


def test_seeds_are_the_tables_that_is_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(gridplans.TABLES, "scale", lambda say, seeds: Table("t", ("seeds",), ((str(seeds),),)))
    assert run_plans("scale", seeds=3) == 0
    assert run_plans("scale") == 0
    assert capsys.readouterr().out == "t\n  seeds\n      3\n\nt\n  seeds\n     10\n\n"
    with pytest.raises(ScenarioError, match="tb bench grid: --seeds: only the table scale is drawn that often"):
        run_plans("growth", seeds=3)
