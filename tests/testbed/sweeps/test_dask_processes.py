"""A Dask scheduler and workers as docs/sweeps.md starts them: processes of their own, over loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from testbed.sweeps.dask import compute_points
from testbed.sweeps.scenario_model import Point
from workloads.errors import LabError

ROOT = Path(__file__).resolve().parents[3]
Client = pytest.importorskip("distributed", reason="the extra `dask` is not installed").Client

_OTHER = """
from distributed import versions
ours = versions._version_cached
versions._version_cached = lambda name, ours=ours: "2020.1.0" if name == "distributed" else ours(name)
"""
_SWEEP = ("rack-lossy", "--axis", "faults.loss.rate=0,1%,5%", "--seeds", "4", "--world", "simulated",
          "--set", "job.size=200kB")  # fmt: skip
GOES_ON = "the same command goes on from what is kept"
_PATIENCE_S = 120.0


class Start:
    """Starts `dask WORDS`; `knows`: it can import our code."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made = folder, list[subprocess.Popen[str]]()

    def __call__(self, *words: str, knows: bool = True) -> subprocess.Popen[str]:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= {"PYTHONPATH": str(ROOT)} if knows else {}
        command = [sys.executable, "-P", "-m", "dask", *words, "--host", "127.0.0.1", "--no-dashboard"]
        with (self.folder / f"{len(self.made)}.log").open("w", encoding="utf-8") as log:
            process = subprocess.Popen(command, env=environment, cwd=self.folder, stdout=log, stderr=log, text=True)
        self.made.append(process)
        return process

    def log_of(self, process: subprocess.Popen[str]) -> str:
        return (self.folder / f"{self.made.index(process)}.log").read_text(encoding="utf-8")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    begin = Start(tmp_path)
    yield begin
    for process in begin.made:
        process.kill()
        process.wait()


def scheduler(start: Start, tmp_path: Path, *words: str, knows: bool = True) -> tuple[str, subprocess.Popen[str]]:
    path = tmp_path / "scheduler.json"
    process = start("scheduler", "--port", "0", "--scheduler-file", str(path), *words, knows=knows)
    wait_for(path.is_file)
    return str(json.loads(path.read_text(encoding="utf-8"))["address"]), process


def worker(start: Start, address: str, *, knows: bool = True) -> subprocess.Popen[str]:
    """It has registered."""
    process = start("worker", address, "--nworkers", "1", "--nthreads", "1", "--no-nanny", knows=knows)
    wait_for(lambda: "Registered to" in start.log_of(process))
    return process


def wait_for(ready: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not ready():
        assert time.monotonic() - began < _PATIENCE_S, "it did not come"
        time.sleep(0.05)


def sweep(out: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "testbed", "sweep", *_SWEEP, "--out", str(out), *words]
    return subprocess.Popen(
        command, cwd=out.parent, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """(exit code, the last line of its errors)."""
    _, errors = process.communicate(timeout=2 * _PATIENCE_S)
    return process.returncode, errors.strip().splitlines()[-1] if errors.strip() else ""


def first_result(out: Path) -> None:
    """Wait until something is done, and not all is."""
    results = out / "results.jsonl"
    wait_for(lambda: results.is_file() and results.stat().st_size > 0)
    assert len(results.read_text(encoding="utf-8").splitlines()) < 12, "there is no middle left"


def test_two_workers_find_what_this_machine_does_also_when_one_of_them_is_killed(start: Start, tmp_path: Path) -> None:
    address, _ = scheduler(start, tmp_path)
    first, _ = worker(start, address), worker(start, address)
    running = sweep(tmp_path / "there", "--scheduler", address)
    first_result(tmp_path / "there")
    first.kill()
    assert first.wait() != 0
    assert ended(running)[0] == 0
    assert ended(sweep(tmp_path / "here", "--jobs", "1"))[0] == 0
    there, here = ((tmp_path / name / "results.csv").read_bytes() for name in ("there", "here"))
    assert there == here
    assert len(here.splitlines()) == 1 + 12
    assert {path.name for path in (tmp_path / "there" / "points").iterdir()} == {
        path.name for path in (tmp_path / "here" / "points").iterdir()
    }


def test_a_scheduler_that_is_lost_ends_the_sweep_which_goes_on_later(start: Start, tmp_path: Path) -> None:
    address, process = scheduler(start, tmp_path)
    worker(start, address)
    running = sweep(tmp_path / "there", "--scheduler", address)
    first_result(tmp_path / "there")
    process.kill()
    code, said = ended(running)
    assert code == 75
    assert said.endswith(f"{address}: the connection to this Dask scheduler was lost; {GOES_ON}"), said
    kept = len((tmp_path / "there" / "results.csv").read_text(encoding="utf-8").splitlines()) - 1
    again = sweep(tmp_path / "there", "--jobs", "1")
    out, _ = again.communicate(timeout=2 * _PATIENCE_S)
    assert 0 < kept < 12
    assert f"computed now {12 - kept}, already there {kept}" in out


def test_a_sweep_does_not_wait_for_workers_that_are_gone(start: Start, tmp_path: Path) -> None:
    address, _ = scheduler(start, tmp_path)
    only = worker(start, address)
    running = sweep(tmp_path / "there", "--scheduler", address)
    first_result(tmp_path / "there")
    only.kill()
    code, said = ended(running)
    assert code == 75
    assert said.endswith(f"{address}: this Dask scheduler has lost all of its workers; {GOES_ON}"), said


def test_a_result_that_was_done_is_not_waited_for_when_the_last_worker_dies_with_it(
    start: Start, tmp_path: Path
) -> None:
    """The scheduler would compute it again on a worker that does not come."""
    address, _ = scheduler(start, tmp_path)
    only = worker(start, address)
    points = [Point((), seed, "simulated", f"a scenario that is none: {seed}") for seed in range(2)]
    results = compute_points(address, points)
    seen = [next(results)]
    with Client(address, set_as_default=False) as watching:
        wait_for(lambda: watching.run_on_scheduler(_all_done))
    only.kill()
    with suppress(LabError):
        seen += results
    assert {index for index, _ in seen} <= {0, 1}
    assert {outcome["status"] for _, outcome in seen} == {"invalid"}


def _all_done(dask_scheduler: Any) -> bool:
    return all(task.state == "memory" for task in dask_scheduler.tasks.values())


def test_a_scheduler_without_workers_and_workers_without_the_package_are_refused(start: Start, tmp_path: Path) -> None:
    address, _ = scheduler(start, tmp_path)
    assert ended(sweep(tmp_path / "there", "--scheduler", address)) == (
        64, f"tb sweep: --scheduler: has no workers; found {address}; allowed: `dask worker ADDRESS` first",
    )  # fmt: skip
    worker(start, address)
    worker(start, address, knows=False)
    code, said = ended(sweep(tmp_path / "there", "--scheduler", address))
    assert code == 64
    assert "--scheduler: a worker cannot run our code; found tcp://127.0.0.1:" in said
    assert "No module named 'testbed'" in said


def test_a_scheduler_with_another_version_of_dask_is_refused(start: Start, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(_OTHER, encoding="utf-8")
    address, _ = scheduler(start, tmp_path, "--preload", str(tmp_path / "other.py"))
    code, said = ended(sweep(tmp_path / "there", "--scheduler", address))
    assert code == 64
    assert "--scheduler: another version of Dask than on this machine; found the scheduler has dask " in said
    assert "distributed 2020.1.0; allowed: dask" in said


def test_a_scheduler_without_the_package_is_refused(start: Start, tmp_path: Path) -> None:
    address, _ = scheduler(start, tmp_path, knows=False)
    worker(start, address)
    code, said = ended(sweep(tmp_path / "there", "--scheduler", address))
    assert code == 64
    assert f"--scheduler: the scheduler cannot import our code; found {address}: " in said
    assert "No module named 'testbed'" in said
