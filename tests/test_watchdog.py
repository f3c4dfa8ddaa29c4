"""A test that hangs fails, with its stack, whether it hangs in Python or in C."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_TOP = Path(__file__).resolve().parents[1]
_IN_PYTHON = "def test_loop():\n    while True:\n        pass\n\ndef test_next():\n    pass\n"
_IN_C = """import ctypes
def test_locked():
    # A lock that is taken twice: the wait goes on after a signal.
    libc, lock = ctypes.CDLL(None), ctypes.create_string_buffer(64)
    libc.pthread_mutex_lock(lock)
    libc.pthread_mutex_lock(lock)
"""


def _pytest(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_hanging.py").write_text(text)
    words = ["-c", str(_TOP / "setup.cfg"), "--rootdir", str(folder), "-p", "tests.watchdog", "-p", "no:cacheprovider"]
    return subprocess.run(
        [sys.executable, "-P", "-m", "pytest", *words, *options, str(folder)], cwd=_TOP,
        env={"PYTHONPATH": str(_TOP), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_a_loop_in_python_fails_alone(tmp_path: Path) -> None:
    done = _pytest(tmp_path, _IN_PYTHON, "--timeout", "1")
    assert "1 failed, 1 passed" in done.stdout
    assert "while True:" in done.stdout
    assert "Timeout (>1.0s) from pytest-timeout." in done.stdout


def test_a_hang_in_c_ends_the_run_with_its_stack(tmp_path: Path) -> None:
    done = _pytest(tmp_path, _IN_C, "--timeout", "1")
    assert done.returncode == 1
    assert "Timeout (0:00:02" in done.stderr
    assert "in test_locked" in done.stderr


def test_a_process_of_several_is_replaced(tmp_path: Path) -> None:
    done = _pytest(tmp_path, _IN_C + "\ndef test_next():\n    pass\n", "--timeout", "1", "-n", "1")
    assert "crashed while running" in done.stdout
    assert "1 failed, 1 passed" in done.stdout


def test_every_test_has_a_limit(request: pytest.FixtureRequest) -> None:
    assert 60 <= float(request.config.getini("timeout")) <= 600
    assert request.config.getini("timeout_method") == "signal", "a forked child inherits no timer"
    assert request.config.pluginmanager.has_plugin("timeout")
