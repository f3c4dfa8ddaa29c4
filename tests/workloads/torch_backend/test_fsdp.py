"""A fully sharded training over a network that loses packets ends, bit for bit, as one process does."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed: trainings over torch.distributed are not tested")

from benchmarks.training_matrix import round_the_ring
from tests.support.selection import some_at_once
from tests.workloads.torch_backend import fsdp_program, program

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(__file__).parent
LOSS = "faults=[{kind: loss, name: loss, links: all, rate: 1%}]"


def train(folder, scenario, ranks, script, *words):
    """(what it printed, verdict and detail of each check)"""
    done = subprocess.run(
        [
            sys.executable, "-P", "-m", "testbed", "train", scenario, "--world", "simulated",
            "--set", f"topology.hosts={ranks}", "--set", LOSS, "--out", str(folder / "run"),
            "--", str(FOLDER / script), *words,
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    result = json.loads((folder / "run" / "result.json").read_text())
    return done.stdout, {check["name"]: (check["verdict"], check["detail"]) for check in result["checks"]}


def assert_same(printed, checks, ranks, reference):
    weights, losses = reference
    assert re.findall(r"weights (\w+) stored (\d+)", printed) == [(weights, "0")] * ranks
    assert json.loads(re.search(r"losses (.*)", printed)[1]) == losses
    assert checks["bit_exact"][0] == checks["training"][0] == "pass"
    assert "not aggregated in the network" not in checks["training"][1]


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
    printed, checks = train(tmp_path, scenario, ranks, "fsdp_program.py", "--steps", str(steps))
    assert_same(printed, checks, ranks, fsdp_program.reference(ranks, steps))
    # Each step: all-gathers of two blocks and the rest, forward and (but for the rest) backward; reduce-scatters.
    assert f"{3 * steps} reduce_scatter" in checks["training"][1]


def between_two_groups(gradients):
    """Each half of the ranks by shards; then the two means."""
    half = len(gradients) // 2
    return (fsdp_program.shard_by_shard(gradients[:half]) + fsdp_program.shard_by_shard(gradients[half:])) / 2


REFERENCES = {
    "zero1": lambda ranks, steps: program.reference(ranks, steps, round_the_ring, ddp=True),
    "zero2": fsdp_program.reference,
    "hybrid": lambda ranks, steps: fsdp_program.reference(ranks, steps, between_two_groups),
}


def on_the_wire(sharding, ranks, steps):
    """What went over the network, as the check reports it. ZeRO 1: in each step each rank broadcasts its parameters.
    ZeRO 2: all-gathers of two blocks and the rest in each step, and of the whole parameters at the end. Hybrid: each
    group has reduce-scatters of its own, and each shard all-reduces of its own."""
    if sharding == "zero1":
        return (f"the same {steps} all-reduces", " broadcast")
    if sharding == "zero2":
        whole = len(list(fsdp_program.make_model().parameters()))
        return (f"{3 * steps + whole} all_gather, {3 * steps} reduce_scatter",)
    return (f" {3 * steps * ranks // 2} all_reduce, {3 * steps * 2} reduce_scatter",)


@pytest.mark.parametrize(
    "case",
    some_at_once(
        [(sharding, ranks, steps) for sharding in REFERENCES for ranks, steps in ((4, 5), (8, 30))],
        quick=[("hybrid", 4, 5)],
    ),
    ids=str,
)
@pytest.mark.timeout(1200)
def test_zero_and_hybrid_shards_end_as_one_process_does(tmp_path, case):
    sharding, ranks, steps = case
    printed, checks = train(tmp_path, "ring", ranks, "sharded_program.py", sharding, "--steps", str(steps))
    assert_same(printed, checks, ranks, REFERENCES[sharding](ranks, steps))
    for words in on_the_wire(sharding, ranks, steps):
        assert words in checks["training"][1]


def test_the_reference_knows_the_groups():
    """A script without groups would not pass."""
    assert REFERENCES["hybrid"](4, 5) != REFERENCES["zero2"](4, 5)


@pytest.mark.parametrize(
    ("kind", "scenario"),
    [
        ("tensor", "ring"), ("pipeline", "ring"),
        *(pytest.param(each, "switchml", marks=pytest.mark.minutes) for each in ("tensor", "pipeline")),
    ],
)  # fmt: skip
def test_tensor_parallel_and_pipeline_scripts_run_unmodified(tmp_path, kind, scenario):
    """Each prints `right` where the values are those of one process; nothing is in the store."""
    printed, checks = train(tmp_path, scenario, 4, "parallel_program.py", kind)
    assert printed.count("right, stored 0") == 4
    assert checks["bit_exact"][0] == checks["training"][0] == "pass"
    assert "not aggregated in the network" not in checks["training"][1]
