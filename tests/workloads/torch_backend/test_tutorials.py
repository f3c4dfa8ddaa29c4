"""Scripts in the style of public tutorials (`tests/data/training/tutorials`): over the backend `ina` each ends as over
gloo. With two ranks a sum does not depend on its order, so that all values are equal, bit for bit."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytest.importorskip("torch", reason="torch is not installed: trainings over torch.distributed are not tested")

from testbed.train.ranks import free_port

ROOT = Path(__file__).resolve().parents[3]
RUN = ROOT / "tests" / "data" / "training" / "run_tutorials.py"
NAMES = tuple(sorted(path.stem for path in RUN.with_name("tutorials").glob("*.py") if path.stem != "common"))
BATCH = 8
"""scripts that share the start of their processes"""
GLOO_TRIES, GLOO_S = 3, 85
"""of the reference, which is not what is tested; seconds of each"""
QUICK = ("ddp", "recreated", "fsdp2", "objects")


@cache
def outputs(names, backend):
    """What the ranks printed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "400", "BE": backend, "OMP_NUM_THREADS": "1"}
    if backend == "ina":
        with TemporaryDirectory() as folder:
            command = [
                sys.executable, "-P", "-m", "testbed", "train", "rack", "--world", "simulated", "--set",
                "topology.hosts=2", "--out", f"{folder}/run", "--timeout", "60s", "--", str(RUN), *names,
            ]  # fmt: skip
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500, check=False)
            return re.sub(r"^\[rank \d\] ", "", done.stdout + done.stderr, flags=re.MULTILINE)
    for _ in range(GLOO_TRIES - 1):
        with suppress(subprocess.TimeoutExpired):
            return over_gloo(names, environment)
    return over_gloo(names, environment)


def over_gloo(names, environment):
    """Raises subprocess.TimeoutExpired: gloo itself hangs now and then while it makes or ends groups."""
    port = free_port() // 2  # below the ports that the kernel gives away: groups take those that follow
    ranks = [
        subprocess.Popen(
            [sys.executable, str(RUN), *names], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2",
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)},
        )
        for rank in range(2)
    ]  # fmt: skip
    try:
        return "".join(rank.communicate(timeout=GLOO_S)[0] for rank in ranks)
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()


def results(name, names, backend):
    """The lines `result RANK ...` of a script, in the order of ranks."""
    printed = outputs(names, backend)
    parts = re.split(r"^script (\S+)$", printed, flags=re.MULTILINE)
    found = [line for script, text in zip(parts[1::2], parts[2::2], strict=True) if script == name
             for line in text.splitlines() if line.startswith("result ")]  # fmt: skip
    assert found, f"{name} printed no result over {backend}:\n{printed[-3000:]}"
    return sorted(found)


def batch_of(name):
    if name in QUICK:
        return QUICK
    others = [other for other in NAMES if other not in QUICK]
    start = others.index(name) // BATCH * BATCH
    return tuple(others[start : start + BATCH])


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.minutes) for name in NAMES]
)
def test_a_tutorial_ends_as_over_gloo(name):
    assert "refused" not in "".join(ours := results(name, batch_of(name), "ina"))
    assert ours == results(name, batch_of(name), "gloo")
