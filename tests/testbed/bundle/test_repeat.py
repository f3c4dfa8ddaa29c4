"""The script of an archive repeats its runs and compares every figure."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from testbed.bundle import repeat
from testbed.bundle.archive import archive
from testbed.bundle.intervals import intervals
from testbed.bundle.model import Experiment, PackedRun
from testbed.bundle.sources import read_experiments
from testbed.comparison.figures import flat_figures

ROOT = Path(__file__).parents[3]


def _unpack(experiments: list[Experiment], to: Path) -> Path:
    with zipfile.ZipFile(BytesIO(archive(experiments))) as file:
        file.extractall(to)
    return to / "artifact"


def _repeat(artifact: Path, *words: str | Path) -> tuple[int, str]:
    command = [sys.executable, artifact / "repeat.py", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=artifact, timeout=280)
    return done.returncode, done.stdout + done.stderr


def _edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def test_a_sweep_and_a_run_repeat_and_a_changed_figure_is_named(made: Path, tmp_path: Path) -> None:
    artifact = _unpack(read_experiments([made / "swept", made / "run"]), tmp_path)
    code, text = _repeat(artifact, ROOT, "--python", sys.executable)
    assert code == 0, text
    assert text.endswith("3 compared: 3 as in the archive, 0 differ, 0 could not run\n")
    _edit(artifact / "run" / "result.json", lambda document: document["metrics"].update(naks=12345))
    _edit(artifact / "manifest.json", lambda document: document["experiments"].pop(0))
    code, text = _repeat(artifact, ROOT, "--python", sys.executable)
    assert code == 1
    assert "run: DIFFERS\n    naks: 12345 in the archive, " in text


def test_what_cannot_run_is_exit_code_2(made: Path, tmp_path: Path) -> None:
    artifact = _unpack(read_experiments([made / "run"]), tmp_path)
    assert _repeat(artifact, tmp_path)[0] == 2
    assert "is no checkout of ina-testbed" in _repeat(artifact, tmp_path)[1]
    (artifact / "run" / "scenario.yaml").write_text("name: [", encoding="utf-8")
    code, text = _repeat(artifact, ROOT, "--python", sys.executable)
    assert code == 2
    assert "run: exit code 64" in text
    assert "run: could not run" in text


def test_figures_have_the_names_of_ina_testbed(made: Path) -> None:
    for path in made.rglob("result.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        assert repeat.figures(document) == flat_figures(document)
    document = {
        "faults": [{"name": "a", "strikes": 3}],
        "metrics": {"jobs": {"each": [{"job": 1, "name": "x", "busy": 0.5}]}},
    }
    assert repeat.figures(document) == flat_figures(document) == {"jobs.each.x.busy": 0.5, "faults.a.strikes": 3}


def _compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: dict[str, Any], now: dict[str, Any] | None
) -> list[str] | None:
    (tmp_path / "e").mkdir(exist_ok=True)
    (tmp_path / "e" / "result.json").write_text(json.dumps(_document("simulated", **before)), encoding="utf-8")
    monkeypatch.setattr(repeat, "HERE", tmp_path)
    experiment = {"name": "e", "runs": [{"folder": ".", "world": "simulated"}], "intervals": []}
    ((_, lines),) = repeat.compare(experiment, {} if now is None else {".": _document("simulated", **now)})
    return lines


def _document(world: str, *, verdict: str = "pass", source: str = "a", **metrics: Any) -> dict[str, Any]:
    environment = {"source": source}
    return {"world": world, "verdict": verdict, "metrics": metrics, "faults": [], "environment": environment}


def test_in_virtual_time_every_figure_must_be_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def compared(before: dict[str, Any], now: dict[str, Any] | None) -> list[str] | None:
        return _compared(tmp_path, monkeypatch, before, now)

    assert compared({"jct_s": 0.1, "naks": None}, {"jct_s": 0.1, "naks": None, "more": 3}) == []
    assert compared({"jct_s": 0.1}, {"jct_s": 0.10000000000000002}) == [
        "jct_s: 0.1 in the archive, 0.10000000000000002 now"
    ]
    assert compared({"jct_s": 0.1}, {}) == ["jct_s: 0.1 in the archive, missing now"]
    assert compared({"naks": None}, {"naks": 0}) == ["naks: None in the archive, 0 now"]
    assert compared({"verdict": "pass"}, {"verdict": "fail", "source": "b"}) == [
        "verdict: pass in the archive, fail now", "(the archive is of source a, the checkout is source b)",
    ]  # fmt: skip
    assert compared({}, None) is None


def _emulated(*times: float | None, figure: str = "jct_s") -> Experiment:
    runs = tuple(PackedRun(f"points/{k}", b"", _document("emulated", **{figure: t})) for k, t in enumerate(times))
    return Experiment("e", "sweep", runs, (figure,))


def test_intervals_are_those_of_the_median_with_an_allowance() -> None:
    (one,) = intervals(_emulated(10.0))
    assert one == {"runs": ["points/0"], "figures": {"jct_s": [pytest.approx(9.5), pytest.approx(10.5)]}}
    (eight,) = intervals(_emulated(*(float(k) for k in range(1, 9))))
    assert eight["figures"]["jct_s"] == [pytest.approx(0.95), pytest.approx(8.4)], "from the first to the eighth"
    (nine,) = intervals(_emulated(*(float(k) for k in range(1, 10))))
    assert nine["figures"]["jct_s"] == [pytest.approx(1.9), pytest.approx(8.4)], "from the second to the eighth"
    assert intervals(_emulated(10.0, None))[0]["figures"] == {}


@pytest.mark.parametrize(
    ("now", "expected"),
    [((9.6, 10.4), []), ((9.0, 9.9), ["jct_s: 9.45, outside 9.5 to 11.0"]), ((11.0, 12.0), 1), ((10.0, None), None)],
)
def test_the_median_of_emulated_runs_must_be_in_the_interval(
    now: tuple[float | None, ...], expected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in range(2):
        folder = tmp_path / "e" / "points" / str(place)
        folder.mkdir(parents=True)
        (folder / "result.json").write_text(json.dumps(_document("emulated", jct_s=10.0)), encoding="utf-8")
    monkeypatch.setattr(repeat, "HERE", tmp_path)
    runs = [{"folder": f"points/{place}", "world": "emulated"} for place in range(2)]
    group = {"runs": [run["folder"] for run in runs], "figures": {"jct_s": [9.5, 11.0]}}
    found = {f"points/{place}": _document("emulated", jct_s=value) for place, value in enumerate(now)}
    *same, (title, lines) = repeat.compare({"name": "e", "runs": runs, "intervals": [group]}, found)
    assert [lines for _, lines in same] == [[], []], "only the median is compared"
    assert title == "e/points/0, median of 2 emulated, jct_s"
    assert (len(lines or ()) == 1) if expected == 1 else lines == expected


@pytest.mark.minutes
def test_an_archive_repeats_in_a_fresh_clone(made: Path, tmp_path: Path) -> None:
    """Without the C core, which a clone has to build first."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("no repository to clone")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, clone], check=True, timeout=120)
    artifact = _unpack(read_experiments([made / "swept", made / "run"]), tmp_path)
    code, text = _repeat(artifact, clone, "--python", sys.executable)
    assert code == 0, text
