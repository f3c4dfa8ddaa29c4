"""What each command hands to its engine, and what it prints."""

from __future__ import annotations

import json
import os
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from testbed.bench.options import BenchOptions
from testbed.cli import main
from testbed.cli.console import Console
from testbed.cli.parsing import make_parser
from testbed.faults.kinds import FAULT_KINDS
from testbed.faults.model import Loss
from testbed.plan import make_plan
from testbed.plan import plan as planning
from testbed.plan.background import plan_background
from testbed.scenario import builtin_names, load_scenario, parse_scenario
from testbed.sweeps import builtin_sweeps, describe_sweep
from tests.support.fake_modules import install_fake


@pytest.fixture(autouse=True)
def as_root(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@dataclass
class _Engine:
    """Answers like `run_scenario` and remembers what it was asked."""

    exit_code: int = 0
    asked: tuple[Any, ...] = ()
    summaries: int = 0

    def __call__(self, scenario, out, pcap, observer, plan=None, **more):
        assert plan == (None if scenario is None else make_plan(scenario))
        self.asked = (scenario, out, pcap, observer)
        return SimpleNamespace(
            exit_code=self.exit_code, document={"verdict": "pass"}, run_dir=Path("runs/x"), captures=()
        )

    def summary(self, document, stream, no_color):
        self.summaries += 1
        print("the summary", file=stream)


@pytest.fixture
def engine(monkeypatch):
    engine = _Engine()
    install_fake(monkeypatch, "testbed.runs.run", run_scenario=engine)
    install_fake(monkeypatch, "testbed.report.terminal", print_summary=engine.summary, wants_color=lambda *_: False)
    return engine


@pytest.mark.parametrize("code", [0, 1, 2])
def test_run_ends_with_the_code_of_the_verdict(engine, code, capsys):
    engine.exit_code = code
    assert main(["run", "rack"]) == code
    assert capsys.readouterr().out == "the summary\nReport:        runs/x/report.html\nRun directory: runs/x\n"


def test_run_hands_over_the_whole_command_line(engine, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a crash report would go to `there`
    words = ["-q", "run", "rack", "--seed", "0x10", "--set", "topology.hosts=8", "--set", "job.dtype=int32",
             "--world", "simulated", "--out", "there", "--pcap"]  # fmt: skip
    assert main(words) == 0
    scenario, out, pcap, observer = engine.asked
    assert scenario == load_scenario("rack", ["topology.hosts=8", "job.dtype=int32"], 16, "simulated")
    assert (out, pcap, observer) == (Path("there"), True, None)
    assert capsys.readouterr().out == ""


def test_json_is_alone_on_stdout(engine, capsys):
    assert main(["run", "rack", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == {"verdict": "pass"}
    assert "the summary" in err


@pytest.mark.parametrize(("words", "level"), [(["-v"], 1), (["-vv"], 2), ([], 0), (["-q"], -1)])
def test_verbosity_may_stand_before_and_after_the_command(words, level):
    for line in ([*words, "run", "rack"], ["run", "rack", *words]):
        parser = make_parser("run")
        assert Console.of(parser.parse_args(line)).verbosity == level


@pytest.fixture
def demo(engine, monkeypatch):
    """The demo chooses 7, and notes how long it was told that the traffic lasts."""
    engine.lasts = []
    choose = lambda plan, say, traffic_s: engine.lasts.append(traffic_s) or 7  # noqa: E731
    monkeypatch.setattr("testbed.runs.attempts.choose_for_machine", choose)
    monkeypatch.setattr(os, "setpriority", lambda *_: None)
    return engine


def test_demo_chooses_the_factor_before_its_one_run_and_suggests_what_to_try(demo, capsys):
    assert main(["demo"]) == 0
    assert demo.asked[0].dilation == 7
    assert demo.lasts == [pytest.approx(0.33, abs=0.05)]
    head, *suggested = capsys.readouterr().out.splitlines()[-7:]
    assert head == "What to try next:"
    for what, line in zip(suggested[::2], suggested[1::2], strict=True):
        assert what.endswith(":")
        words = shlex.split(line.strip().removeprefix("sudo "))
        assert words[0] == "./tb"
        if words[1] != "train":
            assert main([*words[1:], "--help"]) == 0


def test_demo_keeps_a_factor_of_the_users(demo):
    assert main(["demo", "-q", "--dilation", "3"]) == 0
    assert (demo.asked[0].dilation, demo.lasts) == (3, [])


def test_demo_has_the_figures_of_the_readme_as_defaults(demo):
    engine = demo
    assert main(["demo", "-q"]) == 0
    scenario = engine.asked[0]
    assert scenario == replace(load_scenario("demo"), dilation=7)
    loss = scenario.faults[0]
    assert isinstance(loss, Loss)
    assert (len(scenario.topology.hosts), scenario.seed, loss.rate, len(loss.directions)) == (4, 1, 0.01, 2)


def test_demo_takes_other_figures(demo):
    engine = demo
    assert main(["demo", "-q", "--hosts", "8", "--loss", "3%", "--seed", "7"]) == 0
    scenario = engine.asked[0]
    assert (len(scenario.topology.hosts), scenario.seed, scenario.faults[0].rate) == (8, 7, 0.03)
    assert main(["demo", "-q", "--loss", "0"]) == 0
    loss, *others = engine.asked[0].faults
    assert (loss.name, loss.rate) == ("lossy-links", 0.0), "expected not to hit"
    assert tuple(others) == load_scenario("demo").faults[1:]


def test_replay_takes_a_run_directory(monkeypatch, engine, tmp_path, capsys):
    result = engine(None, None, False, None)
    comparison = SimpleNamespace(result=result, compared=("faults",), differences=("one more",), exit_code=2)
    recorded = SimpleNamespace(scenario=SimpleNamespace(world="emulated"))
    install_fake(
        monkeypatch,
        "testbed.runs.replay",
        read_run=lambda run_dir, world, overrides: recorded,
        replay=lambda before, out, observer, realised: comparison if before is recorded else None,
    )
    (tmp_path / "scenario.yaml").write_text("name: x\ntopology: {kind: rack, hosts: 2}\n", encoding="utf-8")
    assert main(["replay", str(tmp_path)]) == 2
    assert "differs: one more\n" in capsys.readouterr().out


def test_bench_hands_over_its_name_and_options(monkeypatch):
    asked = []
    install_fake(
        monkeypatch,
        "testbed.bench",
        BenchOptions=BenchOptions,
        bench_world=lambda name, world: world or "emulated",
        run_bench=lambda name, as_json, world, options: asked.append((name, as_json, world, options)) or 0,
    )
    assert main(["bench", "allreduce", "--json"]) == 0
    assert main(["bench", "hierarchical", "--world", "simulated"]) == 0
    assert main(["bench", "ina", "--emulated"]) == 0
    assert main(["bench", "ina", "--quick", "--jobs", "2", "--seeds", "5", "--csv", "a.csv"]) == 0
    assert main(["bench", "grid", "--world", "simulated", "--slower", "3"]) == 0
    assert asked == [
        ("allreduce", True, "emulated", BenchOptions()),
        ("hierarchical", False, "simulated", BenchOptions()),
        ("ina", False, "emulated", BenchOptions()),
        ("ina", False, "emulated", BenchOptions(quick=True, processes=2, seeds=5, csv=Path("a.csv"))),
        ("grid", False, "simulated", BenchOptions(slower=3)),
    ]


@pytest.mark.parametrize("found", ["0", "1000", "-1", "two"])
def test_a_bench_refuses_numbers_of_runs_that_make_no_sense(capsys, found):
    assert main(["bench", "ina", f"--jobs={found}"]) == 64
    assert f"argument --jobs: found '{found}'; allowed: a whole number from 1 to 999" in capsys.readouterr().err


def test_only_a_bench_of_the_emulated_world_needs_root(monkeypatch, capsys):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    install_fake(
        monkeypatch,
        "testbed.bench",
        BenchOptions=BenchOptions,
        bench_world=lambda name, world: world,
        run_bench=lambda name, as_json, world, options: 0,
    )
    assert main(["bench", "hierarchical", "--world", "simulated"]) == 0
    assert main(["bench", "hierarchical", "--world", "emulated"]) == 3
    assert "root" in capsys.readouterr().err


def test_cleanup_tells_what_it_removed(monkeypatch, capsys):
    asked = []

    def clean(run_id):
        asked.append(run_id)
        return ("folder x",) if run_id else ()

    install_fake(monkeypatch, "testbed.kernel.cleanup", clean=clean)
    assert main(["cleanup"]) == 0
    assert main(["cleanup", "--run", "r1"]) == 0
    assert asked == [None, "r1"]
    assert capsys.readouterr().out == "nothing of the testbed was left\nremoved folder x\n"


def test_list_shows_everything_or_one_kind(capsys):
    assert main(["list", "faults"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(FAULT_KINDS)
    assert main(["list"]) == 0
    text = capsys.readouterr().out
    for heading in ("scenarios:", "topologies:", "programs:", "protocols:", "faults:"):
        assert f"{heading}\n" in text
    for name in builtin_names():
        assert f"  {name} " in text
    assert "(expect: fail)" in text


def test_validate_says_what_a_scenario_means(capsys, monkeypatch):
    monkeypatch.setattr("testbed.estimate.memory.spare_bytes", lambda: 1 << 40)  # nodes may own their pages
    assert main(["validate", "psn-wrap", "--set", "dilation=1"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"  memory    about 51\d MB; [\d.]+ [MG]B are available here", told.pop())
    assert told == [
        "psn-wrap: valid (playbooks/scenarios/psn-wrap.yaml)",
        "  world     emulated, seed 1, at most 20s",
        "  network   rack of 4 hosts, 100Mbps links, MTU 1500",
        "  job       netreduce, 1 x synthetic gradient of 400kB, sum of float32",
        "  messages  14 per connection, 392 packets of at most 1,088 bytes; window 4 x 32 packets",
        "  fault     data (drop)",
        "  fault     result (drop)",
        "  expect    pass",
        "  time      33.8 ms at least (h1-s1 up), about 39.1 ms without faults",
    ]


def test_validate_names_the_file_of_a_model(capsys, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("layer,elements\na,1000\n", encoding="utf-8")
    assert main(["validate", "jobs-8", "--set", f"jobs[0].model={path}"]) == 0
    assert f" x {path} / 1000, " in " ".join(capsys.readouterr().out.split())


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
        ["codespell_lib", "README.md", "docs", "testbed", "switch_nodes", "workloads", "topologies", "playbooks"],
        ["mypy"],
        ["pytest", "-k", "wire and not slow", "-q", "--maxfail=1"],
    ]
    out = capsys.readouterr().out
    assert "== pytest -k 'wire and not slow' -q --maxfail=1\n" in out
    assert out.endswith("== failed: mypy (exit 2)\n")


def test_a_fast_test_says_what_it_leaves_out(monkeypatch, capsys):
    commands = []

    def run(command, cwd, check):
        commands.append(command[3:])
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr("subprocess.run", run)
    assert main(["test", "--fast", "tests/workloads", "-x"]) == 0
    assert [command[:3] for command in commands[:2]] == [["ruff", "check"], ["ruff", "format", "--check"]]
    (tests,) = commands[3:]
    assert tests[:3] == ["pytest", "-m", "quick"]
    assert tests[-2:] == ["tests/workloads", "-x"]
    out = capsys.readouterr().out
    assert "== left out by --fast: mypy; tests that own the machine, that cost 0.1 s and more, and cases after" in out


def test_test_passes_when_all_steps_do(monkeypatch, capsys):
    monkeypatch.setattr("subprocess.run", lambda *args, **named: SimpleNamespace(returncode=0))
    assert main(["test"]) == 0
    assert capsys.readouterr().out.endswith("== all passed\n")


def test_validate_tells_what_a_run_will_take_and_warns(tmp_path, capsys):
    file = tmp_path / "slow.yaml"
    file.write_text(
        "name: slow\ntopology: {kind: rack, hosts: 4, link: {rate: 1Mbps}}\njob: {size: 100MB}\ntime_limit: 5s\n"
    )
    assert main(["validate", str(file)]) == 0
    out, err = capsys.readouterr()
    assert "\n  time      845 s at least (h1-s1 up), about 845 s without faults\n" in out
    assert re.search(r"\n  memory    about 1\.\d+ GB; [\d.]+ [GM]B are available here\n", out)
    assert err == (
        f"tb: {file}: time_limit: 5s is over before the job can be, which takes 845 s at least on h1-s1 up\n"
    )
    huge = ["--set", "topology.hosts=32", "--set", "job.size=4294967296", "--set", "topology.link.rate=10Gbps"]
    assert main(["validate", str(file), *huge]) == 0
    out, err = capsys.readouterr()
    assert re.fullmatch(
        rf"tb: {file}: this machine has [\d.]+ GB of memory available, and a run in the emulated world takes about 29\d GB: "  # noqa: E501
        r"`tb run` refuses it here\n",
        err.splitlines(keepends=True)[-1],
    )
    assert main(["validate", "rack", "--resolved"]) == 0
    out, err = capsys.readouterr()
    assert (out.startswith("name: rack"), err) == (True, "")


def test_a_run_that_cannot_end_in_time_is_said_so_before_it_begins(tmp_path, capsys):
    words = ["--set", "time_limit=10ms", "--world", "simulated", "-q", "--out", str(tmp_path / "run")]
    assert main(["run", "rack", *words]) == 1
    err = capsys.readouterr().err
    assert "time_limit: 10ms is over before the job can be, which takes 169 ms at least on h1-s1 up" in err


def test_a_run_makes_its_plan_once(tmp_path, monkeypatch, capsys):
    made = []
    monkeypatch.setattr(
        planning, "plan_background", lambda scenario: made.append(scenario) or plan_background(scenario)
    )
    words = ["-q", "run", "grid", "--world", "simulated", "--set", "job.size=20kB", "--out", str(tmp_path / "run")]
    assert main(words) == 0
    assert len(made) == 1


def test_a_sweep_is_listed_by_its_title(capsys):
    assert main(["list", "sweeps"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    titles = [describe_sweep(name).splitlines()[0] for name in builtin_sweeps()]
    assert told == " ".join(f"{name} {title}" for name, title in zip(builtin_sweeps(), titles, strict=True))
