"""`tb shell`: Mininet's command line on a scenario's network, and that nothing stays behind."""

from __future__ import annotations

import ctypes
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from testbed.cli import shell
from testbed.cli.main import main
from tests.support.emulated import needs_root, processes_of

_TIMEOUT_S = 60.0


@pytest.mark.parametrize(
    ("limit", "allowed"),
    [("soon", "a number with ns, us, ms, s or min, as 2ms; 1ns to 86400s"), ("0", "1ns to 86400s")],
)
def test_a_limit_that_is_none(limit: str, allowed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shell", "rack", "--limit", limit]) == 64
    text = f"tb shell: argument --limit: found {limit!r}; allowed: {allowed}\n`tb shell --help` shows how it is used\n"
    assert capsys.readouterr().err == text


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do it")
def test_it_needs_root(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shell", "rack", "-c", "nodes"]) == 3
    assert "root" in capsys.readouterr().err


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "testbed", "shell", "rack", "--set", "topology.hosts=2", *words]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    monkeypatch.setenv("INA_STATE_DIR", str(folder))
    return folder


class TestForReal:
    pytestmark = [*needs_root, pytest.mark.programs]

    def test_lines_of_stdin_run_on_hosts_through_the_switch_until_exit_and_their_failure_counts(
        self, state: Path
    ) -> None:
        lines = (
            "h1 ping -c 1 -W 5 h2",
            "h2 tc class show dev $(ls /sys/class/net | grep h2-)",
            "nodes",
            "h2 false",
            "exit",
            "h9",
        )
        done = subprocess.run(
            command("--set", "topology.link.rate=7Mbps"),
            input="\n".join(lines), capture_output=True, text=True, timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip
        for words in ("1 packets transmitted, 1 received", "rate 7Mbit", "h1 h2 s1"):
            assert words in done.stdout
        assert "Unknown command" not in done.stdout
        assert (done.returncode, done.stderr) == (1, "")
        assert processes_of(state) == []
        assert not state.exists()

    def test_an_unknown_command_fails_and_the_limit_ends_what_does_not_end(self, state: Path) -> None:
        done = subprocess.run(
            command("--limit", "1s", "-c", "h9 ls", "-c", "h1 sleep 600"),
            capture_output=True, text=True, timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip
        assert "Unknown command: h9 ls" in done.stdout
        assert (done.returncode, done.stderr) == (1, "tb: the time is over\n")
        assert processes_of(state) == []
        assert not state.exists()

    def test_what_does_not_end_is_ended_in_the_background_too(self, state: Path) -> None:
        """Where SIGINT is ignored, as a shell has it for what it starts with `&`."""
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            done = subprocess.run(
                command("--limit", "1s", "-c", "h1 sleep 602"),
                capture_output=True, text=True, timeout=_TIMEOUT_S, check=False,
            )  # fmt: skip
        finally:
            signal.signal(signal.SIGINT, before)
        assert (done.returncode, done.stderr) == (1, "tb: the time is over\n")
        assert processes_of(state) == []

    def test_on_a_terminal_ctrl_c_ends_the_command_and_sigterm_the_shell(self, state: Path) -> None:
        pid, terminal = pty.fork()
        if not pid:
            words = command()
            os.execv(words[0], words)
        told = ""

        def until(text: str) -> None:
            nonlocal told
            deadline = time.monotonic() + _TIMEOUT_S
            while text not in told:
                assert select.select([terminal], [], [], deadline - time.monotonic())[0], told
                told += os.read(terminal, 65_536).decode(errors="replace")
            told = told.partition(text)[2]

        until("tb> ")
        os.write(terminal, b"h1 sleep 601; echo slept\n")
        time.sleep(0.5)
        os.write(terminal, b"\x03")
        until("tb> ")
        os.write(terminal, b"h1 echo again and $((40 + 2))\n")
        until("again and 42")
        os.kill(pid, signal.SIGTERM)
        until("tb: ended by SIGTERM")
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
        os.close(terminal)
        assert processes_of(state) == []
        assert not state.exists()


def test_an_end_that_somebody_swallows_comes_again() -> None:
    """As a logging handler does, which prints whatever is raised in it and goes on."""
    told = []

    def deaf() -> None:
        with shell._ending_after(0.05):
            try:
                time.sleep(20)
            except shell._Over as over:
                told.append(str(over))
            time.sleep(20)

    with pytest.raises(shell._Over, match="the time is over"):
        deaf()
    assert told == ["the time is over"]
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_signal_that_wakes_nobody_is_seen_all_the_same() -> None:
    """As one that comes between readline's look at the signals and its wait for a key."""
    waiting = ctypes.CDLL(None)

    def strike() -> None:
        time.sleep(0.1)
        ctypes.pythonapi.PyErr_SetInterruptEx(int(signal.SIGTERM))

    thread = threading.Thread(target=strike)
    began_s = time.monotonic()

    def wait() -> None:
        with shell._ending_after(60):
            thread.start()
            waiting.poll(None, 0, 20_000)

    with pytest.raises(shell._Over, match="ended by SIGTERM"):
        wait()
    thread.join()
    assert time.monotonic() - began_s < 10
