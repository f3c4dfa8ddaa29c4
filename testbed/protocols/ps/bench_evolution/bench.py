"""`tb bench evolution`: the matrix in virtual time, compared with closed forms on the star and with what must leave a
rack. Or the latter alone, between namespaces."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial

from testbed.bench.options import BenchOptions
from testbed.bench.rows import Report, Row
from testbed.bench.swept import Say, write_runs
from testbed.protocols.ps.bench_evolution.cells import FABRICS, RACK_MODEL, ROWS, SKEWS, Cell, cells
from testbed.protocols.ps.bench_evolution.matrix import matrix_lines
from testbed.protocols.ps.bench_evolution.runs import EvolutionFigures, run_cells
from testbed.terminal.numbers import seconds

__all__ = ["bench_evolution", "rack_rows", "star_rows"]

_WITHIN = 0.05
_STAR, _RACKS = FABRICS[:2]


def bench_evolution(say: Say, world: str, options: BenchOptions) -> Report:
    """Every run is kept under `runs/bench-evolution`: the same command goes on after an interruption. `options.csv`:
    all runs as a file, too. Raises InternalError when a sum is wrong."""
    processes = 1 if world == "emulated" else options.processes or os.cpu_count() or 1
    racks, sweeps = run_cells(say, "rack" if world == "simulated" else "rack-emulated", rack_cells(), processes, world)
    rows, tables = list(rack_rows(racks, world)), None
    if world == "simulated":
        name = "quick" if options.quick else "matrix"
        found, more = run_cells(say, name, cells(quick=options.quick), processes, world)
        sweeps += more
        rows, tables = [*star_rows(found), *rows], partial(matrix_lines, found)
    write_runs(options.csv, [({}, finished) for finished in sweeps])
    return Report(rows, tables)


def rack_cells() -> Iterator[Cell]:
    """The schemes whose bytes leaving and entering a rack are asked for, with the server in a rack of its own."""
    for scheme in ROWS:
        if scheme.leaving is not None:
            yield Cell(scheme, _RACKS, RACK_MODEL, server_apart=True, shuffled=False, skew=0)


def star_rows(found: Mapping[Cell, EvolutionFigures]) -> Iterator[Row]:
    """Against the closed forms."""
    for cell, figures in found.items():
        if cell.fabric == _STAR and cell.skew == SKEWS[0]:
            closed = figures.closed_form_s
            assert closed is not None, "it was asked for"
            yield Row(
                f"{cell.scheme.name}, {cell.model.name}, star of {_STAR.workers}", f"closed form {seconds(closed)}", 1,
                figures.communication_s, 0.0, "s", figures.communication_s / closed, 1 - _WITHIN, most=1 + _WITHIN,
                world="simulated",
            )  # fmt: skip


def rack_rows(found: Mapping[Cell, EvolutionFigures], world: str) -> Iterator[Row]:
    """Gradients that leave and enter a rack of four workers."""
    for cell, figures in found.items():
        for way, told, wanted in (
            ("leaving", figures.leaving, cell.scheme.leaving),
            ("entering", figures.entering, cell.scheme.entering),
        ):
            assert wanted is not None, "it was asked for"
            yield Row(
                f"{cell.scheme.name}, gradients {way} a rack of {cell.fabric.per_rack}", str(wanted), 1, told, 0.0, "",
                told / wanted, 1 - _WITHIN, most=1 + _WITHIN, world=world,
            )  # fmt: skip
