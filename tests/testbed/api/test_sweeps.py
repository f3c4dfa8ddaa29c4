"""`tb.sweep`: from scripts, notebooks and threads."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

import testbed as tb

_TOP = Path(__file__).resolve().parents[3]
SMALL = {"job.size": "8kB", "transport.timeout": 10}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tb.SweepResult:
    return tb.sweep(
        "rack-lossy", axes={"faults.loss.rate": [0, "5%"]}, seeds=3, worlds="simulated", set=SMALL, jobs=1,
        out=tmp_path_factory.mktemp("sweeps") / "sweep",
    )  # fmt: skip


def test_rows_groups_and_files(swept: tb.SweepResult) -> None:
    assert swept.as_expected
    assert [(row["faults.loss.rate"], row["seed"]) for row in swept.rows] == [
        (r, s) for r in ("0", "5%") for s in (1, 2, 3)
    ]
    none, some = (group.summary("jct_s") for group in swept.groups)
    assert none is not None
    assert some is not None
    assert some.median > none.median
    assert "jct_s, median of 3 seeds" in swept.summary()
    assert swept.document["verdicts"] == {"pass": 6}
    assert {path.name for path in swept.folder.iterdir()} >= {"results.csv", "results.json", "summary.csv", "points"}


def test_a_point_can_be_loaded_and_run_again(swept: tb.SweepResult, tmp_path: Path) -> None:
    row = swept.rows[4]
    folder = swept.folder / "points" / row["point"]
    point = tb.load(folder)
    assert (point.seed, point.figures["jct_s"]) == (2, row["jct_s"])
    again = tb.run(folder / "scenario.yaml", out=tmp_path / "again")
    assert again.figures == point.figures
    with pytest.raises(tb.ScenarioError, match=r"no history\.jsonl in it"):
        point.history  # noqa: B018


def test_a_table(swept: tb.SweepResult) -> None:
    pd = pytest.importorskip("pandas")
    table = swept.frame()
    assert isinstance(table, pd.DataFrame)
    assert table.groupby("faults.loss.rate")["jct_s"].median()["5%"] > 0


def test_plots_and_the_matrix(swept: tb.SweepResult, tmp_path: Path) -> None:
    assert [path.name for path in swept.plot(tmp_path)] == ["plot-jct_s.svg", "plot-jct_s.pdf", "plot-jct_s.py"]
    assert (
        swept.matrix(tmp_path / "m.html").read_text(encoding="utf-8").count("\u2713 pass") == 3
    )  # two cells, and what the mark means


def test_variants_and_progress_off_the_main_thread(tmp_path: Path) -> None:
    heard: list[tuple[int, int, int]] = []
    made: list[tb.SweepResult] = []

    def work() -> None:
        made.append(
            tb.sweep(
                ["rack"],
                variants={"plain": {}, "slow": {"topology.link.rate": "1Mbps"}},
                set={"job.size": "8kB"},
                worlds="simulated",
                jobs=1,
                out=tmp_path / "sweep",
                on_progress=lambda *counts: heard.append(counts),
            )
        )

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert heard == [(0, 2, 0), (1, 2, 0), (2, 2, 0)]
    plain, slow = (row["jct_s"] for row in made[0].rows)
    assert slow > 50 * plain


def test_a_script_without_a_main_guard_may_sweep(tmp_path: Path) -> None:
    """Worker processes do not import the script again."""
    script = tmp_path / "script.py"
    script.write_text(
        "import testbed as tb\nprint('once')\n"
        "swept = tb.sweep('rack', axes={'topology.hosts': [2, 3]}, worlds='simulated', set={'job.size': '8kB'}, "
        "jobs=2, out='sweep')\n"
        "print(len(swept.rows), swept.as_expected)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env={"PYTHONPATH": str(_TOP), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True,
        timeout=100, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("once\n2 True\n", "")


def test_a_sweep_of_models_is_not_one_of_scenarios() -> None:
    with pytest.raises(
        tb.ScenarioError, match="is a sweep of models, not of scenarios; allowed: `tb sweep` computes it"
    ):
        tb.sweep("netreduce-scale")


def test_an_argument_that_there_is_not_is_named() -> None:
    with pytest.raises(TypeError, match=r"sweep\(\) has no argument axis"):
        tb.sweep("rack", axis={"topology.hosts": [2, 3]})  # type: ignore[call-arg]
