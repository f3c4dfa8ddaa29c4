"""The time that a sweep takes: from a pilot, then from what its runs took, by weight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from testbed.scenario.loader import parse_scenario
from testbed.sweeps import ScenarioSweep, load_sweep
from testbed.sweeps.forecast import Forecast, corners, shortened
from testbed.sweeps.scenario_engine import run_scenario_sweep
from testbed.sweeps.scenario_loader import SweepWords
from testbed.sweeps.scenario_model import Point
from testbed.sweeps.scenario_points import make_points


def sweep_of(**words: Any) -> ScenarioSweep:
    found = load_sweep(["rack-lossy"], SweepWords(worlds=["simulated"], **words))
    assert isinstance(found, ScenarioSweep)
    return found


class Machine:
    """Takes 1 us for a byte of each worker, and a second for each run; protocol `switchml` takes four times as long."""

    def __init__(self) -> None:
        self.now_s, self.sizes = 0.0, list[int]()
        self.peak_bytes = 0
        """for each byte of the gradient"""

    def clock(self) -> float:
        return self.now_s

    def compute(self, points: Sequence[Point]) -> Iterator[tuple[int, dict[str, Any]]]:
        for index, point in enumerate(points):
            scenario = parse_scenario(point.text, "x")
            wall_s = 1e-6 * scenario.job.size_bytes * len(scenario.ranks)
            wall_s *= 4 if point.values.get("protocol") == "switchml" else 1
            self.sizes.append(scenario.job.size_bytes)
            self.now_s += wall_s
            yield index, {"status": "done", "verdict": "pass", "figures": {"jct_s": 1.0}, "reason": "", "untimed": "",
                          "wall_s": wall_s, "rest_bytes": 50_000_000 if self.peak_bytes else 0,
                          "peak_bytes": self.peak_bytes and 50_000_000 + self.peak_bytes * scenario.job.size_bytes,
                          "document": {}}  # fmt: skip


SIZES = ["job.size=100kB,200kB,400kB,4MB"]


def test_the_time_left_is_right_all_along_where_runs_differ_by_forty(tmp_path: Path) -> None:
    machine, said, left = Machine(), list[str](), list[tuple[float, float]]()
    forecast = Forecast(1, said.append, machine.clock)

    def look(done: int, total: int, reused: int) -> None:
        if forecast.left_s is not None:
            left.append((machine.now_s, forecast.left_s))

    run_scenario_sweep(
        sweep_of(axes=SIZES, protocols=["netreduce", "switchml"], seeds=4), tmp_path, machine.compute, look, forecast
    )
    assert len(left) > 20
    for now_s, left_s in left:
        assert left_s == pytest.approx(machine.now_s - now_s, rel=0.05, abs=0.01)


def test_the_pilot_is_short_and_says_time_and_memory(tmp_path: Path) -> None:
    machine, said = Machine(), list[str]()
    forecast = Forecast(2, said.append, machine.clock)
    sweep = sweep_of(axes=SIZES, protocols=["netreduce", "switchml"], seeds=4)
    run_scenario_sweep(sweep, tmp_path, machine.compute, lambda *_: None, forecast)
    assert machine.sizes[:4] == [16384, 397312, 16384, 397312], "four corners, a tenth of each size"
    assert len(machine.sizes) == 4 + 32
    [line] = said
    assert line.startswith("pilot: 4 short runs in 8 s; all 32 runs take about 3")
    assert " with 2 processes, and at most " in line
    again = Machine()
    run_scenario_sweep(sweep, tmp_path, again.compute, lambda *_: None, Forecast(2, said.append, again.clock))
    assert (again.sizes, len(said)) == ([], 1), "nothing is left to estimate"


def test_the_pilot_measures_memory_that_losses_take(tmp_path: Path) -> None:
    machine, said = Machine(), list[str]()
    machine.peak_bytes = 1000
    sweep = sweep_of(axes=SIZES, seeds=4)
    run_scenario_sweep(sweep, tmp_path, machine.compute, lambda *_: None, Forecast(2, said.append, machine.clock))
    assert said[0].endswith("and at most 4.05 GB each"), said


def test_the_pilot_names_what_will_be_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from testbed.sweeps import forecast as module

    monkeypatch.setattr(module, "available_bytes", lambda: 80_000_000)
    machine, said = Machine(), list[str]()
    run_scenario_sweep(
        sweep_of(axes=SIZES, seeds=4),
        tmp_path,
        machine.compute,
        lambda *_: None,
        Forecast(1, said.append, machine.clock),
    )
    assert [line for line in said if line.startswith("pilot: will be refused: job.size 4MB, world simulated: takes")]
    assert not [line for line in said if "100kB" in line]


def test_few_runs_need_no_pilot(tmp_path: Path) -> None:
    machine, said = Machine(), list[str]()
    run_scenario_sweep(
        sweep_of(axes=["job.size=100kB,4MB"]),
        tmp_path,
        machine.compute,
        lambda *_: None,
        Forecast(1, said.append, machine.clock),
    )
    assert (len(machine.sizes), said) == (2, [])


def test_corners_are_the_ends_of_each_axis_for_each_variant() -> None:
    points = make_points(sweep_of(
        axes=["faults.loss.rate=0,1%,5%", "topology.hosts=2,3,4"], protocols=["netreduce", "ring"], seeds=2
    ))  # fmt: skip
    found = [points[place] for place in corners(points)]
    assert len(found) == 2 * 2 * 2
    assert {point.seed for point in found} == {1}
    assert {point.values["faults.loss.rate"] for point in found} == {0, "5%"}


def test_many_corners_leave_one_for_each_variant() -> None:
    axes = ["topology.hosts=2,3", "topology.link.queue=500,600", "transport.ack_every=1,2", "job.message_packets=8,16"]
    points = make_points(sweep_of(axes=axes, protocols=["netreduce", "ring"]))
    assert len(corners(points)) == 2


def test_a_short_run_is_valid_and_has_less_to_do() -> None:
    point, *_ = make_points(sweep_of(axes=["job.size=4MB,8MB"]))
    assert parse_scenario(shortened(point).text, "x").job.size_bytes == 397312
    small, *_ = make_points(sweep_of(axes=["job.size=8kB,16kB"]))
    assert shortened(small) is small


def test_runs_that_cannot_be_shorter_are_done_once(tmp_path: Path) -> None:
    machine, said = Machine(), list[str]()
    run_scenario_sweep(
        sweep_of(axes=["job.size=4kB,16kB"], seeds=10),
        tmp_path,
        machine.compute,
        lambda *_: None,
        Forecast(1, said.append, machine.clock),
    )
    assert (len(machine.sizes), said) == (20, [])


def test_no_time_is_said_to_be_left_before_or_after_the_estimate(tmp_path: Path) -> None:
    machine = Machine()
    forecast = Forecast(1, lambda line: None, machine.clock)
    points = make_points(sweep_of(axes=["job.size=100kB,4MB"], seeds=10))
    forecast.start(points, {}, watched(forecast, machine, during := list[float | None]()))
    assert during == [None, None]
    assert forecast.left_s is not None
    machine.now_s += forecast.left_s
    assert forecast.left_s is None


def watched(forecast: Forecast, machine: Machine, during: list[float | None]) -> Any:
    """The machine's `compute`; `during` gets what is left after each run."""

    def compute(points: Sequence[Point]) -> Iterator[tuple[int, dict[str, Any]]]:
        for found in machine.compute(points):
            during.append(forecast.left_s)
            yield found

    return compute
