"""The order of a measurement, what it does without a peer, and one small run with real packets."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from testbed.bench import BenchOptions, registry, run_bench
from testbed.bench.peers import bench, gloo, kernel_tcp, openmpi
from testbed.bench.peers.cases import SUBJECTS, Grid, PeerBenchCase, Sample
from testbed.kernel.ledger import state_dir

_GRID = Grid((2,), (400_000,), (0.0, 0.01), 2)


class _Fake:
    def __init__(self, name: str) -> None:
        self._name = name

    def measure(self, case: PeerBenchCase, repeat: int) -> Sample:
        return Sample(self._name, case, repeat, 1.0, 0)


@pytest.fixture
def faked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Nothing is sent; the networks that were opened."""
    opened: list[str] = []

    @contextmanager
    def network(topology: Any) -> Iterator[None]:
        opened.append(f"{len(topology.hosts)} hosts")
        yield None

    @contextmanager
    def peer(name: str) -> Iterator[_Fake]:
        yield _Fake(name)

    monkeypatch.setattr(kernel_tcp, "open_network", network)
    monkeypatch.setattr(
        kernel_tcp, "_PEERS", {name: lambda network, name=name: peer(name) for name in ("gloo", "openmpi")}
    )
    monkeypatch.setattr(kernel_tcp, "_MISSING", {"gloo": lambda: "", "openmpi": lambda: ""})
    monkeypatch.setattr(
        bench, "measure_ours", lambda subject, case, repeat, dilation: Sample(subject, case, repeat, 1.0, 0, "pass")
    )
    return opened


def test_subjects_take_turns(faked: list[str], tmp_path: Path) -> None:
    said: list[str] = []
    report = bench.bench_peers(said.append, BenchOptions(plot=tmp_path / "plot.svg"), grid=_GRID)
    assert faked == ["2 hosts"]
    turns = [line.split(",")[0] for line in said if "times M/B" in line]
    assert turns == [*SUBJECTS] * 4, "each repeat runs all of them once"
    assert len(report.rows) == 2 * len(SUBJECTS)
    assert (tmp_path / "plot.svg").exists()


@pytest.mark.protocols("ring")
def test_a_missing_peer_is_named_and_the_rest_is_measured(
    faked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kernel_tcp, "_MISSING", {"gloo": lambda: "torch (pip)", "openmpi": lambda: ""})
    said: list[str] = []
    options = BenchOptions(plot=tmp_path / "plot.svg", repeats=1)
    report = bench.bench_peers(said.append, options, grid=_GRID)
    assert said[0] == "gloo is left out: torch (pip) is missing"
    assert [row.what.split(",")[0] for row in report.rows[:5]] == [*SUBJECTS[1:]]
    assert "gloo was left out: torch (pip) is missing" in list(report.lines(80))


def test_without_any_peer_no_network_is_made_for_them(
    faked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kernel_tcp, "_MISSING", {"gloo": lambda: "a", "openmpi": lambda: "b"})
    report = bench.bench_peers(lambda text: None, BenchOptions(plot=tmp_path / "plot.svg"), grid=_GRID)
    assert faked == []
    assert {row.what.split(",")[0] for row in report.rows} == set(SUBJECTS[2:])


def test_a_report_with_a_table_of_its_own_prints_no_empty_one(
    faked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "FULL", _GRID)
    options = BenchOptions(plot=tmp_path / "plot.svg", csv=tmp_path / "peers.csv", repeats=1)
    assert run_bench("peers", options=options) == 0
    assert "measured" not in capsys.readouterr().out
    assert len((tmp_path / "peers.csv").read_text().splitlines()) == 1 + 2 * len(SUBJECTS)
    (tmp_path / "peers.csv").unlink()
    assert run_bench("peers", as_json=True, options=options) == 0
    documents = json.loads(capsys.readouterr().out)
    assert all(row["machine"] and row["repeats"] == 1 and row["dilation"] == 1 for row in documents)
    assert "peers" in registry.benches()


@pytest.mark.root
@pytest.mark.mininet
@pytest.mark.ebpf
@pytest.mark.minutes
def test_small_all_reduces_of_others_are_right_and_meet_losses() -> None:
    if os.geteuid():
        pytest.skip("needs root")
    runs_before = set(state_dir().iterdir()) if state_dir().exists() else set()
    absent = [name for name, missing in (("gloo", gloo.missing()), ("openmpi", openmpi.missing())) if missing]
    if len(absent) == 2:
        pytest.skip("neither torch nor OpenMPI is here")
    grid = Grid((2,), (2_000_000,), (0.0, 0.05), 1)
    found = {
        (sample.subject, sample.case.loss): sample
        for sample in bench._measure(grid, 1, 1, dict.fromkeys(absent, "missing"))
    }
    there = [subject for subject in SUBJECTS if subject not in absent]
    assert sorted(found) == sorted((subject, loss) for subject in there for loss in (0.0, 0.05))
    for (_, loss), sample in found.items():
        # Whatever the algorithm, a host's link carries the whole gradient once.
        assert sample.seconds > 0.9 * sample.case.least_s
        assert (sample.lost > 0) == (loss > 0)
    started = set(state_dir().iterdir()) if state_dir().exists() else set()
    assert {path for path in started - runs_before if path.name.startswith("ina-peers-")} == set()
