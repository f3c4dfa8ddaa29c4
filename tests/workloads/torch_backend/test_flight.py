"""Dumps of PyTorch itself are read, and PyTorch's analyser reads ours."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.explain.hang import find_hang
from tests.support.floors import ROOT
from tests.testbed.train.calls import tb
from workloads.traces.flight import read_dumps

pytest.importorskip("torch", reason="torch is not installed: dumps of its flight recorder are not tested")

_JOB = """
import os, sys, time
import torch, torch.distributed as dist
backend, hangs, folder = sys.argv[1:]
dist.init_process_group(backend)
rank = dist.get_rank()
pair = dist.new_group([0, 1])
dist.all_reduce(torch.ones(5))
dist.broadcast(torch.ones(3, 2), 0, group=pair)
parts = [torch.zeros(4, 2) for _ in range(2)]
dist.all_gather(parts, torch.ones(4, 2))
if hangs == "yes" and rank == 1:
    time.sleep(0 if backend == "gloo" else 60)
else:
    work = dist.all_reduce(torch.ones(7, 2), async_op=True)
    if hangs == "no" or backend == "ina":
        work.wait()
if backend == "gloo":
    from torch._C._distributed_c10d import _dump_fr_trace
    time.sleep(0.5)
    with open(f"{folder}/rank_{rank}", "wb") as file:
        file.write(_dump_fr_trace(True, True, False))
    end = time.monotonic() + 60
    while not os.path.exists(f"{folder}/rank_{1 - rank}") and time.monotonic() < end:
        time.sleep(0.1)  # a peer that is gone would end the collective of the other rank
    os._exit(0)
"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _gloo(folder: Path, hangs: str) -> None:
    """Two ranks of PyTorch's own backend leave their dumps."""
    script = folder.with_suffix(".py")
    script.write_text(_JOB)
    folder.mkdir()
    common = {
        **os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port()), "WORLD_SIZE": "2",
        "TORCH_FR_BUFFER_SIZE": "100",
    }  # fmt: skip
    words = [sys.executable, "-P", str(script), "gloo", hangs, str(folder)]
    ranks = [subprocess.Popen(words, env=common | {"RANK": str(rank)}) for rank in range(2)]
    assert [rank.wait(120) for rank in ranks] == [0, 0]


def test_a_hang_is_named_from_the_dumps_of_torch(tmp_path: Path) -> None:
    _gloo(tmp_path / "dumps", "yes")
    found = find_hang(read_dumps(tmp_path / "dumps"))
    (call,) = found.calls
    assert call.text == "collective 3 of group 0 (default_pg), all_reduce of 7 x 2 Float"
    assert (call.waiting, call.missing, found.ends) == ((0,), (1,), ("rank 1",))
    assert "dumps.py:" in found.newest[0], "the line of the script"


@pytest.mark.minutes
def test_a_healthy_training_of_torch_is_not_blamed(tmp_path: Path) -> None:
    _gloo(tmp_path / "dumps", "no")
    assert find_hang(read_dumps(tmp_path / "dumps")).calls == ()


@pytest.mark.minutes
def test_the_analyser_of_torch_reads_our_dumps(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(_JOB)
    run = tmp_path / "run"
    done = tb(
        "train", "rack", "--world", "simulated", "--set", "topology.hosts=2", "--timeout", "3s", "--out", str(run),
        "--", str(script), "ina", "yes", "-",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    dumps = run / "flight-recorder"
    (call,) = find_hang(read_dumps(dumps)).calls
    assert (call.waiting, call.missing) == ((0,), (1,))
    words = [sys.executable, "-P", "-m", "torch.distributed.flight_recorder.fr_trace", str(dumps), "-p", "rank_"]
    told = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=120, check=True)
    said = told.stdout + told.stderr
    assert "sequence number: 3" in said, said
    assert "missing ranks: {1}" in said
    assert "MISMATCH" not in said
