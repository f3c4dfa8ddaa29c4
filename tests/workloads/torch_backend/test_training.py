"""Trainings over every protocol, bit for bit those of one process that folds in the same order."""

import json
import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: trainings over torch.distributed are not tested")

from benchmarks import training_matrix
from benchmarks.training_matrix import Cell, as_integers, in_rank_order, round_the_ring
from tests.support.selection import some_at_once
from tests.workloads.torch_backend import program

STEPS = 60


def train(folder, cell, *words):
    """(weights by rank, checks, losses of rank 0) of a training with other words for its program."""
    run_dir = folder / "run"
    command = training_matrix.command(cell, run_dir)
    done = subprocess.run(
        [*command[: command.index("--") + 2], *words], env=training_matrix.environment(), capture_output=True,
        text=True, timeout=250, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    result = json.loads((run_dir / "result.json").read_text())
    checks = {check["name"]: (check["verdict"], check["detail"]) for check in result["checks"]}
    assert checks["bit_exact"][0] == checks["training"][0] == "pass"
    return re.findall(r"weights (\w+)", done.stdout), checks


@pytest.mark.parametrize(
    "cell",
    some_at_once(
        [
            Cell("NetReduce gbn", 2, 5), Cell("NetReduce irn", 4, 5), Cell("SwitchML", 2, 5), Cell("ATP", 2, 1),
            Cell("ESA", 3, 0), Cell("ring", 4, 1), Cell("ring", 8, 0),
        ],
        quick=[Cell("NetReduce irn", 4, 5)],
    ),
    ids=lambda cell: cell.name,
)  # fmt: skip
def test_a_tutorials_script_ends_as_one_process_does(tmp_path, cell):
    row = training_matrix.run_cell(replace(cell, steps=STEPS), tmp_path / "run")
    assert row.problems == []
    assert row.loss_last < 0.7 * row.loss_first, "it learns"
    assert row.off_float32 < 1e-3
    assert (row.packets_struck > 0) == (cell.loss_percent > 0)


@pytest.mark.minutes
def test_all_reduces_of_flat_gradients(tmp_path):
    weights, checks = train(tmp_path, Cell("SwitchML", 2, 1), "--steps", str(STEPS))
    assert weights == [program.reference(2, STEPS, as_integers)[0]] * 2
    assert checks["training"][1].startswith(f"2 ranks posted the same {STEPS} all-reduces in {STEPS} steps")


def test_data_parallel_with_several_buckets(tmp_path):
    """Of different size; a fold in rank order does not depend on their layout."""
    weights, checks = train(tmp_path, Cell("NetReduce gbn", 2, 1), "--ddp", "--bucket-mb", "0.002", "--steps", "50")
    assert weights == [program.reference(2, 50, in_rank_order)[0]] * 2
    assert "also over the network: 1 all_gather, 4 broadcast" in checks["training"][1]


def test_integers_of_32_bits_learn_as_floats_do():
    _, floats = program.reference(2, STEPS, in_rank_order)
    _, integers = program.reference(2, STEPS, as_integers)
    assert np.max(np.abs(np.array(floats) - np.array(integers))) < 1e-3


def test_the_reference_knows_the_fold_and_the_layout():
    """Whatever of the two were wrong, a cell would not pass."""
    wanted = program.reference(4, 5, round_the_ring, ddp=True)[0]
    others = [program.reference(4, 5, how, ddp=ddp)[0] for how, ddp in
              ((round_the_ring, False), (in_rank_order, True), (as_integers, True))]  # fmt: skip
    assert wanted not in others


def test_what_is_wrong_with_a_cell_is_named():
    assert training_matrix.judge(["a", "a"], [1.0], 2, "a", [1.0]) == []
    assert training_matrix.judge(["a", "b"], [1.0], 2, "a", [1.5]) == [
        "the ranks' weights differ", "the weights are not those of one process",
        "the losses are not those of one process",
    ]  # fmt: skip
    assert training_matrix.judge(["a"], [], 2, "a", []) == ["1 of 2 ranks told their weights"]


def test_cells_that_passed_are_not_run_again_and_others_are(tmp_path, monkeypatch, capsys):
    problems = {"ATP": [], "ESA": ["the ranks' weights differ"]}
    ran = []

    def run(cell, run_dir):
        ran.append(cell.protocol)
        return training_matrix.Row(cell.name, problems[cell.protocol], 2.0, 1.0, 1e-7, 0.5, 7, 1.0)

    monkeypatch.setattr(training_matrix, "run_cell", run)
    monkeypatch.setattr(training_matrix, "PROTOCOLS", {name: training_matrix.PROTOCOLS[name] for name in problems})
    monkeypatch.setattr("sys.argv", ["matrix", "--only", "2 ranks, 1 %", "--out", str(tmp_path)])
    assert [training_matrix.main(), training_matrix.main()] == [1, 1]
    assert ran == ["ATP", "ESA", "ESA"]
    problems["ESA"] = []
    assert training_matrix.main() == 0
    told = capsys.readouterr().out
    assert "| ESA, 2 ranks, 1 %, simulated, 200 steps | the ranks' weights differ | 2.000 → 1.000 | 1.0e-07 |" in told
    assert told.endswith("2 of 2 cells passed\n")
