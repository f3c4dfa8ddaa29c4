"""`tb bench ina`: a grid of mixes, memory sizes and protocols in virtual time, or a few points of it in both worlds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from testbed.bench.ina.analysis import Cells, cells_of, gain, order_margin, widest
from testbed.bench.ina.csvfile import KeptRuns
from testbed.bench.ina.place import EMULATED, SIMULATED, Place, Point
from testbed.bench.ina.runs import Figures, run_points
from testbed.bench.ina.subjects import ATP, ESA, MIXES, SUBJECTS, SWITCHML
from testbed.bench.ina.tables import crossing_lines, mix_lines, split_lines
from testbed.bench.ina.worlds import EMULATED_REPEATS, compare_worlds, twin_points
from testbed.bench.options import BenchOptions
from testbed.bench.rows import Report, Row, for_whom
from workloads.errors import ScenarioError

__all__ = ["FULL", "QUICK", "Grid", "bench_ina", "grid_rows"]

Say = Callable[[str], None]
SCARCE, PLENTIFUL = 1 / 3, 10.0
"""M / SW up to which the order is asked for, and from which on agreement is"""
_AGREEMENT = 1.03


@dataclass(frozen=True, slots=True)
class Grid:
    """By mix."""

    sizes: Mapping[str, tuple[float, ...]]
    """M / SW; a twelfth leaves SwitchML one slot and its shadow copy for each job, with 2 its windows are whole"""
    seeds: Mapping[str, int]


FULL = Grid(
    {
        "mix-2+2": (1 / 12, 1 / 6, 1 / 3, 2 / 3, 1, 2, 10, 40),
        "mix-8": (1 / 3, 1, 10),
        "same-4": (1 / 12, 1 / 3, 1, 10),
    },
    {"mix-2+2": 3, "mix-8": 2, "same-4": 2},
)
QUICK = Grid({"mix-2+2": (1 / 12, 1 / 3, 1, 10)}, {"mix-2+2": 2})


_DEFAULT = BenchOptions()


def bench_ina(say: Say, world: str = "simulated", options: BenchOptions = _DEFAULT, grid: Grid | None = None) -> Report:
    """`say`: progress. Raises InternalError when a sum is wrong or a job does not end. Raises ScenarioError when the
    CSV file cannot be used, for repeats in virtual time, and for several runs at a time in real time. What was measured
    until then is in the CSV file; the same call goes on from there."""
    if world == "emulated":
        repeats = options.repeats or EMULATED_REPEATS
        twins = twin_points(EMULATED, quick=options.quick, seeds=options.seeds or 1, repeats=repeats)
        real = sorted((point for _, points in twins for point in points), key=lambda point: point.repeat)
        if options.processes not in (None, 1):
            raise ScenarioError(
                "two networks on one machine would slow each other down", file="tb bench", key="--jobs",
                found=str(options.processes), allowed="1 with --emulated",
            )  # fmt: skip
        return compare_worlds(twins, _run(say, [*(point for point, _ in twins), *real], 1, options))
    if options.repeats is not None:
        raise ScenarioError(
            "a run in virtual time is the same each time", file="tb bench", key="--repeats", allowed="with --emulated"
        )
    chosen = grid or (QUICK if options.quick else FULL)
    points = grid_points(chosen, SIMULATED, options.seeds)
    return _report(_run(say, points, options.processes or os.cpu_count() or 1, options), chosen)


def _run(say: Say, points: Sequence[Point], processes: int, options: BenchOptions) -> dict[Point, Figures]:
    if options.csv is None:
        return run_points(say, points, processes)
    kept = KeptRuns(options.csv, {point.place for point in points})
    try:
        known = {point: kept.known[point] for point in points if point in kept.known}
        if known:
            say(f"{len(known)} of {len(points)} runs are in {options.csv}")
        found = run_points(say, points, processes, known, kept.add)
        kept.finish(points)
        return found
    except BaseException:
        there = sum(point in kept.known for point in points)
        say(f"{there} of {len(points)} runs are in {options.csv}; the same command goes on from there")
        raise
    finally:
        kept.close()


def _report(found: Mapping[Point, Figures], grid: Grid) -> Report:
    by_mix = {mix: cells_of(found, mix) for mix in grid.sizes}

    def tables(width: int) -> Iterator[str]:
        for mix, cells in by_mix.items():
            yield from mix_lines(cells, SIMULATED, mix, width)
            yield ""
            yield from crossing_lines(cells, SIMULATED, mix)
            yield from split_lines(cells, SIMULATED, mix)
            yield ""

    return Report([row for mix, cells in by_mix.items() for row in grid_rows(cells, SIMULATED, mix)], tables)


def grid_points(grid: Grid, place: Place, seeds: int | None = None) -> list[Point]:
    """Seed by seed, so that the first ones show all of the grid. `seeds`: instead of the grid's."""
    return [
        Point(place, mix, subject, round(size * place.windows(MIXES[mix])), seed)
        for seed in range(1, (seeds or max(grid.seeds.values())) + 1)
        for mix, sizes in grid.sizes.items()
        for size in sizes
        for subject in SUBJECTS
        if seed <= (seeds or grid.seeds[mix])
    ]


def grid_rows(cells: Cells, place: Place, mix: str) -> list[Row]:
    """Of one mix: each cell, for information; then, where jobs differ, what is asked of the orders."""
    rows = list(_cell_rows(cells, place, mix))
    return [*rows, *_order_rows(cells, place, mix)] if MIXES[mix].mixed else rows


def _cell_rows(cells: Cells, place: Place, mix: str) -> Iterator[Row]:
    for (memory, subject), cell in sorted(cells.items(), key=lambda item: (item[0][0], SUBJECTS.index(item[0][1]))):
        share = memory / place.windows(MIXES[mix])
        yield Row(
            f"average JCT, {mix}, M = {memory} ({share:.2f} SW), {subject.name}", "ATP's, over it", len(cell.runs),
            cell.jct_s, cell.spread, "s", gain(cells[memory, ATP], cell), fidelity=_worst(cell.runs),
            note=f"busy {cell.middle('busy'):.1%}, useful {cell.middle('useful'):.1%}",
            **for_whom(place.world, cell.runs),
        )  # fmt: skip


def _order_rows(cells: Cells, place: Place, mix: str) -> Iterator[Row]:
    windows = place.windows(MIXES[mix])
    for memory in sorted({memory for memory, _ in cells}):
        here = f"{mix}, M = {memory} ({memory / windows:.2f} SW)"
        three = [cells[memory, subject] for subject in (ESA, ATP, SWITCHML)]
        seeds, whom = len(three[0].runs), for_whom(place.world, [run for cell in three for run in cell.runs])
        if memory <= SCARCE * windows:
            margin = order_margin(cells, memory)
            yield Row(
                f"order ESA < ATP < SwitchML, {here}", "1, in every seed", seeds, margin, 0.0, "", margin, 1.0,
                note=f"ATP/ESA {gain(three[1], three[0]):.2f}, SwitchML/ATP {gain(three[2], three[1]):.2f}",
                **whom,
            )  # fmt: skip
        elif memory >= PLENTIFUL * windows:
            apart = widest(cells, memory)
            slowest = max(three, key=lambda cell: cell.jct_s).subject.name
            yield Row(
                f"longest average JCT / shortest, {here}", "1", seeds, apart, 0.0, "", apart, 1.0, most=_AGREEMENT,
                note=f"slowest: {slowest}", **whom,
            )  # fmt: skip


def _worst(runs: Sequence[Figures]) -> str:
    return "pass" if all(run.fidelity == "pass" for run in runs) else "unknown"
