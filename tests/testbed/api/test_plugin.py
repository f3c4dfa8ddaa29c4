"""The plug-in, as another project's CI uses it: pytest of its own, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_TOP = Path(__file__).resolve().parents[3]


def run_pytest(folder: Path, text: str, *words: str, ini: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "test_theirs.py").write_text(text, encoding="utf-8")
    (folder / "pytest.ini").write_text(f"[pytest]\naddopts = --strict-markers\n{ini}", encoding="utf-8")
    words = (sys.executable, "-m", "pytest", "-p", "testbed.api.plugin", "-p", "no:cacheprovider", "-q", *words)
    environment = {**os.environ, "PYTHONPATH": str(_TOP)}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_a_marked_test_runs_its_scenario(tmp_path: Path) -> None:
    done = run_pytest(
        tmp_path,
        """
import pytest

@pytest.mark.ina("data-middle-lost", seed=5)
def test_that_looks_into_the_run(ina_run):
    assert ina_run.seed == 5
    assert ina_run.world == "simulated"
    assert ina_run.figures["lost.data"] == 1

@pytest.mark.ina("rack", set={"job.size": "4kB"})
def test_that_says_nothing_more():
    pass

@pytest.mark.ina("worker-killed")
def test_that_expects_a_failure():
    pass
""",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_another_verdict_than_the_expected_one_fails_the_test_and_says_how_to_replay(tmp_path: Path) -> None:
    text = """
import pytest

@pytest.mark.ina("rack", set={"job.size": "40kB", "time_limit": "1ms"})
def test_that_has_too_little_time():
    pass
"""
    done = run_pytest(tmp_path, text)
    assert done.returncode == 1
    assert "rack: fail, and pass was expected" in done.stdout
    assert "replay: tb run " in done.stdout


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('@pytest.mark.ina("rack", sed=3)', ("@pytest.mark.ina: unknown sed; allowed: a scenario, then set, world, "
                                            "seed, pcap")),
        ("@pytest.mark.ina()", "@pytest.mark.ina: 0 arguments; allowed: a scenario"),
        ("", 'ina_run needs a marker, as @pytest.mark.ina("rack-lossy")'),
        ('@pytest.mark.ina("rakc")', "no such scenario; found 'rakc'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_marker_is_said(tmp_path: Path, line: str, message: str) -> None:
    done = run_pytest(tmp_path, f"import pytest\n\n{line}\ndef test_it(ina_run):\n    pass\n")
    assert done.returncode == 1
    assert message in done.stdout
    assert "plugin.py" not in done.stdout  # a mistake of the test, and no traceback of ours


def test_what_the_machine_lacks_is_a_skip_with_its_reason(tmp_path: Path) -> None:
    text = """
import pytest
from testbed.runs import needs
needs.is_root = lambda: False

@pytest.mark.ina("rack")
def test_it():
    raise AssertionError("it was to be skipped")
"""
    done = run_pytest(tmp_path, text, "-rs", ini="ina_world = emulated\n")
    assert done.returncode == 0, done.stdout
    assert "this machine lacks root" in done.stdout
    assert "1 skipped" in done.stdout
