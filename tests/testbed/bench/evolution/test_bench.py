"""The bench of optimisations: runs, what is kept of them, closed forms, bytes of racks, and the matrix."""

from __future__ import annotations

import csv
from dataclasses import replace
from io import StringIO

import pytest

from testbed.bench.evolution import runs
from testbed.bench.evolution.bench import rack_cells, rack_rows, star_rows
from testbed.bench.evolution.cells import FABRICS, MODELS, RACK_MODEL, ROWS, Cell, Model, cells
from testbed.bench.evolution.matrix import best_of, by_column, matrix_csv, matrix_lines, matrix_page, wins
from testbed.bench.evolution.runs import Figures, measure_cell, run_cells
from tests.support.emulated import needs_root

SMALL = Model("small", 51_200, 1)


def none_left(measure, batches, processes):
    assert not batches
    yield from ()


def invented():
    """Figures as if they had been measured: the n-th scheme takes n times as long."""
    return {cell: Figures(0.1 * (1 + ROWS.index(cell.scheme)), "h1-s1 up", 2.5, 1.0, 1.0) for cell in cells(quick=True)}


@pytest.mark.parametrize("scheme", ROWS, ids=lambda scheme: scheme.name)
def test_a_star_is_within_the_closed_form(scheme):
    cell = Cell(scheme, FABRICS[0], MODELS[-1], False, False, 0)
    (row,) = star_rows({cell: measure_cell(cell)})
    assert row.met, row


@pytest.mark.parametrize("cell", list(rack_cells()), ids=lambda cell: cell.scheme.name)
def test_what_leaves_and_enters_a_rack(cell):
    rows = list(rack_rows({cell: measure_cell(cell)}, "simulated"))
    assert len(rows) == 2
    assert all(row.met for row in rows), rows


@pytest.mark.parametrize("world", [pytest.param("emulated", marks=[*needs_root, pytest.mark.minutes])])
def test_what_leaves_and_enters_a_rack_between_namespaces(world):
    cell = replace(next(each for each in rack_cells() if each.scheme.name == "ps+ina+multicast"), model=RACK_MODEL)
    rows = list(rack_rows({cell: measure_cell(cell, world)}, world))
    assert all(row.met for row in rows), rows


def test_what_was_measured_is_not_measured_again(tmp_path, monkeypatch):
    asked = [
        Cell(scheme, FABRICS[0], replace(SMALL, scale=1000, elements=5_120_000), False, False, 0) for scheme in ROWS[:2]
    ]
    first = run_cells(print, asked, 1, tmp_path)
    monkeypatch.setattr(runs, "in_processes", none_left)
    assert run_cells(print, asked, 1, tmp_path) == first
    with pytest.raises(AssertionError):
        run_cells(print, [replace(asked[0], skew=10)], 1, tmp_path)


@pytest.mark.parametrize("width", [80, 200])
def test_lines_fit_the_terminal(width):
    lines = list(matrix_lines(invented(), width))
    text = "\n".join(lines)
    assert max(map(len, lines[1:])) <= width
    assert all(scheme.name in text for scheme in ROWS)
    assert "200 (1.00)" in text
    assert "800 (4.00)" in text


def test_ratios_are_to_the_best_of_the_column():
    found = invented()
    for each in by_column(found).values():
        assert best_of(each) == pytest.approx(0.2)
    columns = len(by_column(found))
    assert wins(found)["ps"] == (columns, 1.0)
    assert wins(found)["rabenseifner"] == (0, pytest.approx(4.0))


def test_csv_and_page_have_every_cell():
    found = invented()
    rows = list(csv.DictReader(StringIO(matrix_csv(found))))
    assert len(rows) == len(found)
    assert {row["ratio_to_best"] for row in rows if row["scheme"] == "ps+ina"} == {"2.0000"}
    assert {row["busiest_link_bytes"] for row in rows} == {str(round(2.5 * 4 * MODELS[-1].elements))}
    page = matrix_page(found)
    assert page.count("<td") == len(found)
    assert page.count('class="best"') == len(by_column(found))
