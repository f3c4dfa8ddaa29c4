"""Small scripts that once gave wrong values or hung (`tests/data/training/cases`; the first lines of each say what is
right)."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed: the backend of torch.distributed is not tested")

ROOT = Path(__file__).resolve().parents[3]
CASES = ROOT / "tests" / "data" / "training" / "cases"


def run(folder, name, ranks, timeout="30s"):
    """(exit code, lines of each rank, verdict and detail of the check `training`)"""
    done = subprocess.run(
        [
            sys.executable, "-P", "-m", "testbed", "train", "rack", "--world", "simulated", "--set",
            f"topology.hosts={ranks}", "--out", str(folder / "run"), "--timeout", timeout, "--",
            str(CASES / f"{name}.py"),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "400"}, capture_output=True, text=True, timeout=200,
        check=False,
    )  # fmt: skip
    lines = {rank: re.findall(rf"^\[rank {rank}\] (.*)$", done.stdout, re.MULTILINE) for rank in range(ranks)}
    checks = {check["name"]: check for check in json.loads((folder / "run" / "result.json").read_text())["checks"]}
    return done.returncode, lines, (checks["training"]["verdict"], checks["training"]["detail"])


def test_a_group_that_is_made_again_sees_nothing_of_the_one_before(tmp_path):
    code, lines, _ = run(tmp_path, "stale_store_reinit", 3)
    assert (code, lines) == (0, {rank: [f"turn {turn} ok" for turn in range(3)] for rank in range(3)})


@pytest.mark.minutes
def test_an_expanded_tensor_is_refused_and_the_next_sum_is_right(tmp_path):
    code, lines, _ = run(tmp_path, "expanded_tensor_hang", 2)
    assert code == 0
    for found in lines.values():
        assert found[0].startswith("ERR ValueError all_reduce writes to a tensor of shape [10] and strides [0]")
        assert found[1:] == ["after [2.0, 2.0, 2.0]"]


@pytest.mark.minutes
def test_a_receive_may_come_before_the_send(tmp_path):
    code, lines, _ = run(tmp_path, "irecv_first_hang", 2)
    assert (code, lines) == (0, {0: ["got [1.0, 1.0] want 1.0"], 1: ["got [0.0, 0.0] want 0.0"]})


@pytest.mark.minutes
def test_wait_ends_in_time(tmp_path):
    code, lines, _ = run(tmp_path, "wait_timeout_ignored", 4)
    assert code == 0
    for rank in range(3):
        (line,) = lines[rank]
        found = re.fullmatch(r"raised CollectiveTimeout after (\d+\.\d) s", line)
        assert found, line
        assert 1 <= float(found[1]) < 7


@pytest.mark.minutes
def test_ranks_that_name_different_roots_are_refused(tmp_path):
    code, _, (verdict, detail) = run(tmp_path, "root_mismatch", 4)
    assert (code, verdict) == (1, "fail")
    assert detail == (
        "collective 0 differs: ranks 0, 2 posted broadcast of 3 float32 from rank 0; ranks 1, 3 posted broadcast of 3 "
        "float32 from rank 1"
    )


@pytest.mark.minutes
def test_no_result_joins_autograd(tmp_path):
    _, lines, _ = run(tmp_path, "requires_grad_tensors", 2)
    for rank, found in lines.items():
        assert [line.split()[0] for line in found] == ["ok"] * 7, found
        assert [line.split()[-1] for line in found[:3]] == ["False"] * 3
        assert found[-1].endswith("[0.0, 0.0]" if rank == 0 else "[1.0, 1.0]")


@pytest.mark.minutes
def test_groups_have_names(tmp_path):
    code, lines, _ = run(tmp_path, "group_name_not_set", 2)
    right = ["functional all_reduce [2.0, 2.0]", "device mesh DeviceMesh((2,), 'cpu', stride=(1,))"]
    assert (code, lines) == (0, {0: right, 1: right})


@pytest.mark.minutes
def test_truth_values_have_no_mean(tmp_path):
    code, lines, (verdict, detail) = run(tmp_path, "avg_bool_complex_int", 2)
    assert (code, verdict) == (1, "fail")
    assert "ValueError: the backend ina cannot do all_reduce (avg) of bool: truth values have no mean" in detail
    assert lines == {0: [], 1: []}
