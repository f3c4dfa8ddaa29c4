"""`tb bench ina`: mixes, memory sizes and protocols in virtual time, or a few points of them in both worlds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from testbed.bench.options import BenchOptions
from testbed.bench.rows import Report, Row, trust_of
from testbed.bench.swept import FOLDER, Say, keep_swept, require_sums, run_swept, write_runs
from testbed.protocols.esa.bench_ina.analysis import Cells, cells_of, gain, order_margin, widest
from testbed.protocols.esa.bench_ina.cases import ATP, ESA, SWITCHML, InaCase, cases_of, emulated_case
from testbed.protocols.esa.bench_ina.runs import InaFigures
from testbed.protocols.esa.bench_ina.tables import crossing_lines, mix_lines, split_lines
from testbed.protocols.esa.bench_ina.worlds import EMULATED_REPEATS, compare_worlds, repeated
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.scenario_model import Point
from workloads.errors import ScenarioError

__all__ = ["bench_ina", "grid_rows"]

SCARCE, PLENTIFUL = 1 / 3, 10.0
"""M / SW up to which the order is asked for, and from which on agreement is"""
_AGREEMENT = 1.03
_FOLDER = FOLDER / "bench-ina"
_DEFAULT = BenchOptions()


def bench_ina(
    say: Say, world: str = "simulated", options: BenchOptions = _DEFAULT, cases: Sequence[InaCase] | None = None
) -> Report:
    """`say`: progress. Every run is kept under `runs/bench-ina` when it is done: the same command goes on after an
    interruption. Raises InternalError when a sum is wrong or a job does not end. Raises ScenarioError for repeats in
    virtual time, and for several runs at a time in real time."""
    if world == "emulated":
        if options.processes not in (None, 1):
            raise ScenarioError(
                "two networks on one machine would slow each other down", file="tb bench", key="--jobs",
                found=str(options.processes), allowed="1 with --emulated",
            )  # fmt: skip
        case = emulated_case(quick=options.quick, seeds=options.seeds or 1)
        points = repeated(case.points, options.repeats or EMULATED_REPEATS)
        found = _run(say, case, 1, points)
        write_runs(options.csv, [({"mix": case.mix}, found)])
        return compare_worlds(case, found)
    if options.repeats is not None:
        raise ScenarioError(
            "a run in virtual time is the same each time", file="tb bench", key="--repeats", allowed="with --emulated"
        )
    chosen = cases or cases_of(quick=options.quick, seeds=options.seeds)
    every = [(case, _run(say, case, options.processes or os.cpu_count() or 1)) for case in chosen]
    write_runs(options.csv, [({"mix": case.mix}, found) for case, found in every])
    return _report([(case, cells_of(found)) for case, found in every])


def _run(say: Say, case: InaCase, processes: int, points: Sequence[Point] | None = None) -> FinishedScenarios:
    folder = _FOLDER / case.sweep.name
    found = run_swept(say, case.mix, case.sweep, folder, processes, points)
    require_sums(found)
    keep_swept(say, case.mix, found, folder)
    return found


def _report(by_mix: Sequence[tuple[InaCase, Cells]]) -> Report:
    def tables(width: int) -> Iterator[str]:
        for case, cells in by_mix:
            yield from mix_lines(cells, case, width)
            yield ""
            yield from crossing_lines(cells, case.windows)
            yield from split_lines(cells, case.windows)
            yield ""

    return Report([row for case, cells in by_mix for row in grid_rows(cells, case)], tables)


def grid_rows(cells: Cells, case: InaCase) -> list[Row]:
    """Of one mix: each cell, for information; then, where jobs differ, what is asked of the orders."""
    rows = list(_cell_rows(cells, case))
    return [*rows, *_order_rows(cells, case)] if case.is_mixed else rows


def _cell_rows(cells: Cells, case: InaCase) -> Iterator[Row]:
    subjects = case.subjects
    for (memory, subject), cell in sorted(cells.items(), key=lambda item: (item[0][0], subjects.index(item[0][1]))):
        share = memory / case.windows
        yield Row(
            f"average JCT, {case.mix}, M = {memory} ({share:.2f} SW), {subject}", "ATP's, over it", len(cell.runs),
            cell.jct_s, cell.spread, "s", gain(cells[memory, ATP], cell), fidelity=_worst(cell.runs),
            note=f"busy {cell.middle('busy'):.1%}, useful {cell.middle('useful'):.1%}",
            **trust_of("simulated", cell.runs),
        )  # fmt: skip


def _order_rows(cells: Cells, case: InaCase) -> Iterator[Row]:
    windows = case.windows
    for memory in sorted({memory for memory, _ in cells}):
        here = f"{case.mix}, M = {memory} ({memory / windows:.2f} SW)"
        three = [cells[memory, subject] for subject in (ESA, ATP, SWITCHML)]
        seeds, trust = len(three[0].runs), trust_of("simulated", [run for cell in three for run in cell.runs])
        if memory <= SCARCE * windows:
            margin = order_margin(cells, memory)
            yield Row(
                f"order ESA < ATP < SwitchML, {here}", "1, in every seed", seeds, margin, 0.0, "", margin, 1.0,
                note=f"ATP/ESA {gain(three[1], three[0]):.2f}, SwitchML/ATP {gain(three[2], three[1]):.2f}",
                **trust,
            )  # fmt: skip
        elif memory >= PLENTIFUL * windows:
            apart = widest(cells, memory)
            slowest = max(three, key=lambda cell: cell.jct_s).subject
            yield Row(
                f"longest average JCT / shortest, {here}", "1", seeds, apart, 0.0, "", apart, 1.0, most=_AGREEMENT,
                note=f"slowest: {slowest}", **trust,
            )  # fmt: skip


def _worst(runs: Sequence[InaFigures]) -> str:
    return "unknown" if any(run.untimed for run in runs) else "pass"
