"""Points in both worlds, of made-up runs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from testbed.bench import swept
from testbed.bench.options import BenchOptions
from testbed.protocols.esa.bench_ina.bench import bench_ina
from testbed.protocols.esa.bench_ina.cases import ATP, ESA, SWITCHML, emulated_case
from testbed.protocols.esa.bench_ina.worlds import Pair, pairs_of, repeated, world_lines, world_rows
from testbed.sweeps.scenario_model import Outcome, Point
from tests.support.ina_runs import finished, made_up, outcome

pytestmark = pytest.mark.protocols("switchml")

CASE = emulated_case(quick=True, seeds=1)


def pair(virtual: float, *real: float, late: Sequence[int] = ()) -> Pair:
    """`late`: repeats, from 0, in which the machine did not keep up."""

    def found(subject: str, memory: int, point: Point) -> Outcome:
        if point.world == "simulated":
            return outcome(virtual)
        number = point.repeat - 1
        reason = "s1 waited 80 ms for the CPU" if number in late else ""
        told = {"dilation": 4 if number else 2, "twin.deviation": (0.01, 0.02)[number % 2]}
        return outcome(real[number], reason, **told)

    pairs = pairs_of(CASE, finished(CASE, found, repeated(CASE.points, len(real))))
    return next(pair for pair in pairs if pair.subject == ATP)


def test_worlds_side_by_side() -> None:
    pairs = [
        pair(5.0, 5.3, 5.5, 5.4),
        pair(5.0, 5.6, 5.6, 5.0),
        pair(5.0, 5.4, 9.9, 5.3, late=[1]),
        pair(5.0, 5.0, 5.0, 5.0, late=[0, 2]),
    ]
    assert list(world_lines(CASE, pairs, 130)) == [
        "mix-2+2 at 1.00 Mbit/s and 88 ms per hop, average JCT in both worlds; emulated: medians of 3",
        "   M  protocol  seed  simulated  emulated  spread  ratio  dilation   twin  fidelity",
        "  64  atp          1     5.00 s    5.40 s    3.7%  1.080         4  +2.0%  pass, on time in 3 of 3",
        "  64  atp          1     5.00 s    5.60 s   10.7%  1.120         4  +2.0%  pass, on time in 3 of 3",
        (
            "  64  atp          1     5.00 s    5.35 s    1.9%  1.070         4  +2.0%  pass, on time in 2 of 3: "
            "s1 waited 80 ms for the CPU"
        ),
        (
            "  64  atp          1     5.00 s    5.00 s    0.0%  1.000         4  +2.0%  unknown, on time in 1 of 3: "
            "s1 waited 80 ms for the CPU"
        ),
    ]
    assert {(row.world, row.dilation, row.deviation) for row in world_rows(CASE, pairs)} == {("emulated", 4, 0.02)}
    assert [row.met for row in world_rows(CASE, pairs)] == [True, False, True, False], (
        "equal times of a machine that had too little CPU time prove nothing"
    )


def test_half_of_the_repeats_are_not_most_of_them() -> None:
    assert [pair(5.0, *[5.0] * 4, late=late).fidelity for late in ([0], [0, 1])] == ["pass", "unknown"]


@pytest.mark.parametrize(("asked", "repeats"), [(None, 3), (2, 2)])
def test_each_point_runs_once_in_virtual_time_and_some_times_for_real(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, asked: int | None, repeats: int
) -> None:
    monkeypatch.chdir(tmp_path)
    ran: list[Point] = []
    computing = made_up(lambda point: 1.0 if point.world == "simulated" else 1.05, ran)

    def alone(processes: int, scheduler: None) -> Any:
        assert processes == 1, "two networks on one machine would slow each other down"
        return computing(processes, scheduler)

    monkeypatch.setattr(swept, "computing", alone)
    report = bench_ina(lambda text: None, "emulated", BenchOptions(quick=True, repeats=asked, csv=tmp_path / "ina.csv"))
    assert [point.values["variant"] for point in ran] == [ATP, ESA, SWITCHML] * (1 + repeats)
    assert [point.world for point in ran] == ["simulated"] * 3 + ["emulated"] * 3 * repeats
    assert [point.repeat for point in ran if point.values["variant"] == ATP] == list(range(repeats + 1))
    assert all(row.met and row.ratio == pytest.approx(1.05) and row.repeats == repeats for row in report.rows)
    rows = list(csv.DictReader((tmp_path / "ina.csv").open(encoding="utf-8")))
    assert [row["repeat"] for row in rows if row["variant"] == ATP] == ["", *map(str, range(1, repeats + 1))]
