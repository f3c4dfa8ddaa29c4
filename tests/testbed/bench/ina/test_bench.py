from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.bench.ina import bench, worlds
from testbed.bench.ina.analysis import cells_of
from testbed.bench.ina.bench import FULL, QUICK, Grid, bench_ina, grid_points, grid_rows
from testbed.bench.ina.place import EMULATED, SIMULATED, Point
from testbed.bench.ina.subjects import ATP, ESA, ESA_ACK, ESA_EQUAL, SUBJECTS, SWITCHML, Subject
from testbed.bench.ina.worlds import world_lines, world_rows
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
    assert report.lines[0].startswith("mix-2+2: vgg16 (0.25)")
    assert any(line.startswith("best gain of ESA over ATP") for line in report.lines)
    assert len((tmp_path / "ina.csv").read_text(encoding="utf-8").splitlines()) == 6
    assert said[-1].startswith("5 of 5 runs")


def test_a_csv_file_that_cannot_be_written_is_found_before_the_runs(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="--csv: cannot be written"):
        bench_ina(lambda text: None, options=BenchOptions(csv=tmp_path), grid=FULL)


def test_worlds_side_by_side() -> None:
    point = Point(EMULATED, "mix-2+2", ATP, 32, 1)
    late = replace(run(5.6), fidelity="unknown", reasons=("s1 waited 80 ms for the CPU",))
    pairs = [(point, run(5.0), run(5.4)), (point, run(5.0), run(5.6)), (point, run(5.0), late)]
    assert list(world_lines(pairs)) == [
        "mix-2+2 at 1 Mb/s and 88 ms per hop, average JCT in both worlds",
        "     M  protocol    seed   simulated    emulated   differs  fidelity",
        "    32  atp            1     5.000 s     5.400 s     +8.0%  pass",
        "    32  atp            1     5.000 s     5.600 s    +12.0%  pass",
        "    32  atp            1     5.000 s     5.600 s    +12.0%  unknown: s1 waited 80 ms for the CPU",
    ]
    assert [row.met for row in world_rows(pairs)] == [True, False, False]
    assert not world_rows([(point, run(5.6), late)])[0].met, (
        "equal times of a machine that did not keep up prove nothing"
    )


def test_each_emulated_point_has_its_twin_in_virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Point] = []

    def fake(say: object, points: list[Point], processes: int) -> dict[Point, object]:
        asked.extend(points)
        assert processes == 1, "two networks on one machine would slow each other down"
        return {point: run(1.0 if point.place.world == "simulated" else 1.05) for point in points}

    monkeypatch.setattr(worlds, "run_points", fake)
    report = bench_ina(lambda text: None, "emulated", BenchOptions(quick=True))
    assert [point.subject for point in asked] == [SWITCHML, ATP, ESA] * 2
    assert {replace(point.place, world="") for point in asked} == {replace(EMULATED, world="")}
    assert all(row.met and row.ratio == pytest.approx(1.05) for row in report.rows)
