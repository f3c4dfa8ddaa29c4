"""What the CI of others reads: exit codes by expectation, JUnit, documents of validate, list and replay."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from testbed.cli import main
from testbed.scenario import builtin_names

_SHORT = ["--world", "simulated", "--set", "job.size=40kB"]


def failures(folder: Path) -> list[str | None]:
    root = ElementTree.parse(folder / "junit.xml")
    return [found.get("message") for found in root.iter() if found.tag in ("failure", "error")]


def test_an_expected_failure_ends_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "worker-killed", "--world", "simulated"]
    assert main([*words, "--out", str(tmp_path / "plain")]) == 1
    assert failures(tmp_path / "plain")
    assert main([*words, "--expect", "--out", str(tmp_path / "expected")]) == 0
    assert failures(tmp_path / "expected") == []
    told = capsys.readouterr()
    progress = r"^ *[\d.]+ (?:[num]?s)  .*\n"
    assert re.sub(progress, "", told.err, flags=re.MULTILINE) == ""
    *_, report, folder, _captures = told.out.splitlines()
    assert report == f"Report:        {tmp_path}/expected/report.html"
    assert folder == f"Run directory: {tmp_path}/expected"


@pytest.mark.parametrize(
    ("changes", "came"), [(["--set", "expect=fail"], "pass"), (["--set", "time_limit=1ms"], "fail")]
)
def test_another_verdict_ends_with_1_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: list[str], came: str
) -> None:
    assert main(["run", "rack", *_SHORT, *changes, "--expect", "--out", str(tmp_path / "run")]) == 1
    wanted = "fail" if came == "pass" else "pass"
    assert capsys.readouterr().err.splitlines()[-1] == f"tb run: rack: {came}, and {wanted} was expected"
    assert f"{came}, and {wanted} was expected" in failures(tmp_path / "run")


def test_junit_has_the_time_that_the_run_took(tmp_path: Path) -> None:
    assert main(["-q", "run", "rack", *_SHORT, "--out", str(tmp_path / "run")]) == 0
    suite = ElementTree.parse(tmp_path / "run" / "junit.xml").find("testsuite")
    assert suite is not None
    assert float(suite.get("time", "0")) > 0
    assert sum(float(case.get("time", "0")) for case in suite.findall("testcase")) == float(suite.get("time", "0"))


def test_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {
        "schema",
        "scenarios",
        "topologies",
        "programs",
        "protocols",
        "transports",
        "planners",
        "sweeps",
        "faults",
    }
    assert document["schema"] == 2
    assert [each["name"] for each in document["scenarios"]] == list(builtin_names())
    assert all(each["meaning"] for kind, found in document.items() if kind != "schema" for each in found)
    assert main(["list", "faults", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"schema", "faults"}


def test_validate_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "rack-lossy", "--json", "--set", "time_limit=1ms"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    document = json.loads(told.out)
    assert document["valid"]
    assert document["resolved"]["faults"][0]["rate"] == "1%"
    assert document["time"]["least_s"] > 0.001
    assert "time_limit: 1ms is over before the job can be" in document["warnings"][0]


def test_validate_tells_every_problem_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("name: bad\ntopology: {kind: rack, hosts: 1}\nsedd: 3\n", encoding="utf-8")
    assert main(["validate", str(file), "--json"]) == 64
    told = capsys.readouterr()
    assert told.err == ""
    document = json.loads(told.out)
    assert not document["valid"]
    assert [(each["line"], each["key"]) for each in document["problems"]] == [(2, "topology.hosts"), (3, "sedd")]
    assert all(each["file"] == str(file) and each["allowed"] for each in document["problems"])
    assert main(["validate", "rakc", "--json"]) == 64
    assert json.loads(capsys.readouterr().out)["problems"][0]["found"] == "'rakc'"


def test_replay_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-q", "run", "rack", *_SHORT, "--out", str(tmp_path / "run")]) == 0
    assert main(["replay", str(tmp_path / "run"), "--json", "--out", str(tmp_path / "again")]) == 0
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert (document["verdict"], document["differences"], document["exit_code"]) == ("pass", [], 0)
    assert [text.split()[-1] for text in document["compared"][:1]] == ["results"]
    assert "Verdict: PASS" in told.err
