"""Whatever code of the user's own does to its process, the exit code is 0 only where a verdict was written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testbed.kernel.overdue import named_code

PROLOGUE = """
import json, os, signal, sys, time, itertools
from pathlib import Path
from testbed.kernel import overdue
overdue.LIMIT_S = 1.0
from testbed.kernel.supervised import supervised
from testbed.terminal.stream import complain
from workloads.errors import TestbedError

def passed():
    Path("result.json").write_text(json.dumps({"verdict": "pass"}))
    overdue.note_result(Path("result.json").absolute(), "pass")
    return 0

def work():
    with overdue.must_answer():
        own()
    return passed()

def main():
    try:
        return supervised(work, ("mine.py:check", "other.py:Other"), judged=True)
    except TestbedError as error:
        complain(str(error))
        return error.exit_code
"""
EPILOGUE = "\nsys.exit(main())\n"


def start(folder: Path, own: str, *, epilogue: str = EPILOGUE) -> subprocess.Popen[str]:
    """`own`: the body of the user's function, in a file of his name."""
    (folder / "mine.py").write_text("import itertools, os, signal, sys, time\ndef check():\n    " + own + "\n")
    text = PROLOGUE + "\nsys.path.insert(0, '.')\ndef own():\n    from mine import check\n    check()\n" + epilogue
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    return subprocess.Popen(
        [sys.executable, "-P", "-c", text], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip


def run(folder: Path, own: str, *, epilogue: str = EPILOGUE) -> tuple[int, str]:
    process = start(folder, own, epilogue=epilogue)
    _, told = process.communicate(timeout=120)
    return process.returncode, told


def test_a_verdict_that_was_written_is_the_exit_code(tmp_path: Path) -> None:
    assert run(tmp_path, "pass") == (0, "")


@pytest.mark.parametrize(
    ("own", "how"),
    [
        ("os._exit(0)", "exit code 0"),
        ("os._exit(1)", "exit code 1"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "signal SIGKILL"),
        ("os.kill(os.getpid(), 37)", "signal 37"),
        ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)", "signal SIGTERM"),
        ("os.kill(os.getpid(), signal.SIGHUP); time.sleep(9)", "signal SIGHUP"),
        ("os.fork() or os._exit(os.kill(os.getppid(), signal.SIGTERM) or 0); time.sleep(9)", "signal SIGTERM"),
        ("os.closerange(3, 4096); os._exit(0)", "exit code 0"),
        ("sys.exit = os._exit; sys.exit(0)", "exit code 0"),
    ],
)
def test_code_that_ends_its_process_is_blamed(tmp_path: Path, own: str, how: str) -> None:
    code, told = run(tmp_path, own)
    assert code == 64
    blamed = "mine.py: the code of check, or that of other.py:Other ended the process that ran it"
    assert told.splitlines()[-1] == f"{blamed} ({how}): no verdict"
    assert not (tmp_path / "result.json").exists()


@pytest.mark.parametrize(
    "own",
    [
        "import atexit; atexit.register(os._exit, 0)",
        "os._exit = lambda code: None",
        "sys.exit = lambda code=0: None",
        "signal.signal(signal.SIGCHLD, lambda *_: os._exit(0))",
        "os.fork()",
        "os.fork() or os.fork() or time.sleep(600)",
    ],
)
def test_what_code_leaves_behind_changes_no_verdict(tmp_path: Path, own: str) -> None:
    """A copy of the process (fork) ends when it leaves the user's code, or with the command."""
    code, told = run(tmp_path, own)
    assert (code, told) == (0, "")
    assert json.loads((tmp_path / "result.json").read_text()) == {"verdict": "pass"}


def test_a_copy_that_a_look_missed_is_ended(tmp_path: Path) -> None:
    """It was forked after the look began, by a process that ended before the look came to it. It holds the pipe of the
    answer open: the command would wait for it."""
    blind = """
from testbed.kernel import supervised as module
real, looks = module.descendants, []
def descendants(pid):
    looks.append(pid)
    return real(pid) if len(looks) > 1 else []
module.descendants = descendants
"""
    began = time.monotonic()
    assert run(tmp_path, "os.fork() or os.fork() or time.sleep(60)", epilogue=blind + EPILOGUE) == (0, "")
    assert time.monotonic() - began < 45


@pytest.mark.parametrize(
    ("own", "line"),
    [
        ("while True: pass", 3),
        ("sum(itertools.repeat(0))", 3),
        ("time.sleep(600)", 3),
        ("\n    while True:\n        try: time.sleep(9)\n        except BaseException: pass", 5),
    ],
)
def test_code_that_never_returns_is_ended_and_named(tmp_path: Path, own: str, line: int) -> None:
    code, told = run(tmp_path, own)
    assert code == 64
    assert told.strip() == f"{tmp_path}/mine.py:{line}: the code took longer than 1 s and did not return, in check"


def test_code_that_stops_its_process_is_ended(tmp_path: Path) -> None:
    code, told = run(tmp_path, "os.kill(os.getpid(), signal.SIGSTOP)")
    assert code == 64
    assert "took longer than 1 s and did not return" in told


@pytest.mark.parametrize(
    ("passed", "problem"),
    [
        ("return 0", "the command ended before there was a verdict"),
        ("overdue.note_result(Path('none.json').absolute(), 'pass'); return 0", "no verdict was written"),
        (
            "Path('r.json').write_text('{\"verdict\": \"fail\"}'); overdue.note_result('r.json', 'pass'); return 0",
            "another verdict than the one that was printed; found 'fail'",
        ),
        ("Path('r.json').write_text('[]'); overdue.note_result(Path('r.json'), 'pass'); return 0", "no verdict was"),
    ],
)
def test_exit_code_0_without_a_written_pass_is_an_error(tmp_path: Path, passed: str, problem: str) -> None:
    code, told = run(tmp_path, "pass", epilogue=f"\ndef passed():\n    {passed}\n{EPILOGUE}")
    assert code == 64
    assert problem in told


def test_other_exit_codes_stay_what_they_are(tmp_path: Path) -> None:
    assert run(tmp_path, "pass", epilogue=f"\ndef passed():\n    return 2\n{EPILOGUE}") == (2, "")


def test_an_exception_of_ours_past_the_command_is_no_success(tmp_path: Path) -> None:
    code, told = run(tmp_path, "raise BaseException('x')")
    assert code == 64
    assert "BaseException: x" in told
    assert "(signal SIGABRT)" in told


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_reach_the_command_which_cleans_up(tmp_path: Path, number: signal.Signals) -> None:
    body = (
        "\n    def end(*_): open('cleaned', 'w').close(); os._exit(0)\n"
        "    signal.signal(signal.SIGTERM, end); signal.signal(signal.SIGINT, end)\n"
        "    open('ready', 'w').close(); time.sleep(600)"
    )
    process = start(tmp_path, body, epilogue=f"\noverdue.LIMIT_S = 300\n{EPILOGUE}")
    end = time.monotonic() + 60
    while not (tmp_path / "ready").exists() and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert (tmp_path / "cleaned").exists()
    assert process.returncode == -number, "also where the command then ended with 0"


def test_a_signal_for_the_whole_group_ends_the_command_by_it(tmp_path: Path) -> None:
    """It may end the child before we see ours."""
    body = "\n    open('ready', 'w').close(); time.sleep(600)"
    epilogue = f"\nos.setpgid(0, 0)\noverdue.LIMIT_S = 300\n{EPILOGUE}"
    process = start(tmp_path, body, epilogue=epilogue)
    end = time.monotonic() + 60
    while not (tmp_path / "ready").exists() and time.monotonic() < end:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGTERM)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (-signal.SIGTERM, "")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["run", "rack", "--check", "mine.py:check"], ("mine.py:check",)),
        (["run", "rack", "--check=a/mine.py:check"], ("a/mine.py:check",)),
        (["sweep", "--protocols", "netreduce,mine.py:A,b.py:B"], ("mine.py:A", "b.py:B")),
        (["run", "rack", "--set", 'switch.program="mine.py:P"'], ("mine.py:P",)),
        (["sweep", "--vary", "switch.program=[mine.py:P, mine.py:Q]"], ("mine.py:P", "mine.py:Q")),
        (["run", "rack", "--set", "faults[0].rate=3%"], ()),
        (["test", "tests/test_x.py::test_y"], ()),
    ],
)
def test_words_name_code_wherever_it_stands(words: list[str], found: tuple[str, ...]) -> None:
    assert named_code(words) == found
