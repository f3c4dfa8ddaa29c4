"""What the benchmark of bounded trainings asks for, and what it reads of its runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import bounded_training
from benchmarks.bounded_training import (
    Cell,
    Row,
    cells,
    command,
    main,
    missing,
    points_of_digits,
    points_of_script,
    run_cell,
    table,
)
from benchmarks.kept_rows import kept_rows
from tests.support.selection import some_at_once


def test_every_load_meets_every_bound_and_the_plain_server() -> None:
    beside = cells(["mlp"], True, 30, 1)
    assert len({cell.name for cell in beside}) == len(beside) == 50
    assert {cell.tenant for cell in beside} == set(range(0, 100, 10))
    assert [cell.protocol for cell in cells(["digits"], False, 30, 1)] == ["ps", "0", "1%", "2%", "5%"]


def test_a_tenant_sends_to_the_server_and_no_link_loses() -> None:
    words = " ".join(command(Cell("mlp", "5%", 40), Path("run")))
    assert "from: h5, to: h4, rate: 40Mbps" in words
    assert "faults=[]" in words
    assert "mlp.py --hidden 341 --steps 30 --every 10 --all-ranks" in words
    plain = " ".join(command(Cell("digits", "ps", 40), Path("run")))
    assert "from: h5, to: h6" in plain
    assert "workload: digits, iterations: 30" in plain
    assert "rate: 1%" in " ".join(command(Cell("digits", "2%"), Path("run")))


def test_the_worst_model_counts_when_the_last_host_has_the_sum() -> None:
    records = [
        {"event": "CollectiveCompleted", "iteration": 0, "completed_ns": 5 * 10**8},
        {"event": "TrainingProgress", "iteration": 0, "accuracy": 0.5},
        {"event": "CollectiveCompleted", "iteration": 0, "completed_ns": 7 * 10**8},
        {"event": "TrainingProgress", "iteration": 0, "accuracy": 0.25},
    ]
    assert points_of_digits(records) == [(1, 0.7, 0.25)]


def test_a_scripts_steps_take_the_time_of_their_all_reduces() -> None:
    records = [{"event": "AllReduceCarried", "network_ns": 10**8}] * 3 + [{"event": "RankStepped"}]
    said = (
        "[rank 0] step    2  loss 1.5000  held out 50.0% right\n[rank 1] step    2  loss 1.6000  held out 48.5% right\n"
        "tb: step 3: 3 all-reduces\n[rank 1] step    3  loss 0.9000  held out 60.0% right\n"
    )
    assert points_of_script(records, said) == [(2, 0.2, 0.485), (3, pytest.approx(0.3), 0.6)]


def test_rows_are_shown() -> None:
    good, bad = Row("a", [], [(10, 0.5, 0.75)], 1234), Row("b", ["exit code 1: x"], [], 0)
    assert table([good, bad]).splitlines()[2:] == ["| a | 0.50 s: 75.0% | 1,234 |", "| b | exit code 1: x | 0 |"]


def test_without_torch_it_says_so_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(bounded_training, "find_spec", lambda name: None if name == "torch" else object())
    monkeypatch.setattr(bounded_training, "run_cell", lambda cell, run_dir: Row(cell.name, [], [], 0))
    monkeypatch.setattr(sys, "argv", ["bounded_training", "--out", str(tmp_path)])
    assert missing("digits") == ()
    assert main() == 0
    out, err = capsys.readouterr()
    assert "mlp is left out: torch not installed" in err
    assert out.count("| digits, 1 % lost, ") == 5
    assert "| mlp" not in out
    assert len(kept_rows(tmp_path / "rows.jsonl", Row)) == 5


@pytest.mark.parametrize("model", some_at_once(bounded_training.MODELS, late=["mlp"]))
def test_a_cell_of_each_model(tmp_path: Path, model: str) -> None:
    if missing(model):
        pytest.skip(f"{' and '.join(missing(model))} not installed")
    row = run_cell(Cell(model, "5%", steps=3), tmp_path / "run")
    assert row.problems == []
    assert [steps for steps, _, _ in row.points] == [1, 2, 3]
    assert 0 < row.points[0][1] < row.points[-1][1] < 1
