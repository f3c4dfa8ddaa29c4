from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.bench.ina import bench, runs
from testbed.bench.ina.analysis import cells_of
from testbed.bench.ina.bench import FULL, QUICK, Grid, bench_ina, grid_points, grid_rows
from testbed.bench.ina.place import SIMULATED, Point
from testbed.bench.ina.runs import Figures
from testbed.bench.ina.subjects import ATP, ESA, ESA_ACK, ESA_EQUAL, SUBJECTS, SWITCHML, Subject
from testbed.bench.options import BenchOptions
from testbed.bench.rows import Row
from tests.support.ina_runs import run
from workloads.errors import ScenarioError


def rows_of(memory: int, jcts: dict[Subject, tuple[float, ...]], mix: str = "mix-2+2") -> list[Row]:
    """Those that ask for something."""
    jcts = {ESA_EQUAL: jcts[ESA], ESA_ACK: jcts[ESA]} | jcts
    found = {
        Point(SIMULATED, mix, subject, memory, seed): run(jct)
        for subject, times in jcts.items()
        for seed, jct in enumerate(times, 1)
    }
    rows = grid_rows(cells_of(found, mix), SIMULATED, mix)
    assert [row.target for row in rows[: len(SUBJECTS)]] == [None] * len(SUBJECTS)
    return rows[len(SUBJECTS) :]


@pytest.mark.parametrize(
    ("esa", "met"), [((0.1, 0.1), True), ((0.1, 0.21), False)], ids=["in every seed", "not in the second one"]
)
def test_scarce_memory_asks_for_the_order(esa: tuple[float, ...], met: bool) -> None:
    (row,) = rows_of(32, {ESA: esa, ATP: (0.2, 0.2), SWITCHML: (0.4, 0.4)})
    assert (row.what, row.met) == ("order ESA < ATP < SwitchML, mix-2+2, M = 32 (0.33 SW)", met)


def test_plentiful_memory_asks_for_agreement() -> None:
    (near,) = rows_of(960, {ESA: (0.1,), ATP: (0.1029,), SWITCHML: (0.101,)})
    (far,) = rows_of(960, {ESA: (0.1,), ATP: (0.1031,), SWITCHML: (0.101,)})
    assert near.what == "longest average JCT / shortest, mix-2+2, M = 960 (10.00 SW)"
    assert (near.met, far.met, far.note) == (True, False, "slowest: atp")


def test_nothing_is_asked_in_between_and_of_equal_jobs() -> None:
    jcts: dict[Subject, tuple[float, ...]] = {ESA: (3.0,), ATP: (2.0,), SWITCHML: (1.0,)}
    assert rows_of(96, jcts) == rows_of(32, jcts, "same-4") == []


def test_the_grids_reach_from_a_twelfth_to_ten_times_and_more() -> None:
    for grid in (FULL, QUICK):
        sizes = grid.sizes["mix-2+2"]
        assert (min(sizes), max(sizes) >= 10) == (1 / 12, True)
        # A twelfth is the least that SwitchML can divide: one slot and its copy for each job.
        assert min(point.memory for point in grid_points(grid, SIMULATED) if point.mix == "mix-2+2") == 2 * 4
        assert all({1 / 3, 10} <= set(sizes) for sizes in grid.sizes.values())


def test_seeds_may_be_asked_for() -> None:
    grid = Grid({"mix-2+2": (1.0,), "same-4": (1.0,)}, {"mix-2+2": 3, "same-4": 2})
    assert len(grid_points(grid, SIMULATED)) == 5 * len(SUBJECTS)
    assert len(grid_points(grid, SIMULATED, 4)) == 8 * len(SUBJECTS)


def test_the_bench_in_the_small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bench, "SIMULATED", replace(SIMULATED, scale=100_000_000, iterations=1, workers=2))
    grid = Grid({"mix-2+2": (1 / 12,)}, {"mix-2+2": 1})
    said: list[str] = []
    report = bench_ina(said.append, options=BenchOptions(processes=1, csv=tmp_path / "ina.csv"), grid=grid)
    assert [row.what for row in report.rows[5:]] == ["order ESA < ATP < SwitchML, mix-2+2, M = 8 (0.08 SW)"]
    assert [row.median > 0 for row in report.rows] == [True] * 6
    lines = list(report.lines(160))
    assert lines[0].startswith("mix-2+2: vgg16 (0.25)")
    assert any(line.startswith("best gain of ESA over ATP") for line in lines)
    assert len((tmp_path / "ina.csv").read_text(encoding="utf-8").splitlines()) == 6
    assert said[-1].startswith("5 of 5 runs")


def test_a_csv_file_that_cannot_be_written_is_found_before_the_runs(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="--csv: cannot be written: Is a directory"):
        bench_ina(lambda text: None, options=BenchOptions(csv=tmp_path), grid=FULL)


def test_in_real_time_there_is_one_run_at_a_time() -> None:
    with pytest.raises(ScenarioError) as caught:
        bench_ina(lambda text: None, "emulated", BenchOptions(processes=2))
    problem = "two networks on one machine would slow each other down"
    assert str(caught.value) == f"tb bench: --jobs: {problem}; found 2; allowed: 1 with --emulated"


def test_repeats_are_of_the_emulated_world() -> None:
    with pytest.raises(ScenarioError) as caught:
        bench_ina(lambda text: None, options=BenchOptions(repeats=2))
    assert str(caught.value) == (
        "tb bench: --repeats: a run in virtual time is the same each time; allowed: with --emulated"
    )


_GRID = Grid({"mix-2+2": (1 / 12,)}, {"mix-2+2": 1})


class _Runs:
    """Stands in for runs: the seed of a figure is the number of the run. `last`: the one that is interrupted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, last: int | None = None) -> None:
        self.asked, self.last = list[Point](), last
        monkeypatch.setattr(runs, "measure_point", self)

    def __call__(self, point: Point) -> Figures:
        self.asked.append(point)
        if len(self.asked) == self.last:
            raise KeyboardInterrupt
        return run(1.0 + len(point.subject.name), resends=3)


def test_an_interrupted_grid_keeps_what_it_has_and_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "ina.csv"
    options = BenchOptions(processes=1, csv=path)
    first, said = _Runs(monkeypatch, last=3), list[str]()
    with pytest.raises(KeyboardInterrupt):
        bench_ina(said.append, options=options, grid=_GRID)
    assert said == [f"2 of 5 runs are in {path}; the same command goes on from there"]
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1 + 2

    second, said = _Runs(monkeypatch), []
    report = bench_ina(said.append, options=options, grid=_GRID)
    assert said[0] == f"2 of 5 runs are in {path}"
    assert second.asked == first.asked[2:] + [point for point in second.asked if point not in first.asked]
    assert len(second.asked) == 3

    whole = tmp_path / "whole.csv"
    _Runs(monkeypatch)
    again = bench_ina(said.append, options=replace(options, csv=whole), grid=_GRID)
    assert (again.rows, [*again.lines(200)]) == (report.rows, [*report.lines(200)])
    assert whole.read_bytes() == path.read_bytes()


def test_a_finished_grid_is_only_printed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    options = BenchOptions(processes=1, csv=tmp_path / "ina.csv")
    _Runs(monkeypatch)
    before = bench_ina(lambda text: None, options=options, grid=_GRID)
    again = _Runs(monkeypatch)
    after = bench_ina(lambda text: None, options=options, grid=_GRID)
    assert (after.rows, [*after.lines(200)]) == (before.rows, [*before.lines(200)])
    assert again.asked == []
