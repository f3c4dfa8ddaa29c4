"""A sweep that is shown while it runs, that is killed, and whose runs fail, are refused or are not trusted."""

from __future__ import annotations

import csv
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.cli import main
from testbed.sweeps import ScenarioSweep, load_sweep
from testbed.sweeps.compute import failed
from testbed.sweeps.groups import groups_of
from testbed.sweeps.plots.write import write_plots
from testbed.sweeps.scenario_engine import FinishedScenarios, run_scenario_sweep
from testbed.sweeps.scenario_loader import SweepWords
from testbed.sweeps.scenario_model import Outcome, Point
from testbed.sweeps.scenario_report import scenario_summary, write_scenario_files
from testbed.sweeps.showing import read_sweep
from testbed.sweeps.table import GrowingTable
from testbed.sweeps.until import Until, run_until, until_lines

REFUSED = {"refused": {"faults.loss.rate": "200%"}}
LABELS = ("sound", "failing", "refused", "untrusted")


def mixed() -> ScenarioSweep:
    words = SweepWords(
        axes=["faults.loss.rate=1%,5%"], seeds=3, worlds=["simulated"],
        variants={label: {"description": label} | REFUSED.get(label, {}) for label in LABELS},
    )  # fmt: skip
    found = load_sweep(["rack-lossy"], words)
    assert isinstance(found, ScenarioSweep)
    return found


def answer(point: Point) -> dict[str, Any]:
    label = point.values["variant"]
    if label == "failing" and point.seed == 1:
        return failed("failed", "its process ended with signal SIGKILL")
    verdict, reason = ("fail", "sums: differ") if label == "failing" and point.seed == 2 else ("pass", "")
    figures = {"jct_s": None if label == "untrusted" else 0.01 * point.seed, f"rejected_frames.seed{point.seed}": 1}
    untimed = "the machine lagged" if label == "untrusted" else ""
    return {"status": "done", "verdict": verdict, "figures": figures, "reason": reason, "untimed": untimed,
            "wall_s": 0.5, "document": {"verdict": verdict}}  # fmt: skip


def instantly(points: Sequence[Point]) -> Iterator[tuple[int, dict[str, Any]]]:
    for index in reversed(range(len(points))):
        yield index, answer(points[index])


def quiet(done: int, total: int, reused: int) -> None:
    """Without output: the table is what counts."""


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_each_row_is_on_disk_when_the_next_run_begins(tmp_path: Path) -> None:
    seen = list[int]()

    def looking(points: Sequence[Point]) -> Iterator[tuple[int, dict[str, Any]]]:
        for index, outcome in instantly(points):
            seen.append(len(rows_of(tmp_path)))
            yield index, outcome

    run_scenario_sweep(mixed(), tmp_path, looking, quiet)
    assert seen == list(range(6, 24)), "six are refused before anything runs"
    row = rows_of(tmp_path)[-1]
    assert (row["variant"], row["faults.loss.rate"], row["seed"], row["jct_s"]) == ("sound", "1%", "1", "0.01")


def test_a_new_column_keeps_the_rows_before(tmp_path: Path) -> None:
    table = GrowingTable(tmp_path / "results.csv", ["a"])
    for row in ({"a": 1}, {"a": 2}, {"a": 3, "b": 4}, {"a": 5}):
        table.add([row])
    table.close()
    assert (tmp_path / "results.csv").read_text() == "a,b\n1,\n2,\n3,4\n5,\n"


@pytest.fixture
def finished(tmp_path: Path) -> FinishedScenarios:
    found = run_scenario_sweep(mixed(), tmp_path, instantly, quiet)
    write_scenario_files(found, tmp_path)
    return found


def test_failed_refused_and_untrusted_runs_are_named_everywhere(finished: FinishedScenarios) -> None:
    rows = rows_of(finished.folder)
    found = [(row["variant"], (row["status"], row["verdict"], bool(row["untimed"]))) for row in rows]
    told = {label: [state for variant, state in found if variant == label][:3] for label in LABELS}
    assert told == {
        "sound": [("done", "pass", False)] * 3, "refused": [("invalid", "", False)] * 3,
        "failing": [("failed", "", False), ("done", "fail", False), ("done", "pass", False)],
        "untrusted": [("done", "pass", True)] * 3,
    }  # fmt: skip
    text = "\n".join(scenario_summary(finished, 160))
    assert "20.0 ms (10.0 to 30.0)" in text
    assert "30.0 ms, 1 failed, 1 fail" in text or "30.0 ms, 1 fail, 1 failed" in text
    assert "3 invalid" in text
    assert "3 untrusted" in text
    with (finished.folder / "summary.csv").open(encoding="utf-8") as file:
        summary = {row["variant"]: row for row in csv.DictReader(file)}
    counts = {label: [row[name] for name in ("of", "pass", "fail", "invalid", "failed", "untrusted")]
              for label, row in summary.items()}  # fmt: skip
    assert counts == {
        "sound": ["3", "3", "0", "0", "0", "0"], "failing": ["3", "1", "1", "0", "1", "0"],
        "refused": ["3", "0", "0", "3", "0", "0"], "untrusted": ["3", "3", "0", "0", "0", "3"],
    }  # fmt: skip
    drawn = write_plots(finished, finished.folder)[0].read_text(encoding="utf-8")
    for word in ("1 of 3 seeds", "untrusted", "refused"):
        assert f"<!-- {word} -->" in drawn


def test_a_sweep_is_shown_as_it_ended(finished: FinishedScenarios, capsys: pytest.CaptureFixture[str]) -> None:
    shown = read_sweep(finished.folder)
    assert shown.outcomes == finished.outcomes
    assert shown.sweep.dimensions == finished.sweep.dimensions
    before = (finished.folder / "results.csv").read_bytes()
    assert main(["sweep", "--show", str(finished.folder), "--format", "svg", "--style", "acm"]) == 0
    out = capsys.readouterr().out
    assert ["24 runs at 8 points", " 13 pass, 2 fail, 6 invalid, 2 failed"][0] in out
    assert "plot-jct_s.svg" in out
    assert (finished.folder / "results.csv").read_bytes() == before


def test_half_a_sweep_is_shown_with_what_is_pending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                    capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs" / "sweeps" / "half"

    def half(points: Sequence[Point]) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, found in enumerate(instantly(points)):
            if number == 7:
                shown = read_sweep(folder)
                assert sum(outcome.status == "pending" for outcome in shown.outcomes) == 24 - 6 - 7
                assert main(["sweep", "--show", "half", "--plot"]) == 0
                raise KeyboardInterrupt
            yield found

    with pytest.raises(KeyboardInterrupt):
        run_scenario_sweep(mixed(), folder, half, quiet)
    out = capsys.readouterr().out
    assert "11 pending" in out
    assert "<!-- not run yet -->" in (folder / "plot-jct_s.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["--show", "nowhere"],
            "tb sweep: --show: has no sweep of scenarios; found nowhere; allowed: the folder of a sweep",
        ),
        (["rack", "--show", "x"], "tb sweep: TARGET: means nothing with --show"),
        (["--show", "x", "--axis", "a=1,2"], "tb sweep: --axis: means nothing with --show"),
        (["--show", "x", "--until", "5%"], "tb sweep: --until: means nothing with --show"),
        ([], "tb sweep: no TARGET; allowed: scenarios, one sweep, or --show DIR"),
        (
            ["rack", "--seeds", "2", "--most-seeds", "9"],
            "tb sweep: --most-seeds: means nothing alone; allowed: with --until",
        ),
        (["rack", "--seeds", "3,5", "--until", "5%"], "tb sweep: --until: cannot add seeds to a list of them"),
        (
            ["rack", "--seeds", "2", "--until", "5%", "--most-seeds", "5"],
            "tb sweep: --most-seeds: more seeds to begin with",
        ),
        (["netreduce-scale", "--until", "5%"], "tb sweep: --until: means nothing for a sweep of models"),
        (["netreduce-scale", "--parquet"], "tb sweep: --parquet: means nothing for a sweep of models"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    words: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", *words]) == 64
    assert capsys.readouterr().err.startswith(text)


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 1}', '{"sweep": {}, "points": [], "code": ""}'])
def test_a_damaged_plan_is_named(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sweep.json").write_text(text, encoding="utf-8")
    assert main(["sweep", "--show", str(tmp_path)]) == 64
    assert f"{tmp_path}/sweep.json: is damaged" in capsys.readouterr().err


def test_parquet_needs_pyarrow_and_says_so_before_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["sweep", "rack", "--seeds", "2", "--world", "simulated", "--parquet"]) == 3
    assert "this machine lacks the Python package pyarrow" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def seeds_of(finished: FinishedScenarios) -> dict[str, int]:
    return {str(group.values["faults.loss.rate"]): len(group.points) for group in groups_of(finished)}


def test_seeds_are_added_where_an_interval_is_wide(tmp_path: Path) -> None:
    found = load_sweep(["rack-lossy"], SweepWords(axes=["faults.loss.rate=0,1%,5%"], worlds=["simulated"]))
    assert isinstance(found, ScenarioSweep)
    asked = list[int]()

    def noisy(points: Sequence[Point]) -> Iterator[tuple[int, dict[str, Any]]]:
        for index, point in enumerate(points):
            spread = {0: 0.0, "1%": 0.05, "5%": 0.9}[point.values["faults.loss.rate"]]
            asked.append(point.seed)
            jct = 1.0 + random.Random(point.seed).uniform(-spread, spread)
            yield (
                index,
                answer(point.values and replace(point, labels=(("variant", "sound"),))) | {"figures": {"jct_s": jct}},
            )

    until = Until(0.03, 20)
    run = lambda sweep, takes: run_scenario_sweep(sweep, tmp_path, noisy, quiet, takes=takes)  # noqa: E731
    finished = run_until(found, until, run)
    assert seeds_of(finished)["0"] == 6
    assert 6 < seeds_of(finished)["1%"] < 20
    assert seeds_of(finished)["5%"] == 20
    assert len(asked) == sum(seeds_of(finished).values()), "none runs twice"
    lines = list(until_lines(finished, until))
    assert lines[1] == "--until 3%: 2 of 3 points are narrow enough, with at most 20 seeds each"
    assert lines[2].startswith("  wider with 20 seeds: scenario rack-lossy, faults.loss.rate 5%")
    again = run_until(found, until, run)
    assert again.outcomes == finished.outcomes
    assert len(asked) == sum(seeds_of(finished).values())


def test_a_point_that_always_fails_gets_no_more_seeds(tmp_path: Path) -> None:
    found = replace(mixed(), seeds=())
    run = lambda sweep, takes: run_scenario_sweep(sweep, tmp_path, instantly, quiet, takes=takes)  # noqa: E731
    finished = run_until(found, Until(0.5, 8), run)
    counts = {group.values["variant"]: len(group.points) for group in groups_of(finished)}
    assert counts["refused"] == counts["untrusted"] == 6


KILLED = """
import sys, time
sys.path.insert(0, {top!r})
from pathlib import Path
from tests.testbed.sweeps import test_growing as here
def slowly(points):
    for found in here.instantly(points):
        time.sleep(0.004)
        yield found
found = here.run_scenario_sweep(here.mixed(), Path(sys.argv[1]), slowly, here.quiet)
here.write_scenario_files(found, Path(sys.argv[1]))
"""


@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=[pytest.mark.minutes, pytest.mark.timeout(1800)])])
def test_a_sweep_killed_at_random_moments_ends_as_an_undisturbed_one(kills: int, tmp_path: Path) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    write_scenario_files(run_scenario_sweep(mixed(), whole, instantly, quiet), whole)
    script = tmp_path / "killed.py"
    script.write_text(KILLED.format(top=str(Path(__file__).parents[3])), encoding="utf-8")
    dice = random.Random(kills)
    for _ in range(kills):
        process = subprocess.Popen([sys.executable, "-P", str(script), str(torn)])
        while process.poll() is None and not (torn / "sweep.json").exists():
            time.sleep(0.01)
        before = (torn / "results.jsonl").stat().st_size if (torn / "results.jsonl").exists() else 0
        limit = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < limit and _grown(torn, before) < dice.choice((0, 1, 400)):
            time.sleep(0.001)
        time.sleep(dice.uniform(0, 0.02))
        process.kill()
        process.wait()
        if (torn / "results.csv").exists():
            assert all(row["seed"] for row in rows_of(torn)[:-1]), "whole rows, but for the last one"
        if dice.random() < 0.1:
            (torn / "results.jsonl").unlink(missing_ok=True)
    subprocess.run([sys.executable, "-P", str(script), str(torn)], check=True)
    for name in ("results.csv", "summary.csv"):
        assert (torn / name).read_bytes() == (whole / name).read_bytes()
    assert read_sweep(torn).outcomes == read_sweep(whole).outcomes


def _grown(folder: Path, before: int) -> int:
    path = folder / "results.jsonl"
    return path.stat().st_size - before if path.exists() else 0


def test_a_real_sweep_that_was_killed_goes_on(tmp_path: Path) -> None:
    words = ["sweep", "rack-lossy", "--axis", "faults.loss.rate=0,5%", "--seeds", "3", "--world", "simulated", "--set",
             "job.size=400kB", "--set", "transport.timeout=10", "--jobs", "1"]  # fmt: skip
    torn, whole = tmp_path / "torn", tmp_path / "whole"
    command = [sys.executable, "-P", "-m", "testbed", *words, "--out", str(torn)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and _grown(torn, 0) < 10:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL, "it was at work"
    for folder in (torn, whole):
        assert main(["-q", *words, "--out", str(folder)]) == 0
    assert (torn / "results.csv").read_bytes() == (whole / "results.csv").read_bytes()


def test_an_outcome_that_failed_is_kept_to_be_shown_and_made_again(finished: FinishedScenarios) -> None:
    again = list[int]()

    def counting(points: Sequence[Point]) -> Iterator[tuple[int, dict[str, Any]]]:
        again.append(len(points))
        yield from instantly(points)

    assert (
        Outcome("failed", reason="its process ended with signal SIGKILL", wall_s=0.0)
        in read_sweep(finished.folder).outcomes
    )
    run_scenario_sweep(mixed(), finished.folder, counting, quiet)
    assert again == [2]
