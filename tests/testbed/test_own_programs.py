"""The programs of the guide, each a file of a user's, named on the command line."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from switch_nodes.events import SwitchStatistics
from testbed.checkers import CheckContext, run_checks
from testbed.cli import main
from testbed.history import sort_history
from testbed.history.verdict import Verdict
from testbed.plan import make_plan
from testbed.report.junit import junit_xml
from testbed.runs.run import read_result
from testbed.scenario import load_scenario
from testbed.worlds.simulated import simulate

_GUIDE = Path(__file__).resolve().parents[2] / "docs" / "programs.md"
_MOST_LINES = 60


def program(name: str) -> str:
    """The file that has this class, in the guide or linked from it."""
    guide = _GUIDE.read_text(encoding="utf-8")
    files: list[str] = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    linked = re.findall(r"\((\.\./tests/data/programs/\w+\.py)\)", guide)
    files += [(_GUIDE.parent / path).read_text(encoding="utf-8") for path in linked]
    (text,) = [file for file in files if f"class {name}(" in file]
    return text


@pytest.mark.parametrize(
    ("scenario", "name", "told"),
    [("switchml-lossy", "Endless", "BlockReplayed"), ("rack-lossy", "Counting", "MessageAggregated")],
)
def test_a_program_in_one_file_serves_a_lossy_job(tmp_path: Path, scenario: str, name: str, told: str) -> None:
    (tmp_path / "mine.py").write_text(program(name), encoding="utf-8")
    overrides = [f"switch.program={tmp_path / 'mine.py'}:{name}", "job.size=60kB", "job.iterations=1"]
    plan = make_plan(load_scenario(scenario, overrides, 1, "simulated"))
    history = sort_history(simulate(plan))
    assert any(record.name == told for record in history)
    (statistics,) = [record.event.counters for record in history if isinstance(record.event, SwitchStatistics)]
    if name == "Counting":
        assert all(statistics[f"from_port_{port}"] > 0 for port in range(len(plan.workers)))
    results = run_checks(CheckContext(plan, history)).results
    assert {result.name: result.detail for result in results if result.verdict is Verdict.FAIL} == {}
    assert {result.name: result.verdict for result in results}["bit_exact"] is Verdict.PASS


@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize(
    ("act", "text"),
    [("raise ValueError('no')", "ValueError: no"), ("raise SystemExit(0)", "SystemExit: 0")],
)
def test_a_run_whose_program_fails_says_where_and_that_it_is_the_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], act: str, text: str, options: list[str]
) -> None:
    file = tmp_path / "mine.py"
    verb = f"    def receive_frame(self, port, frame, now):\n        {act}\n"
    file.write_text(f"from switch_nodes.switchml import SwitchMlProgram\n\nclass Mine(SwitchMlProgram):\n{verb}")
    words = [
        "run",
        "switchml",
        "--world",
        "simulated",
        "--set",
        f"switch.program={file}:Mine",
        "--set",
        "job.size=20kB",
    ]
    assert main([*words, "--out", str(tmp_path / "run"), "-q", *options]) == 64
    failed = "the program's own code failed on switch s1 in receive_frame"
    assert capsys.readouterr() == ("", f"tb: {file}:5: class Mine: {failed}: {text}\n")


SWITCHML = "import os\nfrom switch_nodes.switchml import SwitchMlProgram\n\nclass Mine(SwitchMlProgram):\n"
ENDS = "the program's own code ended its process"
FAILS = "the program's own code failed on switch s1 in"


@pytest.mark.parametrize("world", ["simulated", pytest.param("emulated", marks=pytest.mark.root)])
@pytest.mark.parametrize(
    ("verb", "act", "told"),
    [
        ("receive_frame(self, port, frame, now)", "os._exit(0)", f"class Mine: {ENDS}"),
        ("__init__(self, config)", "os._exit(0)", f"class Mine: {ENDS}"),
        ("finish(self, now)", "os._exit(3)", f"class Mine: {ENDS}"),
        ("receive_frame(self, port, frame, now)", "raise KeyboardInterrupt",
            f":6: class Mine: {FAILS} receive_frame: KeyboardInterrupt"),
        ("receive_frame(self, port, frame, now)", "raise BaseException('x')",
            f":6: class Mine: {FAILS} receive_frame: BaseException: x"),
        ("receive_frame(self, port, frame, now)", "self.emit(0, bytes(100_000))",
            ("receive_frame: ValueError: a frame of 100,000 bytes was sent to port 0; an Ethernet frame has 65,549 at "
            "most")),
        ("get_timer(self)", "return float('nan')", (f"{FAILS} get_timer: TypeError: get_timer gave nan, which is no "
                                                    "int "
                                                   "(nanoseconds) or None")),
        ("get_timer(self)", "return 1 << 70", (f"{FAILS} get_timer: ValueError: get_timer gave 1180591620717411303424, "
                                              "which is no time within 2^63 ns")),
        ("finish(self, now)", "self.tell(Odd(float('nan')))", ("the fields of event Odd are no JSON values: Out of "
                                                              "range float values are not JSON compliant")),
    ],
)  # fmt: skip
def test_both_worlds_end_the_same_and_say_that_it_is_the_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], world: str, verb: str, act: str, told: str
) -> None:
    file = tmp_path / "mine.py"
    odd = "\nfrom dataclasses import dataclass\n@dataclass\nclass Odd:\n    what: float\n"
    file.write_text(f"{SWITCHML}    def {verb}:\n        {act}\n{odd}")
    words = [
        "run",
        "switchml",
        "--world",
        world,
        "--set",
        f"switch.program={file}:Mine",
        "--set",
        "job.size=20kB",
        "--set",
        "dilation=1",
    ]
    assert main([*words, "--out", str(tmp_path / "run"), "-q"]) == 64
    out, errors = capsys.readouterr()
    assert out == ""
    assert errors.startswith(f"tb: {file}:")
    assert told in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize("world", ["simulated", pytest.param("emulated", marks=pytest.mark.root)])
def test_a_file_that_ends_the_process_when_it_is_loaded_passes_nowhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], world: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"import os\nos._exit(0)\n{SWITCHML}    pass\n")
    own = ["--set", f"switch.program={file}:Mine", "--set", "dilation=1"]
    assert main(["run", "switchml", "--world", world, *own, "--out", str(tmp_path / "run"), "-q"]) == 64
    assert f"class Mine: {ENDS}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("place", "code", "told"), [("module", 64, f"class Mine: {ENDS}"), ("verb", 1, "ended its process (exit code 0)")]
)
def test_a_hunt_is_not_ended_by_what_it_hunts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str, code: int, told: str
) -> None:
    file = tmp_path / "mine.py"
    verb = "    def receive_frame(self, port, frame, now):\n        os._exit(0)\n"
    file.write_text(f"import os\nos._exit(0)\n{SWITCHML}    pass\n" if place == "module" else SWITCHML + verb)
    own = ["--set", f"switch.program={file}:Mine", "--set", "job.size=20kB"]
    words = ["hunt", "switchml", *own, "--schedules", "2", "--jobs", "1", "--out", str(tmp_path / "hunt")]
    assert main(words) == code
    assert told in "".join(capsys.readouterr())


def test_a_run_replays_by_its_command_and_by_tb_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, first = tmp_path / "mine.py", tmp_path / "first one"
    file.write_text(program("Endless"), encoding="utf-8")
    own = ["--set", f"switch.program={file}:Endless"]
    words = ["run", "switchml-lossy", "--world", "simulated", *own, "--set", "job.size=20kB", "-q"]
    assert main([*words, "--set", "job.iterations=1", "--out", str(first)]) == 0
    document = read_result(first)
    command = shlex.split(document["replay"])
    assert command == ["tb", "run", f"{first}/scenario.yaml", *own]
    checks = [{"name": "c", "verdict": "fail", "detail": "", "evidence": []}]
    assert f"replay: {document['replay']}" in junit_xml({**document, "checks": checks})
    # The file loads, with the program of ours that serves the collective.
    assert load_scenario(str(first / "scenario.yaml")).switch.program == "switchml"
    assert main([*command[1:], "-q", "--out", str(tmp_path / "second")]) == 0
    same = [(folder / "history.jsonl").read_bytes() for folder in (first, tmp_path / "second")]
    assert same[0] == same[1]
    capsys.readouterr()
    assert main(["replay", str(first), *own, "-q", "--out", str(tmp_path / "third")]) == 0
    assert capsys.readouterr().out.endswith("; no differences\n")
    assert main(["replay", str(first), "-q"]) == 64
    refused = "ran with a program of your own, which only a command line can name"
    found = f"found {file}:Endless; allowed: with {shlex.join(own)}"
    assert capsys.readouterr() == ("", f"tb: {first}: switch.program: {refused}; {found}\n")
    assert main(["replay", str(first), "--set", "job.size=4kB"]) == 64
    assert (
        "tb: --set: a replay changes nothing but the switch program and the protocol; found 'job.size=4kB'; "
        in capsys.readouterr().err
    )
    # A program of ours instead, asked for: it runs, and is seen to be another one.
    out = str(tmp_path / "fourth")
    assert main(["replay", str(first), "--set", "switch.program=switchml", "-q", "--out", out]) == 1
    assert "differs: history" in capsys.readouterr().out


def test_the_files_are_short() -> None:
    assert len(program("Endless").splitlines()) <= _MOST_LINES
