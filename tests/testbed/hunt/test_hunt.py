"""`tb hunt` from the command line: going on, errors, a bug found, shrunk and replayed; and the real code, for long."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testbed.cli import main
from testbed.hunt.draw_fabric import FABRIC, RACK
from testbed.hunt.hunt import prepare
from testbed.hunt.runner import CHUNK, Prey, run_hunt
from testbed.hunt.state import ChunkStore
from testbed.runs.codeversion import code_version
from testbed.scenario import load_scenario
from tests.support.selection import some_at_once
from workloads.native.places import NativeStatus

TOP = Path(__file__).resolve().parents[3]
BROKEN = "tests/support/netreduce_mutants.py:NoReplay"


def hunt(*words):
    return main(["hunt", *map(str, words)])


def test_a_second_call_goes_on_and_says_so(tmp_path, capsys):
    out = tmp_path / "h"
    assert hunt("--schedules", 2 * CHUNK, "--seed", 4, "--out", out, "--json") == 0
    whole = json.loads(capsys.readouterr().out)
    lines = (out / "chunks.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 2
    (out / "chunks.jsonl").write_bytes(lines[0] + lines[1][:100])  # as a killed process leaves it
    assert hunt("--schedules", 2 * CHUNK, "--seed", 4, "--out", out, "--json", "--jobs", 2) == 0
    again = capsys.readouterr()
    assert json.loads(again.out) == whole == json.loads((out / "summary.json").read_text())
    assert f"{CHUNK} of {2 * CHUNK} schedules were done before, as {out} shows; going on\n" in again.err
    assert whole["coverage"]["schedules"] == 2 * CHUNK
    assert whole["verdict"] == "pass"


@pytest.mark.minutes
def test_what_other_code_hunted_is_hunted_anew(tmp_path, capsys):
    out = tmp_path / "h"
    assert hunt("--schedules", 2 * CHUNK, "--seed", 4, "--out", out) == 0
    assert "again" not in capsys.readouterr().err
    log = out / "chunks.jsonl"
    first, second = log.read_text().splitlines(keepends=True)
    log.write_text(first.replace(code_version(), "0123456789ab") + second)
    assert hunt("--schedules", 2 * CHUNK, "--seed", 4, "--out", out) == 0
    told = capsys.readouterr().err
    assert f"{CHUNK} of {2 * CHUNK} schedules were hunted by other code, as {out} shows; they are hunted " in told
    assert f"{CHUNK} of {2 * CHUNK} schedules were done before, as {out} shows; going on\n" in told
    assert json.loads((out / "summary.json").read_text())["code"] == {code_version(): 2 * CHUNK}
    assert len(log.read_text().splitlines()) == 3
    assert hunt("--schedules", 2 * CHUNK, "--seed", 4, "--out", out) == 0
    told = capsys.readouterr().err
    assert f"{2 * CHUNK} of {2 * CHUNK} schedules were done before" in told
    assert "anew" not in told


WITH_A_BUG = """from switch_nodes.netreduce.program import NetReduceProgram
from {helper} import BROKEN


class Mine(NetReduceProgram):
    def receive_frame(self, port, frame, now):
        assert not BROKEN
        super().receive_frame(port, frame, now)
"""


@pytest.mark.parametrize("part", some_at_once(["program", "helper"], quick=["helper"]))
def test_neither_a_pass_nor_a_failure_outlives_the_users_program(tmp_path, capsys, monkeypatch, part):
    """A bug goes into a file that passed, out again, and in again; be it the program's file or one that it imports."""
    out, program, name = tmp_path / "h", tmp_path / "mine.py", f"helper_of_{tmp_path.name}_{part}".replace("-", "_")
    program.write_text(WITH_A_BUG.format(helper=name))
    monkeypatch.syspath_prepend(tmp_path)

    def put(broken):
        sys.modules.pop(name, None)
        (tmp_path / f"{name}.py").write_text(f"BROKEN = {broken if part == 'helper' else True}\n")
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        if part == "program":
            text = WITH_A_BUG.format(helper=name)
            program.write_text(text if broken else text.replace("not BROKEN", "BROKEN"))
        answer = hunt("--schedules", 3, "--set", f"switch.program={program}:Mine", "--out", out, "--json")
        told = capsys.readouterr()
        return answer, json.loads(told.out)["verdict"], "3 of 3 schedules were hunted by other code" in told.err

    assert put(broken=False) == (0, "pass", False)
    assert put(broken=True) == (1, "fail", True)
    assert (out / "failure.json").exists()
    assert put(broken=False) == (0, "pass", False)  # this code did pass
    assert not (out / "failure.json").exists()


@pytest.mark.minutes
def test_a_failure_that_other_code_found_is_not_told_again(tmp_path, capsys):
    out = tmp_path / "h"
    words = "--schedules", 200, "--set", f"switch.program={BROKEN}", "--out", out, "--json"
    assert hunt(*words) == 1
    number = json.loads(capsys.readouterr().out)["failure"]["number"]
    kept = json.loads((out / "failure.json").read_text())
    (out / "failure.json").write_text(json.dumps({**kept, "detail": "of old", "code": "0123456789ab"}))
    assert hunt(*words) == 1
    failure = json.loads(capsys.readouterr().out)["failure"]
    assert failure["number"] == number
    assert failure["detail"] == kept["detail"]


def test_what_the_python_reference_hunted_is_hunted_anew_in_c(tmp_path, capsys, monkeypatch):
    out = tmp_path / "h"
    with monkeypatch.context() as patch:
        patch.setattr(
            "testbed.runs.codeversion.native_status", lambda: {"simulator": NativeStatus(False, "no C compiler")}
        )
        assert hunt("--schedules", 3, "--out", out) == 0
    assert hunt("--schedules", 3, "--out", out) == 0
    assert "3 of 3 schedules were hunted by other code" in capsys.readouterr().err


def test_kill_9_loses_nothing_that_was_done(tmp_path):
    out = tmp_path / "h"
    words = [sys.executable, "-m", "testbed", "hunt", "--schedules", "100000", "--jobs", "2", "--out", str(out)]
    process = subprocess.Popen(words, cwd=TOP, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    log = out / "chunks.jsonl"
    try:
        deadline = time.monotonic() + 60
        while not (log.exists() and log.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    done = [json.loads(line) for line in log.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    assert done
    assert {chunk["count"] for chunk in done} == {CHUNK}


def test_ctrl_c_ends_with_130_and_keeps_the_state(tmp_path):
    out = tmp_path / "h"
    words = [sys.executable, "-m", "testbed", "hunt", "--schedules", "100000", "--out", str(out)]
    process = subprocess.Popen(words, cwd=TOP, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not (out / "chunks.jsonl").exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    *signs, last = errors.splitlines()
    assert all(line.startswith("tb hunt: ") for line in signs)
    assert last == f"tb: interrupted; the same command goes on where {out} stands"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "no such scenario"),
        (["worker-killed"], ("cannot be hunted in: it is made to show something else than a pass; found fail; allowed: "
                            "pass")),
        (["mixed-spine-leaf"], "schedules are drawn for one protocol; found netreduce + ring; allowed: the jobs of"),
        (["hierarchical"], ("cannot be hunted in: until when its jobs must have ended is not worked out; found "
                           "parallel_netreduce; allowed: netreduce, atp, binomial_tree, ")),
        (["atp", "--set", "switch.program=forward"], ("cannot be hunted in: nothing is aggregated, so no sum can be "
                                                     "wrong; found forward; allowed: a program that aggregates")),
        (["rack", "--set", "transport.timeout=0"], ("no timeout is set, so one lost packet may stop it; found 0; "
                                                   "allowed: 1 to 31")),
        (["rack", "--set", "transport.retry_count=2"], ("its retries do not outlast recovery, which may take three of "
                                                       "them or more; found 2;")),
        (["rack", "--set", "transport.timeout=11"], "timeouts would expire without any fault"),
        (["--set", "job.size=4"], ("a hunt without a scenario draws everything but code of your own; found "
                                  "'job.size=4'; allowed: switch.program=PATH.py:CLASS, job.protocol=PATH.py:NAME, "
                                  "transport.recovery=RECOVERY, or give a SCENARIO")),
        (["--set", "transport.recovery=sack"], "no schedule is drawn for that recovery; found 'sack'; allowed: gbn"),
        (["--protocol", "atp", "--set", "transport.recovery=irn"], "schedule is drawn for that recovery; found 'irn"),
        (["--set", "switch.program=forward"], "infer the protocol that this switch program serves; found forward"),
        (["rack", "--fabric"], ("--fabric: a scenario has its topology already; found rack; allowed: --fabric, or a "
                               "SCENARIO")),
        (["--fabric", "--protocol", "switchml"], ("--fabric: draws fabrics for NetReduce; found --protocol switchml; "
                                                "allowed: without --protocol, or --protocol netreduce")),
        (["--pfc", "--protocol", "atp"], "--pfc: draws PFC for NetReduce; found --protocol atp; allowed: without"),
        (["rack", "--pfc"], "--pfc: a scenario has its topology already; found rack; allowed: --pfc, or a SCENARIO"),
        (["--pfc", "--guided"], "--pfc: PFC is drawn around random schedules; found --guided; allowed: --pfc, or"),
        (["--pfc", "--fabric"], "argument --fabric: not allowed with argument --pfc"),
        (["--protocol", "forward"], ("--protocol: nothing is drawn for that protocol; found 'forward'; allowed: "
                                    "netreduce, atp, binomial_tree, ")),
        (["switchml", "--protocol", "switchml"], ("--protocol: a scenario has its protocol already; found switchml; "
                                                "allowed: --protocol, or a SCENARIO")),
        (["--protocol", "switchml", "--set", "switch.program=netreduce"],
            "a hunt needs a program that sums; found 'netreduce'; allowed: switchml, or PATH.py:CLASS"),
        (["--schedules", "0"], "argument --schedules: found '0'; allowed: a whole number from 1 to 1000000000"),
        (["--jobs", "999"], "argument --jobs: found '999'; allowed: a whole number from 1 to 256"),
        (["--seed", "-1"], "argument --seed: found '-1'; allowed: a whole number from 0 to 2^63-1"),
    ],
)  # fmt: skip
def test_bad_input(tmp_path, capsys, words, message):
    assert hunt(*words, "--out", tmp_path / "h") == 64
    assert message in capsys.readouterr().err
    assert not (tmp_path / "h").exists()


def test_a_program_file_that_cannot_be_loaded_is_bad_input(tmp_path, capsys):
    file = tmp_path / "own.py"
    file.write_text("import sys\nsys.exit(0)\n")
    assert hunt("--out", tmp_path / "h", "--set", f"switch.program={file}:Own") == 64
    loaded = "switch.program: the program file cannot be loaded: SystemExit: 0"
    assert capsys.readouterr() == ("", f"tb: {file}:2: {loaded}\n")
    assert not (tmp_path / "h").exists()


@pytest.mark.parametrize(
    "line", ["xx", "{}", "[]", "null", '{"first": 0, "count": 0, "coverage": {}}', '{"first": "a"}']
)
def test_a_damaged_log_is_refused_with_its_line(tmp_path, capsys, line):
    out = tmp_path / "h"
    assert hunt("--schedules", 3, "--out", out, "-q") == 0
    with (out / "chunks.jsonl").open("a") as log:
        log.write(line + "\n")
    assert hunt("--schedules", 3, "--out", out, "-q") == 64
    told = (
        f"{out}/chunks.jsonl:2: is no chunk of a hunt; found {line}; allowed: lines that a hunt wrote; another --out "
        "hunts afresh"
    )
    assert told in capsys.readouterr().err


def test_a_damaged_head_is_refused(tmp_path, capsys):
    out = tmp_path / "h"
    assert hunt("--schedules", 3, "--out", out, "-q") == 0
    (out / "hunt.json").write_text("[]")
    assert hunt("--schedules", 3, "--out", out, "-q") == 64
    assert f"{out}/hunt.json: is not the head of a hunt; found list; allowed: a mapping" in capsys.readouterr().err


def test_a_directory_belongs_to_one_hunt(tmp_path, capsys):
    out = tmp_path / "h"
    assert hunt("--schedules", 3, "--out", out, "-q") == 0
    assert hunt("--schedules", 4, "--out", out) == 64
    assert capsys.readouterr().err == (
        f"tb: {out}: this directory belongs to another hunt: its schedules differs; found 3 there, 4 now; "
        "allowed: the same arguments, or another --out\n"
    )
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "mine").write_text("")
    assert hunt("--schedules", 3, "--out", tmp_path / "f") == 64
    assert "is not the directory of a hunt" in capsys.readouterr().err


def test_a_bug_is_found_shrunk_and_replayed_by_the_printed_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(TOP)
    out = tmp_path / "h"
    assert hunt("--schedules", 200, "--set", f"switch.program={BROKEN}", "--out", out, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    failure = document["failure"]
    assert failure["minimal"]
    assert len(load_scenario(failure["file"], []).topology.hosts) == 2
    words = shlex.split(failure["replay"])
    assert words[:2] == ["./tb", "run"]
    assert main([*words[1:], "--out", str(tmp_path / "run"), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert result["verdict"] == "fail"
    assert failure["check"] in [check["name"] for check in result["checks"] if check["verdict"] == "fail"]
    assert hunt("--schedules", 200, "--set", f"switch.program={BROKEN}", "--out", out, "--json") == 1  # told again
    assert json.loads(capsys.readouterr().out) == document
    assert main(["run", failure["file"], "--out", str(tmp_path / "good"), "-q"]) in (0, 2)


def test_over_fabrics_the_steps_of_leaves_are_told_too(tmp_path, capsys):
    out = tmp_path / "h"
    assert hunt("--fabric", "--schedules", 16, "--out", out, "--json") == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document["hunt"] == "Hunt in netreduce fabric"
    assert document["transitions"]["held"] == 65 + 50 + 8 + 16 + 23 + 38
    assert any(name.startswith("leaf_slot ") for name in document["coverage"]["transitions"])
    assert "cannot happen in a fabric" in captured.err
    assert hunt("--schedules", 16, "--out", out) == 64
    assert "another hunt: its kind differs; found 'fabric' there, 'rack' now" in capsys.readouterr().err


def test_pfc_is_drawn_around_racks(tmp_path, capsys):
    assert hunt("--pfc", "--schedules", 8, "--out", tmp_path / "h", "--json") == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert (document["hunt"], document["verdict"]) == ("Hunt in netreduce pfc", "pass")
    assert "a lossless rack" in captured.err


def test_a_hunt_of_racks_from_before_there_were_fabrics_goes_on(tmp_path):
    out = tmp_path / "h"
    assert hunt("--schedules", 3, "--out", out, "-q") == 0
    head = json.loads((out / "hunt.json").read_text())
    assert head.pop("kind") == "rack"
    (out / "hunt.json").write_text(json.dumps(head))
    assert hunt("--schedules", 3, "--out", out, "-q") == 0


@pytest.mark.parametrize(("seed", "kind"), [(21, FABRIC), (20, RACK)])
def test_the_real_code_survives_some_schedules(seed, kind):
    found = run_hunt(Prey(seed, 150, kind=kind), 1, ChunkStore())
    assert found.failure is None, (found.number, found.failure)


@pytest.mark.minutes
def test_two_levels_survive_two_thousand_schedules():
    found = run_hunt(Prey(21, 2000, kind=FABRIC), min(2, os.cpu_count() or 1), ChunkStore())
    assert found.failure is None, (found.number, found.failure)
    # All that are taken often. Partial/reclaim was once, by schedule 504, before that one was drawn with IRN.
    assert sum(step.startswith("leaf_slot ") for step in found.coverage.transitions) >= 24


@pytest.mark.minutes
def test_the_real_code_survives_fifteen_hundred_schedules():
    found = run_hunt(Prey(20, 1500), min(2, os.cpu_count() or 1), ChunkStore())
    assert found.failure is None, (found.number, found.failure)
    assert found.coverage.schedules == 1500
    assert len(found.coverage.struck) == 13


_QUIET = """
from switch_nodes.{module} import {base}

class Mine({base}):
    def next_event(self):
        while (event := super().next_event()) is not None and type(event).__name__ in {hidden}:
            pass
        return event
"""


@pytest.mark.minutes
def test_tables_that_an_own_program_lacks_are_not_counted(tmp_path, capsys):
    """Of SwitchML all tables are the switch's; of NetReduce those of the hosts are left."""
    file = tmp_path / "mine.py"
    file.write_text(_QUIET.format(module="switchml", base="SwitchMlProgram", hidden={"SlotChanged"}))
    words = ["--schedules", 24, "--set", f"switch.program={file}:Mine", "--out"]
    assert hunt("--protocol", "switchml", *words, tmp_path / "h") == 0
    told = capsys.readouterr().out
    assert "Transitions of the tables: none to count (" in told
    assert f"  not counted: slot: tables of our switch programs; {file}:Mine reported no step of them" in " ".join(
        told.split("\n    ")
    )
    assert "0 of 19" not in told
    assert "never taken" not in told
    hidden = {"FrameStepped", "ConnectionStepped", "SlotStepped"}
    file.write_text(_QUIET.format(module="netreduce", base="NetReduceProgram", hidden=hidden))
    assert hunt(*words, tmp_path / "g", "--json") == 0
    steps = json.loads(capsys.readouterr().out)["transitions"]
    assert steps["lacks"] == ["frame", "connection", "slot"]
    assert steps["lacked_by"] == f"{file}:Mine"
    assert steps["taken"] > 5
    assert {name.split()[0] for name in (*steps["never"], *steps["impossible"])} <= {"requester", "responder"}


def test_an_own_program_that_tells_the_steps_of_our_tables_is_counted_as_ours(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text(_QUIET.format(module="switchml", base="SwitchMlProgram", hidden=set()))
    words = ["--protocol", "switchml", "--schedules", 64, "--set", f"switch.program={file}:Mine"]
    assert hunt(*words, "--out", tmp_path / "h", "--json") == 0
    steps = json.loads(capsys.readouterr().out)["transitions"]
    assert (steps["held"], steps["lacks"]) == (19, [])
    assert steps["taken"] > 5


def test_classes_of_one_name_in_different_files_have_folders_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = _QUIET.format(module="switchml", base="SwitchMlProgram", hidden=set())
    folders = set()
    for path in ("mine.py", "yours.py", "deep/mine.py"):
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_text(text)
        overrides = [f"switch.program={path}:Mine"]
        folders.add(prepare(None, overrides, 1, 10, kind="switchml").folder)
        assert prepare(None, [f"switch.program=./{path}:Mine"], 1, 10, kind="switchml").folder in folders
    assert len(folders) == 3
    assert all(folder.name.split("-")[2:3] == ["Mine"] for folder in folders)


def test_the_summary_says_which_code_was_hunted(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("INA_NATIVE", "0")
    assert hunt("--schedules", 2, "--out", tmp_path / "h", "--json") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["ran"] == "python (switched off by INA_NATIVE=0)"
    assert "code that ran: python (switched off by INA_NATIVE=0)" in captured.err
