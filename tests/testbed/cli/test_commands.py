"""What each command hands to its engine, and what it prints."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from testbed.cli import main
from testbed.cli.console import Console
from testbed.scenario import builtin_names, load_scenario, parse_scenario
from testbed.scenario.fault_schema import FAULT_KINDS
from tests.support.fake_modules import install_fake


@pytest.fixture(autouse=True)
def as_root(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@dataclass
class _Engine:
    """Answers like `run_scenario` and remembers what it was asked."""

    exit_code: int = 0
    asked: tuple[Any, ...] = ()

    def __call__(self, *args, **named):
        self.asked = (*args, named) if named else args
        return SimpleNamespace(exit_code=self.exit_code, document={"schema": 1, "verdict": "pass"})


@pytest.fixture
def engine(monkeypatch):
    engine = _Engine()
    install_fake(monkeypatch, "testbed.run", run_scenario=engine)
    install_fake(monkeypatch, "testbed.demo", run_demo=engine)
    install_fake(monkeypatch, "testbed.report.document", to_json=lambda document: json.dumps(document, indent=2) + "\n")
    return engine


@pytest.mark.parametrize("code", [0, 1, 2])
def test_run_ends_with_the_code_of_the_verdict(engine, code):
    engine.exit_code = code
    assert main(["run", "rack"]) == code


def test_run_hands_over_the_whole_command_line(engine, capsys):
    words = ["-q", "run", "rack", "--seed", "0x10", "--set", "topology.hosts=8", "--set", "job.dtype=int32",
             "--world", "simulated", "--out", "there", "--pcap", "--no-color"]  # fmt: skip
    assert main(words) == 0
    scenario, out, pcap, reporter = engine.asked
    assert scenario == load_scenario("rack", ["topology.hosts=8", "job.dtype=int32"], 16, "simulated")
    assert (out, pcap) == (Path("there"), True)
    assert reporter == Console(sys.stdout, -1, True)
    assert capsys.readouterr().out == ""


def test_json_is_alone_on_stdout(engine, capsys):
    assert main(["run", "rack", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"schema": 1, "verdict": "pass"}
    assert engine.asked[3].stream is sys.stderr


@pytest.mark.parametrize(("words", "level"), [(["-v"], 1), (["-vv"], 2), ([], 0)])
def test_verbosity_may_stand_before_and_after_the_command(engine, words, level):
    assert main([*words, "run", "rack"]) == 0
    assert engine.asked[3].verbosity == level
    assert main(["run", "rack", *words]) == 0
    assert engine.asked[3].verbosity == level


def test_demo_has_the_figures_of_the_issue_as_defaults(engine):
    assert main(["demo"]) == 0
    named = engine.asked[0]
    assert (named["hosts"], named["loss"], named["seed"], named["out"], named["pcap"]) == (4, 0.01, 1, None, False)
    assert main(["demo", "--hosts", "8", "--loss", "3%", "--seed", "7"]) == 0
    named = engine.asked[0]
    assert (named["hosts"], named["loss"], named["seed"]) == (8, 0.03, 7)


def test_replay_takes_a_run_directory(monkeypatch, tmp_path):
    install_fake(monkeypatch, "testbed.replay", replay=lambda run_dir: 2 if run_dir == tmp_path else 70)
    (tmp_path / "scenario.yaml").write_text("name: x\ntopology: {kind: rack, hosts: 2}\n", encoding="utf-8")
    assert main(["replay", str(tmp_path)]) == 2


def test_bench_hands_over_its_name(monkeypatch):
    asked = []
    install_fake(monkeypatch, "testbed.bench", run_bench=lambda name, as_json: asked.append((name, as_json)))
    assert main(["bench", "allreduce", "--json"]) == 0
    assert asked == [("allreduce", True)]


def test_cleanup_tells_what_it_removed(monkeypatch, capsys):
    asked = []

    def clean(run_id):
        asked.append(run_id)
        return ("folder x",) if run_id else ()

    install_fake(monkeypatch, "testbed.cleanup", clean=clean)
    assert main(["cleanup"]) == 0
    assert main(["cleanup", "--run", "r1"]) == 0
    assert asked == [None, "r1"]
    assert capsys.readouterr().out == "nothing of ours was left\nremoved folder x\n"


def test_list_shows_everything_or_one_kind(capsys):
    assert main(["list", "faults"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(FAULT_KINDS)
    assert main(["list"]) == 0
    text = capsys.readouterr().out
    for heading in ("scenarios:", "topologies:", "programs:", "collectives:", "faults:"):
        assert f"{heading}\n" in text
    for name in builtin_names():
        assert f"  {name} " in text
    assert "(expect: fail)" in text


def test_validate_says_what_a_scenario_means(capsys):
    assert main(["validate", "psn-wrap"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "psn-wrap: valid (playbooks/scenarios/psn-wrap.yaml)",
        "  world     emulated, seed 1, at most 20s",
        "  network   rack of 4 hosts, 100Mbps links, MTU 1500",
        "  job       netreduce, 1 x synthetic gradient of 400kB, sum of float32",
        "  messages  14 per connection, 392 packets of at most 1088 bytes; window 4 x 32 packets",
        "  fault     data (drop)",
        "  fault     result (drop)",
        "  expect    pass",
    ]


def test_validate_resolved_is_a_scenario_file(capsys):
    assert main(["validate", "rack-lossy", "--resolved", "--set", "topology.hosts=6"]) == 0
    text = capsys.readouterr().out
    assert parse_scenario(text, "x.yaml") == load_scenario("rack-lossy", ["topology.hosts=6"])


def test_test_runs_every_step_and_fails_when_one_does(monkeypatch, capsys):
    commands = []

    def run(command, cwd, check):
        commands.append(command[3:])
        return SimpleNamespace(returncode=2 if command[3] == "mypy" else 0)

    monkeypatch.setattr("subprocess.run", run)
    assert main(["test", "-k", "wire and not slow", "-q", "--maxfail=1"]) == 1
    assert commands == [
        ["ruff", "check"],
        ["ruff", "format", "--check"],
        ["mypy"],
        ["pytest", "-k", "wire and not slow", "-q", "--maxfail=1"],
    ]
    out = capsys.readouterr().out
    assert "== pytest -k 'wire and not slow' -q --maxfail=1\n" in out
    assert out.endswith("== failed: mypy (exit 2)\n")


def test_test_passes_when_all_steps_do(monkeypatch, capsys):
    monkeypatch.setattr("subprocess.run", lambda *args, **named: SimpleNamespace(returncode=0))
    assert main(["test"]) == 0
    assert capsys.readouterr().out.endswith("== all passed\n")
