from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from testbed.captures.pcapng import read_capture
from testbed.cli import main
from testbed.history import read_history
from testbed.runs import run
from testbed.runs.run import create_world, read_result, run_scenario, world_names
from testbed.scenario import load_scenario
from tests.support.records import a_record
from workloads.errors import ScenarioError


@pytest.fixture
def scenario() -> Any:
    return load_scenario("data-middle-lost", world="simulated")


def test_a_run_directory_holds_what_is_promised(scenario: Any, tmp_path: Path) -> None:
    result = run_scenario(scenario, tmp_path / "run")
    names = {path.name for path in result.run_dir.iterdir()}
    assert names == {"scenario.yaml", "history.jsonl", "result.json", "junit.xml", "report.html"}
    assert read_result(result.run_dir) == json.loads(json.dumps(result.document))
    assert list(read_history(result.run_dir / "history.jsonl")) == result.history
    assert load_scenario(str(result.run_dir / "scenario.yaml")) == scenario


def test_pcap_keeps_a_capture_per_link(scenario: Any, tmp_path: Path) -> None:
    result = run_scenario(scenario, tmp_path / "run", pcap=True)
    links = {path.stem for path in (result.run_dir / "pcap").iterdir()}
    assert links == {link.name for link in scenario.topology.links}


def test_a_run_that_did_not_pass_keeps_its_captures_and_says_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = ["run", "rack", "--world", "simulated", "--set", "job.size=40kB", "--set", "time_limit=1ms"]
    assert main([*failing, "--out", str(tmp_path / "failed")]) == 1
    assert read_capture(tmp_path / "failed" / "s1.pcapng", [])
    *_, folder, captures = capsys.readouterr().out.splitlines()
    assert folder == f"Run directory: {tmp_path / 'failed'}"
    assert captures == "Captures:      s1.pcapng in there"
    assert main([*failing[:-2], "--out", str(tmp_path / "passed")]) == 0
    assert not list((tmp_path / "passed").glob("*.pcapng"))
    assert capsys.readouterr().out.splitlines()[-1].startswith("Run directory: ")


def test_an_observer_hears_every_record(scenario: Any, tmp_path: Path) -> None:
    heard: list[Any] = []
    result = run_scenario(scenario, tmp_path / "run", observer=lambda plan: heard.append)
    assert sorted(map(str, heard)) == sorted(map(str, result.history))


def test_runs_of_one_second_get_directories_of_their_own_and_latest_points_at_the_newest(
    scenario: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run.time, "strftime", lambda layout, *when: "20300101-000000")
    first, second = (run_scenario(scenario).run_dir for _ in range(2))
    assert [first.name, second.name] == [f"20300101-000000-data-middle-lost-{scenario.seed}{end}" for end in ("", "-1")]
    assert (tmp_path / "runs" / "latest").resolve() == second


def test_a_directory_in_use_is_refused_and_left_alone(scenario: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(ScenarioError, match="is not an empty directory"):
        run_scenario(scenario, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_directory_that_cannot_be_made_is_refused(
    scenario: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ScenarioError, match=r"--out: cannot be written: .*; found /proc/none/x"):
        run_scenario(scenario, Path("/proc/none/x"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").write_text("in the way")
    with pytest.raises(ScenarioError, match="runs: cannot be written: Not a directory; found "):
        run_scenario(scenario)


def test_what_was_recorded_before_a_world_broke_is_kept(
    scenario: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Breaks:
        name = "simulated"

        def run(self, plan: Any, run_dir: Path, on_record: Any) -> Any:
            on_record(a_record(1, "world", "TrafficStarted", nodes=5))
            raise OSError("the wire was cut")

    monkeypatch.setitem(run._WORLDS, "simulated", Breaks)
    with pytest.raises(OSError, match="the wire was cut"):
        run_scenario(scenario, tmp_path / "run")
    assert [record.t for record in read_history(tmp_path / "run" / "history.jsonl")] == [1]
    with pytest.raises(ScenarioError, match="this run did not end"):
        read_result(tmp_path / "run")


def test_an_unknown_world_is_named_with_those_that_are_there() -> None:
    with pytest.raises(ScenarioError) as caught:
        create_world("reel")
    assert str(caught.value) == f"scenario: world: no such world; found 'reel'; allowed: {', '.join(world_names())}"
