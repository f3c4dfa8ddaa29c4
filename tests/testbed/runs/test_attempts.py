"""`dilation: auto`: chosen for the machine, doubled when the machine did not keep up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from switch_nodes.events import PlaneStatistics
from testbed.checkers import CheckContext
from testbed.checkers.twins import Figures, Twin
from testbed.figures.metrics import figures_of, metrics
from testbed.history.events import NodeStarted
from testbed.plan import make_plan
from testbed.runs import attempts, calibration
from testbed.runs import run as running
from testbed.runs.attempts import LONGEST_S, TakesTooLong, exact_factor, is_settled, put_away, twice
from testbed.runs.calibration import KeptCalibration, keep_calibration, kept_calibration, machine_name
from testbed.runs.options import RunOptions
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from testbed.worlds.base import RunFacts
from testbed.worlds.emulated.dilation import exact_dilation, lossless_dilation
from testbed.worlds.simulated import SimulatedWorld, simulate

SMALL = ["job.size=40kB", "capture=false"]
COSTS = {"256": 8000.0, "1024": 8000.0, "4096": 14000.0}


class SlowUntil:
    """An emulated world that keeps up from a dilation on: virtual time, told as real."""

    name, has_twin = "emulated", True

    def __init__(self, enough: int) -> None:
        self.enough, self.at = enough, list[int]()

    def run(self, plan: Any, run_dir: Path, on_record: Any) -> RunFacts:
        dilation = plan.scenario.dilation
        self.at.append(dilation)

        def hear(record: Any) -> None:
            if isinstance(record.event, NodeStarted):
                record = replace(record, event=replace(record.event, backend="native"))
            if isinstance(record.event, PlaneStatistics) and dilation < self.enough:
                record = replace(record, event=replace(record.event, socket_drops=1))
            on_record(record)

        return SimulatedWorld().run(replace(plan, scenario=replace(plan.scenario, capture=False)), run_dir, hear)


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "choose_for_machine", lambda plan, say: 3)


def _run(world: SlowUntil, tmp_path: Path, dilation: int | None, said: list[str]) -> Any:
    scenario = replace(load_scenario("rack", SMALL), dilation=dilation)
    return run_scenario(scenario, tmp_path / "run", world=world, options=RunOptions(twin=False, say=said.append))


def test_a_machine_that_keeps_up_runs_once(chosen: None, tmp_path: Path) -> None:
    world = SlowUntil(1)
    result = _run(world, tmp_path, None, [])
    assert world.at == [3]
    assert result.document["dilation"] == {"factor": 3, "tried": [], "not_dilated": []}
    assert load_scenario(str(tmp_path / "run" / "scenario.yaml")).dilation == 3


def test_it_is_doubled_until_the_machine_keeps_up(chosen: None, tmp_path: Path) -> None:
    world, said = SlowUntil(10), list[str]()
    result = _run(world, tmp_path, None, said)
    assert world.at == [3, 6, 12]
    assert result.document["fidelity"]["verdict"] == "pass"
    assert result.document["dilation"]["tried"] == [3, 6]
    assert [line.partition(" (")[0] for line in said] == [
        f"at dilation {factor} this machine had too little CPU time" for factor in (3, 6)
    ]
    assert sorted(path.name for path in (tmp_path / "run" / "attempts").iterdir()) == ["dilation-3", "dilation-6"]
    assert (tmp_path / "run" / "attempts" / "dilation-6" / "result.json").exists()


def test_three_more_attempts_and_no_fourth(chosen: None, tmp_path: Path) -> None:
    world = SlowUntil(1_000)
    result = _run(world, tmp_path, None, [])
    assert world.at == [3, 6, 12, 24]
    assert (result.document["fidelity"]["verdict"], result.document["verdict"]) == ("unknown", "pass")


def test_a_factor_that_the_scenario_names_is_kept(tmp_path: Path) -> None:
    world = SlowUntil(1_000)
    result = _run(world, tmp_path, 5, [])
    assert world.at == [5]
    assert result.document["fidelity"]["verdict"] == "unknown"


@pytest.mark.parametrize(
    ("fidelity", "verdict", "factor", "following"),
    [
        ("unknown", "pass", 4, 8),
        ("unknown", "unknown", 4, 8),
        ("pass", "pass", 4, None),
        ("unknown", "fail", 4, None),
        ("unknown", "pass", 5_001, None),
    ],
)
def test_when_it_runs_again(fidelity: str, verdict: str, factor: int, following: int | None) -> None:
    scenario = replace(load_scenario("rack"), dilation=factor)
    document = {"fidelity": {"verdict": fidelity}, "verdict": verdict, "metrics": {"duration_s": 0.01}}
    assert twice(scenario, document) == following


@pytest.mark.parametrize(
    ("own_s", "deviation", "before_s", "settled"),
    [
        (0.217, -0.059, 0.2175, True),
        (0.217, -0.059, 0.225, False),
        (0.217, -0.04, 0.2175, False),
        (0.217, -0.059, None, False),
        (None, None, 0.2175, False),
    ],
)
def test_a_time_that_twice_the_factor_does_not_move_is_not_the_machines(
    own_s: float | None, deviation: float | None, before_s: float | None, settled: bool
) -> None:
    now = {"twin": {"own_jct_s": own_s, "deviation": deviation}}
    before = None if before_s is None else {"twin": {"own_jct_s": before_s, "deviation": -0.06}}
    assert is_settled(now, before) is settled


def test_the_twins_are_told_what_the_run_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Figures] = []

    def make(plan: Any, own: Figures, *_: Any) -> Twin:
        told.append(own)
        return Twin((own,))

    monkeypatch.setattr(running, "make_twin", make)
    scenario = replace(load_scenario("rack", SMALL), dilation=3)
    document = run_scenario(scenario, tmp_path / "run", world=SlowUntil(1)).document
    assert [own.seconds["JCT"] for own in told] == [document["metrics"]["jct_s"]]


def test_no_attempt_follows_two_that_are_alike(chosen: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin of half the rate takes twice as long, whatever the factor."""
    slow = make_plan(load_scenario("rack", [*SMALL, "topology.link.rate=50Mbps"], world="simulated"))
    twin = Twin((figures_of(metrics(CheckContext(slow, simulate(slow)))),))
    monkeypatch.setattr(running, "make_twin", lambda *_: twin)
    world, said = SlowUntil(1), list[str]()
    scenario = replace(load_scenario("rack", SMALL), dilation=None)
    result = run_scenario(scenario, tmp_path / "run", world=world, options=RunOptions(say=said.append))
    plan = make_plan(replace(scenario, dilation=1))
    assert world.at == [3, 6, exact_dilation(plan)]
    assert result.document["fidelity"]["verdict"] == "unknown"
    settled = "JCT did not change at twice the dilation, so CPU time is not the cause"
    assert [text for text in said if "twice" in text] == [
        f"{settled}; retrying at dilation {exact_dilation(plan)}",
        settled,
    ]


@pytest.mark.parametrize(
    ("at", "took_s", "following"), [(1, 0.1, 12), (11, 0.1, 12), (12, 0.1, None), (1, 25.1, None), (1, None, None)]
)
def test_where_frames_arrive_one_by_one_comes_last(at: int, took_s: float | None, following: int | None) -> None:
    plan = make_plan(replace(load_scenario("rack"), dilation=at))
    assert exact_factor(plan, {"metrics": {"duration_s": took_s}}) == following


def test_what_an_attempt_left_moves_away(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    put_away(tmp_path, 2)
    (tmp_path / "a").write_text("2")
    put_away(tmp_path, 4)
    kept = {path.parent.name: path.read_text() for path in (tmp_path / "attempts").rglob("a")}
    assert kept == {"dilation-2": "1", "dilation-4": "2"}
    assert [path.name for path in tmp_path.iterdir()] == ["attempts"]


def test_no_attempt_follows_where_all_together_would_take_too_long() -> None:
    scenario = replace(load_scenario("rack"), dilation=50)
    document = {"fidelity": {"verdict": "unknown"}, "verdict": "pass", "metrics": {"duration_s": 1.0}}
    assert twice(scenario, document, LONGEST_S - 100) == 100
    assert twice(scenario, document, LONGEST_S - 99) is None
    assert exact_factor(make_plan(load_scenario("rack", ["dilation=1"])), document, LONGEST_S - 11) is None


def _kept(machine: str = "") -> KeptCalibration:
    alone = {"host": 50_000.0, "switch": 27_000.0}
    return KeptCalibration(machine or machine_name(), "2026-01-01 00:00", {"host": COSTS, "switch": COSTS}, alone)


def test_a_calibration_is_kept_for_the_machine_that_it_is_of(tmp_path: Path) -> None:
    assert kept_calibration(tmp_path) is None
    keep_calibration(_kept(), tmp_path)
    found = kept_calibration(tmp_path)
    assert found == _kept()
    assert found.calibration.packet_ns("host", 1024, 1e9) == pytest.approx(8000, rel=0.01)
    keep_calibration(_kept("another machine"), tmp_path)
    assert kept_calibration(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"schema": 1}', '{"schema": 2, "machine": "x"}'])
def test_a_damaged_calibration_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "calibration.json").write_text(text)
    assert kept_calibration(tmp_path) is None


@pytest.fixture
def calibrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
    keep_calibration(_kept())
    monkeypatch.setattr(attempts, "crowd", lambda: 0.0)


def test_a_factor_that_takes_too_long_is_refused_before_the_traffic(calibrated: None, tmp_path: Path) -> None:
    slow = ["topology.link.rate=100Mbps", "job.size=1GB"]
    plan = make_plan(load_scenario("rack", slow))
    with pytest.raises(TakesTooLong) as refused:
        attempts.choose_for_machine(plan, lambda text: None)
    factor = refused.value.factor
    assert f"at the factor {factor}, which it needs, the traffic takes about " in str(refused.value)
    assert f"`dilation: {factor}` goes on without a limit" in str(refused.value)
    told = refused.value.with_commands(["tb", "run", "rack", "--set", "job.size=16GB"])
    assert told.exit_code == 3
    assert f"to go on: `tb run rack --set job.size=16GB --dilation {factor}`" in str(told)
    assert "`tb run rack --set job.size=16GB --real-time`" in str(told)
    assert list(tmp_path.iterdir()) == [tmp_path / "state"]


def test_a_busy_machine_and_a_known_time_change_the_factor(calibrated: None, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, said = make_plan(load_scenario("demo")), list[str]()
    calm = attempts.choose_for_machine(plan, said.append, 0.4)
    assert attempts.choose_for_machine(plan, said.append, 0.8) == pytest.approx(calm / 2, abs=1)
    monkeypatch.setattr(attempts, "crowd", lambda: 9.0)
    assert attempts.choose_for_machine(plan, said.append, 0.4) == pytest.approx(2 * calm, abs=1)
    assert said[-1].endswith("9.0 tasks of other processes for each processor")


def test_pfc_takes_the_factor_that_its_pauses_need(calibrated: None) -> None:
    plan = make_plan(load_scenario("pfc-victim", ["job.size=4MB"]))
    without = replace(plan, scenario=replace(plan.scenario, pfc=None))
    least = lossless_dilation(plan)
    assert attempts.choose_for_machine(plan, lambda text: None) == least
    assert attempts.choose_for_machine(without, lambda text: None) < least


def test_devices_keep_their_own_time() -> None:
    plan = make_plan(load_scenario("rack"))
    plan = replace(plan, scenario=replace(plan.scenario, nics=(("h1", "mlx5_0"),)))
    assert attempts.choose_for_machine(plan, lambda text: None) == 1


def test_what_is_no_plan_alone_keeps_real_time(tmp_path: Path) -> None:
    world = SlowUntil(1)
    world.has_twin = False
    assert _run(world, tmp_path, None, []).document["dilation"]["factor"] == 1


def test_the_first_choice_calibrates_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(calibration, "calibrate", lambda tell: _kept())
    monkeypatch.setattr(attempts, "crowd", lambda: 0.0)
    plan = make_plan(load_scenario("rack", SMALL))
    said: list[str] = []
    first = attempts.choose_for_machine(plan, said.append)
    assert said[0] == "dilation auto: this machine is not calibrated yet; measuring what a packet costs it"
    assert said[-1] == f"dilation auto: {first} real seconds for an emulated one"
    again: list[str] = []
    assert attempts.choose_for_machine(plan, again.append) == first
    assert len(again) == 1
