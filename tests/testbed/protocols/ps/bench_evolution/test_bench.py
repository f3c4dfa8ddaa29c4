"""The bench of optimisations: runs, what is kept of them, closed forms, bytes of racks, and the matrix."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.protocols.ps.bench_evolution.bench import rack_cells, rack_rows, star_rows
from testbed.protocols.ps.bench_evolution.cells import FABRICS, MODELS, RACK_MODEL, ROWS, Cell, EvolutionModel, cells
from testbed.protocols.ps.bench_evolution.matrix import best_of, by_column, matrix_lines, wins
from testbed.protocols.ps.bench_evolution.runs import EvolutionFigures, figures_of, points_of, run_cells
from testbed.sweeps.compute import compute_point, task_of
from testbed.sweeps.scenario_model import Outcome
from testbed.sweeps.showing import read_sweep
from tests.support.emulated import needs_root

SMALL = EvolutionModel("small", 5_120_000, 1000)


def measured(cell, world="simulated"):
    (point,) = points_of([cell], world)
    found = compute_point(**task_of(point))
    assert found["status"] == "done", found["reason"]
    return figures_of(Outcome(**{name: value for name, value in found.items() if name != "document"}))


def invented():
    """Figures as if they had been measured: the n-th scheme takes n times as long."""
    return {cell: EvolutionFigures(0.1 * (1 + ROWS.index(cell.scheme)), 2.5, 1.0, 1.0) for cell in cells(quick=True)}


@pytest.mark.parametrize("scheme", ROWS, ids=lambda scheme: scheme.name)
def test_a_star_is_within_the_closed_form(scheme):
    cell = Cell(scheme, FABRICS[0], MODELS[-1], False, False, 0)
    (row,) = star_rows({cell: measured(cell)})
    assert row.met, row


@pytest.mark.parametrize("cell", list(rack_cells()), ids=lambda cell: cell.scheme.name)
def test_what_leaves_and_enters_a_rack(cell):
    rows = list(rack_rows({cell: measured(cell)}, "simulated"))
    assert len(rows) == 2
    assert all(row.met for row in rows), rows


@pytest.mark.parametrize("world", [pytest.param("emulated", marks=[*needs_root, pytest.mark.minutes])])
def test_what_leaves_and_enters_a_rack_between_namespaces(world):
    cell = next(each for each in rack_cells() if each.scheme.name == "ps+ina+multicast")
    assert cell.model == RACK_MODEL
    rows = list(rack_rows({cell: measured(cell, world)}, world))
    assert all(row.met for row in rows), rows


def test_what_was_measured_is_kept_shown_and_not_measured_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = [
        Cell(scheme, fabric, SMALL, apart, False, 0) for fabric in FABRICS[:2] for scheme in (ROWS[0], ROWS[4])
        for apart in (False, True)
    ]  # fmt: skip
    asked = [cell for cell in asked if cell.fabric == FABRICS[1] or not cell.server_apart]
    said = []
    found, (sweep,) = run_cells(said.append, "some", asked, 1, "simulated")
    assert list(found) == asked
    assert len(sweep.points) == 5, "a ring does not care where a server would be"
    ring_here, ring_apart = (found[cell] for cell in asked if cell.scheme == ROWS[4] and cell.fabric == FABRICS[1])
    assert ring_here == ring_apart
    assert [cell.fabric for cell in asked if found[cell].closed_form_s is not None] == [FABRICS[0]] * 2
    shown = read_sweep(tmp_path / "runs" / "bench-evolution" / "some-small")
    assert [outcome.figures["iteration_s"] for outcome in shown.outcomes] == [
        figures_of(outcome).iteration_s for outcome in sweep.outcomes
    ]
    again, (sweep,) = run_cells(said.append, "some", asked, 1, "simulated")
    assert (again, sweep.reused) == (found, 5)
    _, (sweep,) = run_cells(said.append, "some", [replace(asked[0], skew=10)], 1, "simulated")
    assert sweep.reused == 0


@pytest.mark.parametrize("width", [80, 200])
def test_lines_fit_the_terminal(width):
    lines = list(matrix_lines(invented(), width))
    text = "\n".join(lines)
    assert max(map(len, lines[1:])) <= width
    assert all(scheme.name in text for scheme in ROWS)
    assert "200 (1.00)" in text
    assert "800 (4.00)" in text


@pytest.mark.protocols("ring")
def test_ratios_are_to_the_best_of_the_column():
    found = invented()
    for each in by_column(found).values():
        assert best_of(each) == pytest.approx(0.2)
    columns = len(by_column(found))
    assert wins(found)["ps"] == (columns, 1.0)
    assert wins(found)["rabenseifner"] == (0, pytest.approx(4.0))
