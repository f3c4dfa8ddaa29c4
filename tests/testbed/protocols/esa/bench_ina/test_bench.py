from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.bench import swept
from testbed.bench.options import BenchOptions
from testbed.bench.rows import Row
from testbed.protocols.esa.bench_ina.analysis import MemoryCell
from testbed.protocols.esa.bench_ina.bench import bench_ina, grid_rows
from testbed.protocols.esa.bench_ina.cases import ATP, ESA, ESA_ACK, ESA_EQUAL, MEMORY_KEY, SWITCHML, InaCase, cases_of
from testbed.sweeps.scenario_model import Outcome, Point
from testbed.sweeps.showing import read_sweep
from tests.support.ina_runs import cell, finished, made_up
from workloads.errors import InternalError, ScenarioError

pytestmark = pytest.mark.protocols("switchml")

MIXES = {case.mix: case for case in cases_of(seeds=1)}


def small_case(memory: int = 8) -> InaCase:
    """All subjects, one seed, little to send."""
    case = MIXES["mix-2+2"]
    changes = (*case.sweep.changes, "job.scale=1000000", "job.iterations=1")
    return InaCase(case.mix, replace(case.sweep, axes=((MEMORY_KEY, (memory,)),), changes=changes))


def rows_of(memory: int, jcts: dict[str, tuple[float, ...]], mix: str = "mix-2+2") -> list[Row]:
    """Those that ask for something."""
    jcts = {ESA_EQUAL: jcts[ESA], ESA_ACK: jcts[ESA]} | jcts
    found: dict[tuple[int, str], MemoryCell] = {
        (memory, name): cell(name, memory, *times) for name, times in jcts.items()
    }
    rows = grid_rows(found, MIXES[mix])
    assert [row.target for row in rows[:5]] == [None] * 5
    return rows[5:]


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
    jcts: dict[str, tuple[float, ...]] = {ESA: (3.0,), ATP: (2.0,), SWITCHML: (1.0,)}
    assert rows_of(96, jcts) == rows_of(32, jcts, "same-4") == []


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_bench_in_the_small(here: Path) -> None:
    said: list[str] = []
    report = bench_ina(said.append, options=BenchOptions(processes=1, csv=here / "ina.csv"), cases=[small_case()])
    assert [row.what for row in report.rows[5:]] == ["order ESA < ATP < SwitchML, mix-2+2, M = 8 (0.08 SW)"]
    assert [row.median > 0 for row in report.rows] == [True] * 6
    lines = list(report.lines(160))
    assert lines[0].startswith("mix-2+2: vgg16 (0.25)")
    assert any(line.startswith("best gain of ESA over ATP") for line in lines)
    csv = (here / "ina.csv").read_text(encoding="utf-8").splitlines()
    assert len(csv) == 6
    assert csv[0].startswith("mix,scenario,variant,switch.memory,world,seed,")
    assert "mix-2+2: 5 of 5 runs" in said
    folder = Path("runs") / "bench-ina" / "ina-mix-2-2"
    assert said[-1].startswith(f"mix-2+2: {folder / 'results.csv'}, {folder / 'summary.csv'}, {folder}/plot-jobs.av")
    shown = read_sweep(folder)
    assert [outcome.status for outcome in shown.outcomes] == ["done"] * 5, "`tb sweep --show` has them"


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


def _jct(point: Point) -> float:
    return 1.0 + len(str(point.values["variant"]))


def test_an_interrupted_grid_keeps_what_it_has_and_goes_on(monkeypatch: pytest.MonkeyPatch, here: Path) -> None:
    options = BenchOptions(processes=1, csv=here / "ina.csv")
    first, second, cases = list[Point](), list[Point](), [small_case()]
    monkeypatch.setattr(swept, "computing", made_up(_jct, first, last=3))
    with pytest.raises(KeyboardInterrupt):
        bench_ina(lambda text: None, options=options, cases=cases)
    results = here / "runs" / "bench-ina" / "ina-mix-2-2" / "results.csv"
    assert len(results.read_text(encoding="utf-8").splitlines()) == 1 + 2

    monkeypatch.setattr(swept, "computing", made_up(_jct, second))
    said = list[str]()
    report = bench_ina(said.append, options=options, cases=cases)
    assert said[0].startswith("mix-2+2: 2 of 5 runs, 2 of them there already")
    assert second == first[2:] + second[1:]
    assert len(second) == 3
    whole = results.read_bytes()

    again = bench_ina(said.append, options=options, cases=cases)
    assert (again.rows, [*again.lines(200)]) == (report.rows, [*report.lines(200)])
    assert (results.read_bytes(), len(second)) == (whole, 3), "what is there is only printed"


def test_a_wrong_sum_is_no_measurement(monkeypatch: pytest.MonkeyPatch, here: Path) -> None:
    case = small_case()

    def found(subject: str, memory: int, point: Point) -> Outcome:
        return Outcome("done", "fail" if subject == ESA else "pass", reason="bit_exact: h1 holds other bits")

    monkeypatch.setattr("testbed.protocols.esa.bench_ina.bench.run_swept", lambda *_: finished(case, found))
    with pytest.raises(InternalError, match="ina-mix-2-2: jobs-mix, esa, 8, simulated, seed 1: bit_exact: h1 holds"):
        bench_ina(lambda text: None, cases=[case])
