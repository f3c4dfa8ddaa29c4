"""What the benchmark of the backend reads of its runs."""

import json

import pytest

from benchmarks import training_overhead
from benchmarks.training_overhead import Setting, bare_s, ranks_s

SMALL = Setting(world="simulated", size_bytes=40_000, times=3)


def test_the_collective_alone_is_timed_by_its_workers(tmp_path):
    folder = tmp_path / "run"
    found = bare_s(SMALL, folder)
    iterations = json.loads((folder / "result.json").read_text())["metrics"]["iterations_s"]
    assert len(iterations) == 4
    assert found == sorted(iterations[1:])[1]


def test_an_all_reduce_takes_as_long_as_its_slowest_rank(tmp_path, monkeypatch):
    called = []
    told = "[rank 1] seconds [0.5, 0.1, 0.3]\nsomething else\n[rank 0] seconds [0.2, 0.4, 0.1]\n"
    monkeypatch.setattr(training_overhead, "_call", lambda words: called.append(words) or told)
    assert ranks_s(SMALL, tmp_path / "run") == 0.4
    assert called[0][:2] == ["train", "rack"]
    assert called[0][-4:] == ["--bytes", "40000", "--times", "3"]
    with pytest.raises(SystemExit, match="2 of 3 ranks told their times"):
        ranks_s(Setting(world="simulated", hosts=3), tmp_path / "run")


def test_ranks_of_torch_are_timed(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed: the backend is not timed")
    assert ranks_s(SMALL, tmp_path / "run") > 0
