"""gloo and OpenMPI among the runs of `tb bench loss`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.bench.loss import bench, peers
from testbed.bench.loss.bench import cost_table
from testbed.bench.loss.cases import LOSS_KEY, LossCase, cases_of
from testbed.bench.loss.peers import has_peers, with_peers
from testbed.bench.options import BenchOptions
from testbed.bench.peers.cases import PeerBenchCase as PeerCase
from testbed.bench.peers.cases import Sample
from testbed.sweeps.groups import groups_of
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.scenario_model import Outcome, ScenarioSweep
from testbed.sweeps.scenario_points import make_points

pytestmark = pytest.mark.protocols("loss-rack-4")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, set[str]]]:
    """Nothing is sent: each all-reduce takes 1 s, and 2 s at 1 %. What was opened: hosts, and who is absent."""
    found: list[tuple[int, set[str]]] = []

    class Fake:
        def __init__(self, name: str) -> None:
            self.name = name

        def measure(self, case: Any, repeat: int) -> Sample:
            assert case.size_bytes == 1_000_000
            return Sample(self.name, case, repeat, 2.0 if case.loss == 0.01 else 1.0, 0)

    @contextmanager
    def on(topology: Any, absent: Collection[str]) -> Iterator[dict[str, Fake]]:
        found.append((len(topology.hosts), set(absent)))
        yield {name: Fake(name) for name in ("gloo", "openmpi") if name not in absent}

    monkeypatch.setattr(peers, "peers_on", on)
    monkeypatch.setattr(peers, "missing_peers", dict)
    return found


def finished(case: LossCase) -> FinishedScenarios:
    points = tuple(make_points(case.sweep))
    outcomes = tuple(Outcome("done", "pass", {"jct_s": 0.1}) for _ in points)
    return FinishedScenarios(case.sweep, points, outcomes, tuple("x" for _ in points), 0, 0, "code", Path())


def rack_of(workers: int, world: str = "emulated") -> LossCase:
    [case] = [case for case in cases_of(world) if case.network == "rack" and case.workers == workers]
    return replace(case, sweep=replace(case.sweep, variants=case.sweep.variants[:1]))


@pytest.mark.parametrize("workers", [4, 8])
def test_they_are_rows_of_the_table_like_the_others(opened: list[tuple[int, set[str]]], workers: int) -> None:
    case = rack_of(workers)
    done = with_peers(case, finished(case), lambda text: None)
    assert opened == [(workers, set())]
    lines = [line.split("  ") for line in cost_table(case, groups_of(done), 100)]
    table = {line[1].strip(): [cell.strip() for cell in line[2:] if cell.strip()] for line in lines[1:]}
    assert table["gloo (TCP)"] == table["OpenMPI (TCP)"] == ["1.00 s", "1.00", "2.00"]
    assert list(table) == ["NetReduce gbn", "gloo (TCP)", "OpenMPI (TCP)"]
    assert [variant.label for variant in done.sweep.variants] == list(table), "a plot has them"
    gloo = [point for point in done.points if point.values[case.sweep.variant_name] == "gloo (TCP)"]
    assert [(point.values[LOSS_KEY], point.seed) for point in gloo] == [
        (rate, seed) for rate in (0.0, 0.001, 0.01) for seed in (1, 2, 3)
    ]


def test_what_is_missing_is_told_and_left_out(
    opened: list[tuple[int, set[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "missing_peers", lambda: {"gloo": "torch (pip)"})
    said, case = list[str](), rack_of(4)
    done = with_peers(case, finished(case), said.append)
    assert said[0] == "rack, 4 workers: gloo is left out: torch (pip) is missing"
    assert [variant.label for variant in done.sweep.variants] == ["NetReduce gbn", "OpenMPI (TCP)"]
    assert opened == [(4, {"gloo"})]


def test_only_real_packets_on_one_bridge_have_peers() -> None:
    emulated, simulated = (cases_of(world) for world in ("emulated", "simulated"))
    assert [has_peers(case) for case in emulated] == [case.network == "rack" for case in emulated]
    assert not any(map(has_peers, simulated))


def test_the_bench_shows_them_behind_the_sweep_of_a_rack(
    opened: list[tuple[int, set[str]]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    by_name = {case.sweep.name: case for case in cases_of("emulated", quick=True, seeds=1)}

    def swept(say: object, title: str, sweep: ScenarioSweep, folder: Path, processes: int) -> FinishedScenarios:
        folder.mkdir(parents=True)
        return finished(by_name[sweep.name])

    monkeypatch.setattr(bench, "run_swept", swept)
    monkeypatch.setattr(peers, "_measure", lambda case, *_: [Sample("gloo", PeerCase(4, 4, 0.0), 1, 0.25, 0)])
    report = bench.bench_loss(lambda text: None, "emulated", BenchOptions(quick=True, seeds=1))
    shown = [row.what for row in report.rows if row.what.startswith("gloo")]
    assert shown == ["gloo (TCP), rack, 4 workers, 0 % loss"]
    assert "gloo (TCP)" in (tmp_path / "runs" / "bench-loss" / "loss-rack-4-emulated" / "plot-jct_s.svg").read_text()
