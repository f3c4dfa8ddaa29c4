"""torchrun starts ranks again after one of them died: what they then sum is of the second life alone."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed: trainings over torch.distributed are not tested")

from testbed.train.ranks import free_port

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
import os, torch, torch.distributed as dist
life = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
dist.init_process_group("ina")
rank = dist.get_rank()
x = torch.full((100,), float(rank + 1 + 10 * life))
dist.all_reduce(x)
if life == 0 and rank == 1:
    os._exit(1)
y = torch.ones(3)
dist.all_reduce(y)
# One write: print writes a line's end by itself where PYTHONUNBUFFERED is set, and both ranks share the pipe.
os.write(1, f"life {life} rank {rank}: {x[0].item():g} {y[0].item():g}\\n".encode())
dist.destroy_process_group()
"""


@pytest.mark.minutes
def test_ranks_come_back_under_torchrun(tmp_path):
    place, run_dir, script = tmp_path / "place", tmp_path / "run", tmp_path / "train.py"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "400"}
    words = [sys.executable, "-P", "-m", "testbed"]
    network = ["up", "rack", "--world", "simulated", "--set", "topology.hosts=2", "--place", str(place)]
    up = subprocess.Popen([*words, *network, "--out", str(run_dir)], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while not (place / "site").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        done = subprocess.run(
            [
                sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", "1",
                "--master-port", str(free_port()), str(script),
            ],
            env={**os.environ, "PYTHONPATH": str(place / "site"), "INA_SOCKET": str(place / "ranks.sock")},
            capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert sorted(done.stdout.splitlines()) == ["life 1 rank 0: 23 2", "life 1 rank 1: 23 2"]
        subprocess.run([*words, "down", "--place", str(place)], env=environment, check=True)
        up.communicate(timeout=60)
    finally:
        up.kill()
    result = json.loads((run_dir / "result.json").read_text(encoding="utf-8"))
    verdicts = {check["name"]: check["verdict"] for check in result["checks"]}
    assert (verdicts["bit_exact"], verdicts["training"]) == ("pass", "fail"), (
        "a rank died, and what was summed is right"
    )
    assert "rank 1 ended: its process ended without a word" in str(result["checks"])
