"""A sweep over scenarios, from its words to its files."""

from __future__ import annotations

import csv
import json
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.runs import run as run_module
from testbed.scenario import load_scenario
from testbed.sweeps import ScenarioSweep, compute, load_sweep, scenario_engine
from testbed.sweeps.compute import compute_point
from testbed.sweeps.groups import groups_of
from testbed.sweeps.local import compute_locally
from testbed.sweeps.matrix import matrix_page
from testbed.sweeps.plots.write import write_plots
from testbed.sweeps.scenario_engine import FinishedScenarios, run_scenario_sweep
from testbed.sweeps.scenario_loader import SweepWords
from testbed.sweeps.scenario_model import Point
from testbed.sweeps.scenario_points import make_points
from testbed.sweeps.scenario_report import scenario_document, scenario_summary, write_scenario_files
from workloads.errors import ScenarioError

SMALL = ("job.size=8kB", "transport.timeout=10")


def sweep_of(*scenarios: str, **words: Any) -> ScenarioSweep:
    words = {"overrides": SMALL, "worlds": ["simulated"]} | words
    asked = load_sweep(scenarios or ["rack-lossy"], SweepWords(**words))
    assert isinstance(asked, ScenarioSweep)
    return asked


def in_process(points: Sequence[Point]) -> Iterator[tuple[int, dict[str, Any]]]:
    for index, point in enumerate(points):
        yield index, compute_point(point.text, point.program)


def run(sweep: ScenarioSweep, folder: Path, compute: Any = in_process) -> FinishedScenarios:
    return run_scenario_sweep(sweep, folder, compute, lambda done, total, reused: None)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> FinishedScenarios:
    sweep = sweep_of(
        axes=["faults.loss.rate=0,5%"], seeds=3, overrides=["job.size=40kB"],
        variants={
            "netreduce": {"protocol": "netreduce"}, "switchml": {"protocol": "switchml"},
            "wrong": {"faults.loss.rate": "200%"},
        },
    )  # fmt: skip
    return run(sweep, tmp_path_factory.mktemp("sweep"))


def test_points_are_the_product_of_all_that_is_varied() -> None:
    sweep = sweep_of("rack", "ring", axes=["topology.hosts=2,4"], seeds=(5, 7), overrides=())
    points = make_points(sweep)
    assert len(points) == 2 * 2 * 2
    assert [point.values["scenario"] for point in points] == ["rack"] * 4 + ["ring"] * 4
    assert [point.seed for point in points] == [5, 7] * 4
    assert len({point.key("") for point in points}) == 8


def test_a_rate_of_0_is_a_value_like_others(finished: FinishedScenarios) -> None:
    zero = [group for group in groups_of(finished) if group.values["faults.loss.rate"] == 0]
    assert [group.verdicts for group in zero] == [{"pass": 3}, {"pass": 3}, {"invalid": 3}]
    summary = zero[0].summary("jct_s")
    assert summary is not None
    assert summary.most < 1.01 * summary.least, (
        "without loss every seed takes the same time, but for how ACKs fall together"
    )


def test_loss_costs_time(finished: FinishedScenarios) -> None:
    medians = {
        (group.values["variant"], group.values["faults.loss.rate"]): found.median
        for group in groups_of(finished)
        if (found := group.summary("jct_s")) is not None
    }
    assert medians["netreduce", "5%"] > medians["netreduce", 0]
    assert medians["switchml", "5%"] > medians["switchml", 0]


def test_an_invalid_point_is_shown_and_stops_no_other(finished: FinishedScenarios) -> None:
    wrong = [
        outcome
        for point, outcome in zip(finished.points, finished.outcomes, strict=True)
        if point.values["variant"] == "wrong"
    ]
    assert {outcome.status for outcome in wrong} == {"invalid"}
    assert wrong[0].reason.startswith("faults[0].rate: ")
    assert sum(outcome.is_done for outcome in finished.outcomes) == 12
    assert finished.exit_code == 2
    lines = list(scenario_summary(finished, 80))
    assert lines[0] == "rack-lossy: 18 runs at 6 points: 12 pass, 6 invalid"
    assert lines[1] == "  computed now 12, already there 0, not computed because they are invalid 6"
    assert any(line.startswith("  scenario rack-lossy, variant wrong, faults.loss.rate 0") for line in lines)
    assert "not as expected" in lines


@pytest.mark.parametrize(
    ("axes", "key", "value"),
    [
        (["faults.loss.rate=0,abc"], "faults.loss.rate", "'abc'"),
        (["faults.loss.rate=0,5%,200%"], "faults.loss.rate", "'200%'"),
        (["faults.loss.rate=0,5%", "topology.hosts=2,0"], "topology.hosts", "0"),
        (["transport.recovery=gbn,inr", "topology.hosts=2,4"], "transport.recovery", "'inr'"),
    ],
)
@pytest.mark.parametrize("protocols", [[], ["netreduce", "ring"]])
def test_a_value_that_no_protocol_takes_is_refused_before_anything_runs(
    tmp_path: Path, axes: list[str], key: str, value: str, protocols: list[str]
) -> None:
    with pytest.raises(ScenarioError, match=f"axes.{key}: no scenario and no protocol of the sweep takes this value"):
        run(sweep_of(axes=axes, protocols=protocols, overrides=["job.size=8kB"]), tmp_path / "sweep")
    assert not (tmp_path / "sweep").exists()


def test_when_no_point_is_valid_the_sweep_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"faults\[0\].rate"):
        run(sweep_of(axes=["faults.loss.rate=200%,300%"]), tmp_path / "sweep")
    assert not (tmp_path / "sweep").exists()


def test_a_figure_that_no_run_has_is_named(finished: FinishedScenarios) -> None:
    assert not [line for line in scenario_summary(finished) if line.startswith("no run has")]
    asked = replace(finished, sweep=replace(finished.sweep, figures=("jct_s", "jtc_s")))
    lines = list(scenario_summary(asked))
    assert "no run has a figure 'jtc_s'; did you mean 'jct_s'?" in lines
    assert any(line.startswith("figures of these runs: ") and " jct_s, " in line for line in lines)


def test_runs_that_could_not_tell_their_times_say_why(finished: FinishedScenarios) -> None:
    assert not [line for line in scenario_summary(finished) if "could not tell" in line]
    lags = [replace(outcome, untimed="the machine had too little CPU time: lags") for outcome in finished.outcomes[:2]]
    slow = replace(finished, outcomes=(*lags, *finished.outcomes[2:]))
    for world, hint in (("emulated", "`--set dilation=auto`"), ("lab", "`--world simulated`")):
        points = tuple(replace(point, world=world) for point in finished.points)
        text = " ".join(scenario_summary(replace(slow, points=points), 60))
        assert "2 of 18 runs could not report their times" in text
        assert f"the first: the machine had too little CPU time: lags. {hint}" in text
    assert [result["untimed"] for result in scenario_document(slow)["results"]][:3] == [lags[0].untimed] * 2 + [""]


def test_why_a_time_is_unknown_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    document = {"verdict": "pass", "checks": [], "metrics": {}, "fidelity": {"verdict": "unknown", "detail": "lags"}}
    monkeypatch.setattr(compute, "judge_scenario", lambda scenario, replay, history: document)
    monkeypatch.setattr(compute, "flat_figures", lambda document: {})
    point, _ = make_points(sweep_of(seeds=2))
    assert compute_point(point.text, "")["untimed"] == "lags"
    document["fidelity"] = {"verdict": "pass", "detail": "virtual time"}
    assert compute_point(point.text, "")["untimed"] == ""


def test_files_hold_every_run(finished: FinishedScenarios) -> None:
    as_json, as_csv, summary = write_scenario_files(finished, finished.folder)
    document = json.loads(as_json.read_text(encoding="utf-8"))
    assert document == json.loads(json.dumps(scenario_document(finished)))
    assert document["dimensions"] == {"variant": ["netreduce", "switchml", "wrong"], "faults.loss.rate": [0, "5%"]}
    with as_csv.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 18
    assert [row["faults.loss.rate"] for row in rows[:7]] == ["0"] * 3 + ["5%"] * 3 + ["0"]
    assert float(rows[0]["jct_s"]) > 0
    assert rows[12]["jct_s"] == ""
    with summary.open(encoding="utf-8") as file:
        groups = list(csv.DictReader(file))
    assert [row["pass"] for row in groups] == ["3", "3", "3", "3", "0", "0"]
    assert float(groups[1]["low"]) <= float(groups[1]["median"]) <= float(groups[1]["high"])
    assert float(groups[1]["coverage"]) == 0.75
    kept = finished.folder / "points" / rows[0]["point"]
    assert {path.name for path in kept.iterdir()} == {"scenario.yaml", "result.json"}


def test_plots_have_error_bars_labels_and_both_formats(finished: FinishedScenarios, tmp_path: Path) -> None:
    written = write_plots(finished, tmp_path)
    assert [path.name for path in written] == ["plot-jct_s.svg", "plot-jct_s.pdf", "plot-jct_s.py"]
    text = written[0].read_text(encoding="utf-8")
    for word in ("Job completion time (ms)", "Packet loss rate (%)", "netreduce", "switchml", "5", "refused"):
        assert f"<!-- {word} -->" in text, word
    assert text.count("LineCollection") >= 2, "error bars of both protocols"
    assert written[1].read_bytes().startswith(b"%PDF-")


def test_a_page_shows_protocols_across(finished: FinishedScenarios) -> None:
    page = matrix_page(finished)
    assert "<th>netreduce</th><th>switchml</th><th>wrong</th>" in page
    assert page.count('class="pass"') == 4
    assert page.count('class="invalid"') == 2
    assert "http" not in page.replace("http-equiv", "")


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    first = run(sweep_of(axes=["faults.loss.rate=0,5%"]), tmp_path)
    assert (first.reused, first.anew) == (0, 0)

    def never(points: Sequence[Point]) -> Iterator[tuple[int, dict[str, Any]]]:
        raise AssertionError(points)

    again = run(sweep_of(axes=["faults.loss.rate=5%,0"]), tmp_path, never)
    assert again.reused == 2
    assert again.outcomes == first.outcomes[::-1]
    more = run(sweep_of(axes=["faults.loss.rate=0,5%,6%"]), tmp_path)
    assert more.reused == 2


def test_other_code_runs_them_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = sweep_of(axes=["faults.loss.rate=0,5%"])
    run(sweep, tmp_path)
    monkeypatch.setattr(scenario_engine, "model_version", lambda module: "another")
    again = run(sweep, tmp_path)
    assert (again.reused, again.anew) == (0, 2)


def test_a_sweep_that_was_stopped_goes_on(tmp_path: Path) -> None:
    sweep = sweep_of(axes=["faults.loss.rate=0,5%,6%"])

    def two_and_out(points: Sequence[Point]) -> Iterator[tuple[int, dict[str, Any]]]:
        for index, outcome in in_process(points):
            if index == 2:
                raise KeyboardInterrupt
            yield index, outcome

    with pytest.raises(KeyboardInterrupt):
        run(sweep, tmp_path, two_and_out)
    assert run(sweep, tmp_path).reused == 2


def test_processes_compute_what_this_one_does(tmp_path: Path) -> None:
    points = make_points(sweep_of(axes=["faults.loss.rate=0,5%,6%"]))
    there = dict(compute_locally(points, 2))
    for index, outcome in in_process(points):
        assert there[index]["figures"] == outcome["figures"]
        assert there[index]["verdict"] == outcome["verdict"] == "pass"


def workers_of_this_process() -> list[int]:
    listed = [path.read_text(encoding="ascii").split() for path in Path("/proc/self/task").glob("*/children")]
    children = {int(child) for children in listed for child in children}
    return [pid for pid in children if b"testbed.sweeps.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_process_that_dies_takes_one_point_along_and_says_how() -> None:
    killed = list[int]()

    def kill_the_first() -> None:
        while not killed:
            for pid in workers_of_this_process():
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            time.sleep(0.01)

    points = make_points(sweep_of(axes=["faults.loss.rate=0,5%"]))
    killer = threading.Thread(target=kill_the_first)
    killer.start()
    outcomes = dict(compute_locally(points, 1))
    killer.join()
    assert outcomes[0]["status"] == "failed"
    assert outcomes[0]["reason"] == "its process ended with signal SIGKILL"
    assert outcomes[1]["verdict"] == "pass", "the next ones run in another process"


def test_a_program_of_ones_own_that_ends_its_process_is_a_failed_point(tmp_path: Path) -> None:
    program = tmp_path / "deadly.py"
    program.write_text(
        "import os\nfrom switch_nodes.netreduce import NetReduceProgram\n\n"
        "class Deadly(NetReduceProgram):\n    def receive_frame(self, port, frame, now):\n        os._exit(3)\n",
        encoding="utf-8",
    )
    done = run(sweep_of("rack", axes=[f"switch.program=netreduce,{program}:Deadly"]), tmp_path / "sweep")
    assert [outcome.verdict for outcome in done.outcomes] == ["pass", ""]
    assert "class Deadly: the program's own code ended its process" in done.outcomes[1].reason
    assert done.exit_code == 2


def test_who_stops_early_leaves_no_process() -> None:
    points = make_points(sweep_of(axes=["faults.loss.rate=0,5%,6%,7%"]))
    going = compute_locally(points, 2)
    next(going)
    going.close()  # type: ignore[attr-defined]
    assert workers_of_this_process() == []


def test_an_axis_of_the_command_line_takes_the_place_of_the_files(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "name: mine\nscenarios: [near.yaml, rack]\nset: {job.size: 8kB}\naxes: {topology.hosts: [2, 3], "
        "transport.verb: [send, write]}\nseeds: [4]\n"
        "variants:\n  plain:\n  ring: {protocol: ring}\n  slow: {topology.link.rate: 1Mbps}\n",
        encoding="utf-8",
    )
    (tmp_path / "near.yaml").write_text(
        "name: near\ntopology: {kind: rack, hosts: 3}\nworld: simulated\n", encoding="utf-8"
    )
    sweep = load_sweep([str(file)], SweepWords(axes=["topology.hosts=4"]))
    assert isinstance(sweep, ScenarioSweep)
    assert dict(sweep.axes) == {"topology.hosts": (4,), "transport.verb": ("send", "write")}
    assert sweep.scenarios == (str(tmp_path / "near.yaml"), "rack")
    assert [variant.label for variant in sweep.variants] == ["plain", "ring", "slow"]
    assert sweep.variant_name == "variant"
    points = make_points(sweep)
    assert len(points) == 2 * 3 * 2
    assert "rate: 1Mbps" in points[4].text
    assert "protocol: ring" in points[2].text


def test_a_file_names_no_code_to_run(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "name: mine\nscenarios: [rack]\naxes: {switch.program: [netreduce, 'mine.py:Mine']}\n", encoding="utf-8"
    )
    with pytest.raises(ScenarioError, match=r"switch\.program: a scenario file cannot name code to run"):
        make_points(load_sweep([str(file)], SweepWords(worlds=["simulated"])))  # type: ignore[arg-type]
    file.write_text("name: mine\nscenarios: [rack]\nset: {switch.program: 'mine.py:Mine'}\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="a scenario file cannot name code to run"):
        make_points(load_sweep([str(file)], SweepWords(seeds=2, overrides=["job.size=8kB"])))  # type: ignore[arg-type]


def test_a_parameter_of_models_is_an_axis_too(tmp_path: Path) -> None:
    sweep = load_sweep(["netreduce-scale"], SweepWords(axes=["gpus={from: 32, to: 64, factor: 2}", "alpha=1us"]))
    assert not isinstance(sweep, ScenarioSweep)
    assert dict(sweep.axes)["gpus"] == (32, 64)
    assert dict(sweep.axes)["alpha"] == (1000,)


def test_a_failing_verdict_is_an_outcome_and_ends_with_1(tmp_path: Path) -> None:
    done = run(sweep_of("rack", axes=["time_limit=1ms,10s"], overrides=["job.size=400kB"]), tmp_path)
    assert [outcome.verdict for outcome in done.outcomes] == ["fail", "pass"]
    assert done.exit_code == 1
    assert done.outcomes[0].reason.startswith("liveness: ")
    assert groups_of(done)[0].summary("duration_s") is None, "a wrong run has no speed"


def test_an_expected_failure_is_as_expected(tmp_path: Path) -> None:
    done = run(sweep_of("worker-killed", seeds=2, overrides=()), tmp_path)
    assert {outcome.verdict for outcome in done.outcomes} == {"fail"}
    assert done.exit_code == 0


def test_without_root_points_in_real_time_fail_and_others_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from testbed.runs import needs

    monkeypatch.setattr(needs, "is_root", lambda: False)
    done = run(sweep_of("rack", worlds=["simulated", "emulated"], overrides=["job.size=8kB"]), tmp_path)
    assert [outcome.status for outcome in done.outcomes] == ["done", "failed"]
    assert done.outcomes[1].reason.startswith("this machine lacks root")
    assert run(sweep_of("rack", worlds=["simulated", "emulated"], overrides=["job.size=8kB"]), tmp_path).reused == 1


def test_a_point_is_judged_alike_from_memory_and_from_files(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = load_scenario("rack-lossy", ["job.size=100kB"], 3, "simulated")
    document = run_module.judge_scenario(scenario, "tb")
    monkeypatch.setattr(run_module, "_memory_taps", lambda plan: None)
    assert run_module.judge_scenario(scenario, "tb") == document
    assert {"pass"} == {check["verdict"] for check in document["checks"] if check["name"] == "transparency"}
