"""`tb train` as a person calls it."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = str(Path(__file__).with_name("rank_program.py"))
root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def tb(*words, timeout=100):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "400"}
    return subprocess.run(
        [sys.executable, "-P", "-m", "testbed", *words], env=environment, capture_output=True, text=True,
        timeout=timeout,
        check=False,
    )  # fmt: skip


class Training:
    """One run of two ranks."""

    def __init__(self, folder, *program, scenario="rack", options=(), world="simulated", script=PROGRAM):
        self.run_dir = folder / "run"
        began = time.monotonic()
        self.process = tb(
            "train", scenario, "--world", world, "--set", "topology.hosts=2", *options, "--out", str(self.run_dir),
            "--", script, *program,
        )  # fmt: skip
        self.seconds = time.monotonic() - began
        self.code, self.out, self.err = self.process.returncode, self.process.stdout, self.process.stderr
        self.err = re.sub(r"\[rank .\] joins .*\n", "", self.err)
        result = self.run_dir / "result.json"
        self.result = json.loads(result.read_text()) if result.exists() else None

    def check(self, name):
        (found,) = [check for check in self.result["checks"] if check["name"] == name]
        return found["verdict"], found["detail"]


def nothing_is_left(training):
    (place,) = set(re.findall(r"joins (\S+)/ranks.sock", training.process.stderr))
    assert not Path(place).exists()
    assert [pid for pid in os.listdir("/proc") if pid.isdigit() and _joined(pid, place)] == []


def _joined(pid, place):
    try:
        return place.encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def complaints(training: Training) -> str:
    """What it wrote on standard error, without its signs of life."""
    return re.sub(r"^tb train: .* (?:so far|joined;).*\n", "", training.err, flags=re.MULTILINE)
