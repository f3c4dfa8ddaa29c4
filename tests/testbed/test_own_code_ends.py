"""Code of the user's own that ends the process in which a command loads it: no command takes that for success."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import os
os._exit(0)
"""


def tb(folder: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "testbed", *words], cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("run", "rack", "--world", "simulated", "--check", "mine.py:check"),
        ("run", "rack", "--world", "simulated", "--set", "job.protocol=mine.py:P"),
        ("validate", "rack", "--set", "job.protocol=mine.py:P"),
        ("hunt", "--set", "job.protocol=mine.py:P", "--schedules", "2"),
        ("train", "rack", "--world", "simulated", "--set", "job.protocol=mine.py:P", "--", "true"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_code_that_ends_the_process_when_it_is_loaded(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "mine.py").write_text(CODE, encoding="utf-8")
    code, told = tb(tmp_path, *words)
    assert code == 64
    assert "mine.py: the code of" in told
    assert "ended the process that ran it (exit code 0): no verdict" in told
    assert not list(tmp_path.rglob("result.json"))


def test_help_needs_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(CODE, encoding="utf-8")
    assert tb(tmp_path, "run", "rack", "--check", "mine.py:check", "--help")[0] == 0


def test_a_sweep_counts_such_runs_as_invalid(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f"{CODE}\nclass P: pass\n", encoding="utf-8")
    words = ("--world", "simulated", "--set", "switch.program=mine.py:P", "--seeds", "2", "--out", "swept")
    code, _ = tb(tmp_path, "sweep", "rack", *words)
    assert code == 2
    results = json.loads((tmp_path / "swept" / "results.json").read_text(encoding="utf-8"))
    assert results["verdicts"] == {"invalid": 2}
