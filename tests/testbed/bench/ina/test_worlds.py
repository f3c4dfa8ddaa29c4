"""Points in both worlds, of made-up runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from testbed.bench.ina import bench
from testbed.bench.ina.bench import bench_ina
from testbed.bench.ina.place import EMULATED, Point
from testbed.bench.ina.runs import Figures
from testbed.bench.ina.subjects import ATP, ESA, MIXES, SWITCHML
from testbed.bench.ina.worlds import Pair, pair_of, twin_points, world_lines, world_rows
from testbed.bench.options import BenchOptions
from tests.support.ina_runs import run


def pair(virtual: float, *real: float, late: Sequence[int] = ()) -> Pair:
    """`late`: repeats, from 0, in which the machine did not keep up."""
    twin = next(
        twin for twin in twin_points(EMULATED, quick=True, seeds=1, repeats=len(real)) if twin[0].subject is ATP
    )
    found: dict[Point, Figures] = {twin[0]: run(virtual)}
    for number, (point, jct) in enumerate(zip(twin[1], real, strict=True)):
        found[point] = replace(run(jct), dilation=4 if number else 2, deviation=(0.01, 0.02)[number % 2])
        if number in late:
            found[point] = replace(found[point], fidelity="unknown", reasons=("s1 waited 80 ms for the CPU",))
    return pair_of(twin, found)


def test_worlds_side_by_side() -> None:
    pairs = [
        pair(5.0, 5.3, 5.5, 5.4),
        pair(5.0, 5.6, 5.6, 5.0),
        pair(5.0, 5.4, 9.9, 5.3, late=[1]),
        pair(5.0, 5.0, 5.0, 5.0, late=[0, 2]),
    ]
    assert list(world_lines(pairs, 130)) == [
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
    assert {(row.world, row.dilation, row.deviation) for row in world_rows(pairs)} == {("emulated", 4, 0.02)}
    assert [row.met for row in world_rows(pairs)] == [True, False, True, False], (
        "equal times of a machine that had too little CPU time prove nothing"
    )


def test_half_of_the_repeats_are_not_most_of_them() -> None:
    assert [pair(5.0, *[5.0] * 4, late=late).fidelity for late in ([0], [0, 1])] == ["pass", "unknown"]


def test_the_whole_comparison_has_plenty_of_memory_too() -> None:
    sizes = [
        [point.memory / EMULATED.windows(MIXES["mix-2+2"]) for point, _ in twins if point.subject is ATP]
        for twins in (twin_points(EMULATED, quick=quick, seeds=1, repeats=1) for quick in (True, False))
    ]
    assert sizes == [[pytest.approx(1 / 3)], [pytest.approx(1 / 3), 10]]


@pytest.mark.parametrize(("asked", "repeats"), [(None, 3), (2, 2)])
def test_each_point_runs_once_in_virtual_time_and_some_times_for_real(
    monkeypatch: pytest.MonkeyPatch, asked: int | None, repeats: int
) -> None:
    ran: list[Point] = []

    def fake(say: object, points: list[Point], processes: int) -> dict[Point, Figures]:
        ran.extend(points)
        assert processes == 1, "two networks on one machine would slow each other down"
        return {point: run(1.0 if point.place.world == "simulated" else 1.05) for point in points}

    monkeypatch.setattr(bench, "run_points", fake)
    report = bench_ina(lambda text: None, "emulated", BenchOptions(quick=True, repeats=asked))
    assert [point.subject for point in ran] == [SWITCHML, ATP, ESA] * (1 + repeats)
    assert [point.place.world for point in ran] == ["simulated"] * 3 + ["emulated"] * 3 * repeats
    assert {replace(point.place, world="") for point in ran} == {replace(EMULATED, world="")}
    assert all(row.met and row.ratio == pytest.approx(1.05) and row.repeats == repeats for row in report.rows)
