"""Points on the workers of a Dask scheduler: two worker processes of this machine, over loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.sweeps import ScenarioSweep, load_sweep
from testbed.sweeps import dask as ours
from testbed.sweeps.engine import run_sweep
from testbed.sweeps.scenario_engine import run_scenario_sweep
from testbed.sweeps.scenario_loader import SweepWords
from testbed.sweeps.scenario_model import Point
from testbed.sweeps.where import computing, computing_models
from workloads.errors import HostCapabilityError, ScenarioError

distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None, silence_logs=50
    ) as made:
        yield made


def lossy(*worlds: str) -> ScenarioSweep:
    words = SweepWords(
        ["faults.loss.rate=0,5%"],
        seeds=2,
        worlds=worlds,
        overrides=["job.size=8kB", "transport.timeout=10"],
        variants={"right": {}, "wrong": {"faults.loss.rate": "300%"}},
    )
    asked = load_sweep(["rack-lossy"], words)
    assert isinstance(asked, ScenarioSweep)
    return asked


def silent(done: int, total: int, reused: int) -> None:
    pass


def test_workers_elsewhere_find_what_processes_here_do(cluster: Any, tmp_path: Path) -> None:
    there = run_scenario_sweep(
        lossy("simulated"), tmp_path / "there", computing(None, cluster.scheduler_address), silent
    )
    here = run_scenario_sweep(lossy("simulated"), tmp_path / "here", computing(1, None), silent)
    assert [outcome.figures for outcome in there.outcomes] == [outcome.figures for outcome in here.outcomes]
    assert [outcome.status for outcome in there.outcomes] == ["done"] * 4 + ["invalid"] * 4
    kept = tmp_path / "there" / "points" / there.names[0] / "result.json"
    assert kept.is_file(), "results come back to who asked"


def test_models_go_there_too(cluster: Any, tmp_path: Path) -> None:
    sweep = load_sweep(["netreduce-scale"], SweepWords(["gpus=32", "alpha=1us,10us", "size=1MB", "intra_rate=126Gbps"]))
    assert not isinstance(sweep, ScenarioSweep)
    there = run_sweep(sweep, tmp_path / "there", 2, silent, computing_models(cluster.scheduler_address))
    here = run_sweep(sweep, tmp_path / "here", 1, silent)
    assert [result["seconds"] for _, result in there.rows] == [result["seconds"] for _, result in here.rows]


def test_points_in_real_time_need_a_worker_with_root(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ours, "is_root", _nobody)
    done = run_scenario_sweep(
        lossy("simulated", "emulated"), tmp_path, computing(None, cluster.scheduler_address), silent
    )
    valid = [
        (point.world, outcome.status) for point, outcome in zip(done.points, done.outcomes, strict=True) if point.text
    ]
    assert set(valid) == {("simulated", "done"), ("emulated", "failed")}
    (reason,) = {outcome.reason for outcome in done.outcomes if outcome.status == "failed"}
    assert reason == f"no worker of {cluster.scheduler_address} has root, which the emulated world needs"


def test_what_a_worker_raises_is_an_outcome_of_its_point_and_ends_a_sweep_of_models(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ours, "compute_point", _raises)
    monkeypatch.setattr(ours, "compute_batch", _raises)
    points = [Point((), seed, "simulated", "") for seed in range(2)]
    found = dict(ours.compute_points(cluster.scheduler_address, points))
    assert sorted(found) == [0, 1]
    assert {(each["status"], each["reason"]) for each in found.values()} == {("failed", "lost: nothing is there")}
    with pytest.raises(LookupError, match="nothing is there"):
        list(ours.compute_batches(cluster.scheduler_address, [[]]))


def _raises(*_: object, **__: object) -> None:
    raise LookupError("nothing is there")


def _nobody() -> bool:
    return False


def test_workers_with_other_code_are_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their results would be kept as ours."""
    monkeypatch.setattr(ours, "code_version", _another)
    with pytest.raises(ScenarioError, match="--scheduler: workers have other code than this machine; found tcp://"):
        next(ours.compute_points(cluster.scheduler_address, []))


def _another() -> str:
    """On the workers and here alike a version of its own."""
    import os

    return str(os.getpid())


def test_a_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "_CONNECT_S", 1)
    with pytest.raises(ScenarioError) as caught:
        next(ours.compute_points("tcp://127.0.0.1:9", []))
    assert str(caught.value) == (
        "tb sweep: --scheduler: no Dask scheduler can be reached there; found tcp://127.0.0.1:9; allowed: as "
        "tcp://10.0.0.1:8786, "
        "which `dask scheduler` prints"
    )


def test_without_distributed_it_says_how_to_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(HostCapabilityError, match=r"distributed.*pip install 'ina-testbed\[dask\]'"):
        next(ours.compute_points("tcp://127.0.0.1:9", []))
