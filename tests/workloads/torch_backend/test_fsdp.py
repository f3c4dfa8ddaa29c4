"""A fully sharded training over a network that loses packets ends, bit for bit, as one process does."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed: trainings over torch.distributed are not tested")

from tests.support.selection import some_at_once
from tests.workloads.torch_backend import fsdp_program

ROOT = Path(__file__).resolve().parents[3]
LOSS = "faults=[{kind: loss, name: loss, links: all, rate: 1%}]"


@pytest.mark.parametrize(
    "case",
    some_at_once(
        [
            *((scenario, ranks, 100) for scenario in ("ring", "rack", "switchml") for ranks in (4, 8)),
            ("ring", 4, 6), ("switchml", 2, 4),
        ],
        quick=[("ring", 4, 6), ("switchml", 2, 4)],
    ),
    ids=str,
)  # fmt: skip
@pytest.mark.timeout(1200)
def test_weights_are_those_of_one_process_and_the_store_holds_nothing_of_them(tmp_path, case):
    scenario, ranks, steps = case
    done = subprocess.run(
        [
            sys.executable, "-P", "-m", "testbed", "train", scenario, "--world", "simulated",
            "--set", f"topology.hosts={ranks}", "--set", LOSS, "--out", str(tmp_path / "run"),
            "--", str(fsdp_program.__file__), "--steps", str(steps),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    weights, losses = fsdp_program.reference(ranks, steps)
    assert re.findall(r"weights (\w+) stored (\d+)", done.stdout) == [(weights, "0")] * ranks
    assert json.loads(re.search(r"losses (.*)", done.stdout)[1]) == losses
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    checks = {check["name"]: (check["verdict"], check["detail"]) for check in result["checks"]}
    assert checks["bit_exact"][0] == checks["training"][0] == "pass"
    detail = checks["training"][1]
    # Each step: all-gathers of two blocks and the rest, forward and (but for the rest) backward; reduce-scatters.
    assert f"{3 * steps} reduce_scatter" in detail
    assert "not aggregated in the network" not in detail


@pytest.mark.parametrize(
    ("program", "scenario"),
    [
        ("tensor", "ring"), ("pipeline", "ring"),
        *(pytest.param(each, "switchml", marks=pytest.mark.minutes) for each in ("tensor", "pipeline")),
    ],
)  # fmt: skip
def test_tensor_parallel_and_pipeline_scripts_run_unmodified(tmp_path, program, scenario):
    """Each prints `right` where the values are those of one process; nothing is in the store."""
    script = Path(__file__).with_name("parallel_program.py")
    done = subprocess.run(
        [
            sys.executable, "-P", "-m", "testbed", "train", scenario, "--world", "simulated", "--set", LOSS,
            "--out", str(tmp_path / "run"), "--", str(script), program,
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.stdout.count("right, stored 0") == 4, done.stdout[-3000:] + done.stderr[-3000:]
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    checks = {check["name"]: (check["verdict"], check["detail"]) for check in result["checks"]}
    assert checks["bit_exact"][0] == checks["training"][0] == "pass"
    assert "not aggregated in the network" not in checks["training"][1]
