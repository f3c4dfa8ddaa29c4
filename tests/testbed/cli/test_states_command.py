"""`tb states` and `tb explain` from the command line, with a switch program that never answers a repetition."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.floors import ROOT

_SILENT = """
from switch_nodes.switchml import SwitchMlProgram
from switch_nodes.switchml.service import PoolService


class _Silent(PoolService):
    def replay(self, c):
        pass


class Silent(SwitchMlProgram):
    service_class = _Silent
"""
_SMALL = ("--slots", "1", "--blocks", "2", "--faults", "1")


def _tb(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "testbed", *words], cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def test_a_good_protocol_passes(tmp_path: Path) -> None:
    done = _tb(tmp_path, "states", "switchml", *_SMALL, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["verdict"], document["violations"]) == ("pass", [])
    assert document["states"] == sum(document["states_by_faults"])
    assert "no state breaks a rule" in done.stderr


def test_a_scenario_is_visited_as_it_is_without_its_faults(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "name: own\ntopology: {kind: rack, hosts: 2}\nswitch: {program: switchml, memory: 2}\n"
        "job: {protocol: switchml, size: 1kB, dtype: int32, iterations: 2, window_packets: 1}\n"
        "faults:\n  - {kind: loss, name: loss, links: all, rate: 5%}\n"
    )
    done = _tb(tmp_path, "states", "own.yaml", "--faults", "0", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["name"], document["slots"], document["verdict"]) == ("own", None, "pass")


def test_a_limit_ends_with_unknown(tmp_path: Path) -> None:
    done = _tb(tmp_path, "states", "switchml", "--faults", "3", "--states", "5000")
    assert done.returncode == 2, done.stderr
    assert "UNKNOWN" in done.stdout


@pytest.mark.parametrize(
    ("words", "problem"),
    [(["ring"], "states of that protocol are not visited"), (["no-such-scenario"], "no-such-scenario")],
)
def test_what_cannot_be_visited_is_refused(tmp_path: Path, words: list[str], problem: str) -> None:
    done = _tb(tmp_path, "states", *words)
    assert done.returncode == 64
    assert problem in done.stderr


def test_a_violation_is_replayed_and_explained(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(_SILENT)
    own = ("--set", "switch.program=own.py:Silent")
    found = _tb(tmp_path, "states", "switchml", *_SMALL, *own)
    assert found.returncode == 1, found.stderr
    assert "result 1 is lost" in found.stdout
    scenario = "states/switchml-stuck.yaml"
    assert f"./tb run {scenario}" in " ".join(found.stdout.split())
    run = _tb(tmp_path, "run", scenario, "--world", "simulated", *own)
    assert run.returncode == 1, run.stdout + run.stderr
    assert "liveness" in run.stdout
    explained = _tb(tmp_path, "explain", "runs/latest", *own, "--out", "stall.yaml", "--json")
    assert explained.returncode == 0, explained.stderr
    document = json.loads(explained.stdout)
    assert document["stalled"] == ["h1", "h2"]
    assert sorted(wait["node"] for wait in document["circle"]) == ["h1", "s1"]
    assert "Circle: h1 -> s1 -> h1" in explained.stderr
    assert _tb(tmp_path, "run", "stall.yaml", "--world", "simulated", *own).returncode == 1


def test_a_run_that_passed_is_not_explained(tmp_path: Path) -> None:
    assert _tb(tmp_path, "run", "switchml", "--world", "simulated").returncode == 0
    done = _tb(tmp_path, "explain", "runs/latest")
    assert done.returncode == 2, done.stderr
    assert "does not stall" in done.stdout
