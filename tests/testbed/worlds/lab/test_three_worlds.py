"""The commands of docs/lab.md: a lab comes up, a rack runs on it, and the two other worlds give the same sums."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.lab.emulated.command import lab_folder
from tests.support.labs import environment, require_lab


def _tb(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "testbed", *words],
        env=environment(XDG_STATE_HOME=str(folder)), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.root
@pytest.mark.mininet
def test_the_same_scenario_and_seed_give_the_same_sums_in_all_three_worlds(tmp_path: Path) -> None:
    require_lab()
    pytest.importorskip("mininet")
    name = f"a{os.getpid()}"
    inventory, run = lab_folder(name) / "lab.yaml", tmp_path / "lab"
    assert "5 hosts are up" in _tb(tmp_path, "lab", "up", "--emulated", "--name", name)
    try:
        said = _tb(
            tmp_path, "run", "rack", "--world", "lab", "--inventory", str(inventory), "--seed", "11",
            "--set", "job.size=200kB", "--out", str(run), "--no-color",
        )  # fmt: skip
        assert "Verdict: PASS" in said
    finally:
        _tb(tmp_path, "lab", "down", "--name", name)
    for world in ("simulated", "emulated"):
        said = _tb(tmp_path, "replay", str(run), "--world", world, "--out", str(tmp_path / world))
        # two iterations on four hosts
        assert "compared: 8 results, " in said
        assert said.rstrip().endswith("; no differences")
