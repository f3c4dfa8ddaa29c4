"""What the backend does, and what it says of what it cannot do: two real ranks over a simulated rack."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed: the backend of torch.distributed is not tested")

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(__file__).with_name("collectives_program.py")


def run(folder, *words, options=()):
    """(exit code, lines of both ranks, checks, what they wrote to stderr)"""
    process = subprocess.run(
        [
            sys.executable, "-P", "-m", "testbed", "train", "rack", "--world", "simulated", "--set", "topology.hosts=2",
            "--out", str(folder / "run"), "--timeout", "30s", *options, "--", str(PROGRAM), *words,
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "400"}, capture_output=True, text=True, timeout=200,
        check=False,
    )  # fmt: skip
    lines = sorted(re.findall(r"^\[rank \d\] (.*)$", process.stdout, re.MULTILINE))
    result = json.loads((folder / "run" / "result.json").read_text())
    checks = {check["name"]: (check["verdict"], check["detail"]) for check in result["checks"]}
    return process.returncode, lines, checks, process.stderr


def test_every_collective_is_right_and_counted(tmp_path):
    """And sums come back while the backward pass goes on."""
    parts = ("groups", "overlap", "store", "sums")
    code, lines, checks, errors = run(tmp_path, *parts)
    assert (code, lines) == (0, [f"{part} right" for part in parts for _ in range(2)]), errors
    assert checks["bit_exact"][0] == "pass"
    verdict, detail = checks["training"]
    assert verdict == "pass"
    assert detail.startswith("2 ranks posted the same 18 all-reduces, and ended in order; also over the network: ")
    assert "11 all_reduce" in detail, detail
    for what in ("all_gather", "all_to_all", "barrier", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"):
        assert f" {what}" in detail


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("shape", ("collective 0 differs: rank 0 posted all_reduce of 10 float32 (sum); rank 1 posted all_reduce of 11 "
                  "float32 (sum)")),
        ("dtype", ("collective 0 differs: rank 0 posted all_reduce of 10 float64 (sum); rank 1 posted all_reduce of 10 "
                  "float32 (sum)")),
    ],
)  # fmt: skip
def test_ranks_that_differ_both_hear_why(tmp_path, what, told):
    code, lines, checks, errors = run(tmp_path, f"fail:{what}")
    assert code == 1
    assert checks["training"] == ("fail", told)
    assert len(lines) == 2, errors
    assert all(line.endswith(told) for line in lines), lines


def test_what_cannot_be_done_is_named(tmp_path):
    _, lines, _, errors = run(tmp_path, "fail:sparse")
    assert len(lines) == 2, errors
    told = (
        "the backend ina does all_reduce on dense tensors in the processor's memory. This tensor is on cpu with layout "
        "torch.sparse_coo"
    )
    assert all(told in line for line in lines), lines


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_is_killed_is_the_reason_also_where_it_held_the_store(tmp_path, victim):
    code, lines, checks, errors = run(tmp_path, f"killed:{victim}")
    assert code == 1
    told = f"rank {victim} ended: signal 9"
    assert checks["training"][0] == "fail"
    assert checks["training"][1].startswith(told)
    assert lines == [f"NetworkFailed: {told}"], errors


def test_a_dead_link_is_an_exception_in_the_backward_pass_of_data_parallel(tmp_path):
    """Not a hang, and not a process that dies without a traceback."""
    # Behind the broadcasts of the weights.
    cut = "faults=[{kind: link_down, name: cut, links: [h2-s1], from: 100ms}]"
    options = ("--set", cut, "--set", "transport.timeout=10", "--set", "transport.retry_count=3")
    code, lines, checks, errors = run(tmp_path, "ddp", options=options)
    assert code == 1
    verdict, detail = checks["training"]
    assert verdict == "fail"
    assert "gave up with RETRY_EXC" in detail
    assert len(lines) == 2, errors
    assert all(line.startswith("RuntimeError: ") and f"NetworkFailed: {detail}" in line for line in lines), lines
