"""Trainings over every protocol, bit for bit those of one process that folds in the same order."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from testbed.checkers.folds import fold, ring_fold
from testbed.checkers.reference_quantised import quantised_sum
from workloads.config import ArithmeticSpec

pytestmark = pytest.mark.slow
pytest.importorskip("torch", reason="torch is not installed: trainings over torch.distributed are not tested")

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(__file__).with_name("program.py")
STEPS = 60
_spec = importlib.util.spec_from_file_location("torch_training_program", PROGRAM)
program = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(program)


def in_rank_order(gradients):
    return fold(gradients, ArithmeticSpec())


def round_the_ring(gradients):
    return ring_fold(gradients, ArithmeticSpec())


def as_integers(gradients):
    return quantised_sum(gradients, 128)


def train(folder, scenario, size, *words, options=(), loss="1%"):
    run_dir = folder / "run"
    faults = "faults=[]" if loss == "0%" else f"faults=[{{kind: loss, name: loss, links: all, rate: {loss}}}]"
    process = subprocess.run(
        [
            sys.executable, "-P", "-m", "testbed", "train", scenario, "--world", "simulated", "--out", str(run_dir),
            "--set", f"topology.hosts={size}", "--set", faults, *options, "--", str(PROGRAM), *words,
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=250, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stdout[-3000:] + process.stderr[-3000:]
    result = json.loads((run_dir / "result.json").read_text())
    checks = {check["name"]: (check["verdict"], check["detail"]) for check in result["checks"]}
    assert checks["bit_exact"][0] == checks["training"][0] == "pass"
    weights = re.findall(r"weights (\w+)", process.stdout)
    return weights, checks


@pytest.mark.parametrize(
    ("scenario", "hosts", "ranks", "loss", "how"),
    [
        ("rack", 2, 2, "5%", in_rank_order),
        ("rack", 4, 4, "1%", in_rank_order),
        ("ring", 4, 4, "1%", round_the_ring),
        ("switchml", 2, 2, "5%", as_integers),
        ("atp", 3, 2, "1%", as_integers),
        ("esa", 4, 3, "0%", as_integers),
    ],
)
def test_the_weights_are_those_of_one_process(tmp_path, scenario, hosts, ranks, loss, how):
    weights, checks = train(tmp_path, scenario, hosts, "--steps", str(STEPS), loss=loss)
    expected, losses = program.reference(ranks, STEPS, how)
    assert weights == [expected] * ranks
    assert checks["training"][1].startswith(f"{ranks} ranks posted the same {STEPS} all-reduces in {STEPS} steps")
    assert min(losses[-10:]) < losses[0] / 2, "it learns"


def test_data_parallel_as_in_tutorials(tmp_path):
    """Several buckets of different size; a fold in rank order does not depend on their layout."""
    weights, checks = train(tmp_path, "rack", 2, "--ddp", "--steps", "50")
    assert weights == [program.reference(2, 50, in_rank_order)[0]] * 2
    assert "not aggregated in the network: 1 all_gather, 4 broadcast" in checks["training"][1]


def test_integers_of_32_bits_learn_as_floats_do():
    _, floats = program.reference(2, STEPS, in_rank_order)
    _, integers = program.reference(2, STEPS, as_integers)
    assert np.max(np.abs(np.array(floats) - np.array(integers))) < 1e-3
