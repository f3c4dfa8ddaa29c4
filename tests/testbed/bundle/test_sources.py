"""Folders that cannot be packed are refused before anything is written."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from testbed.bundle.sources import read_experiments
from workloads.errors import ScenarioError


def _refused(*sources: Path, partial: bool = False) -> str:
    with pytest.raises(ScenarioError) as caught:
        read_experiments(sources, partial=partial)
    return str(caught.value)


def _copy(made: Path, name: str, to: Path) -> Path:
    shutil.copytree(made / name, to, symlinks=True)
    return to


def _change(path: Path, **keys: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | keys), encoding="utf-8")


def test_runs_and_sweeps_in_their_order(made: Path) -> None:
    swept, run = read_experiments([made / "swept", made / "run"])
    assert (swept.name, swept.kind, run.name, run.kind) == ("rack", "sweep", "run", "run")
    assert [each.labels["topology.hosts"] for each in swept.runs] == [2, 4]
    plots = {"plot-jct_s.pdf", "plot-jct_s.py", "plot-jct_s.svg"}
    assert set(swept.files) == {*plots, "results.csv", "results.json", "summary.csv"}
    assert run.runs[0].document["scenario"] == "rack-lossy"


def test_equal_names_become_different(made: Path, tmp_path: Path) -> None:
    again = _copy(made, "run", tmp_path / "run")
    assert [each.name for each in read_experiments([made / "run", again])] == ["run", "run-2"]


def test_the_name_of_a_sweep_is_enough(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _copy(made, "swept", tmp_path / "runs" / "sweeps" / "mine")
    monkeypatch.chdir(tmp_path)
    assert read_experiments([Path("mine")])[0].name == "rack"


def test_a_link_to_a_run_is_followed_once(made: Path, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(made / "run")
    assert read_experiments([tmp_path / "latest"])[0].name == "run"
    assert "is named twice; found also as " in _refused(made / "run", tmp_path / "latest")


def test_what_is_no_run_and_no_sweep(made: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "is neither a finished run nor a sweep" in _refused(tmp_path / "empty")
    assert "allowed: the folder of a finished run" in _refused(tmp_path / "empty")
    assert "is not there" in _refused(tmp_path / "nothing")
    assert "is no folder" in _refused(made / "run" / "result.json")


def test_damaged_results(made: Path, tmp_path: Path) -> None:
    run = _copy(made, "run", tmp_path / "run")
    (run / "result.json").write_text("{", encoding="utf-8")
    assert "not the result of a run" in _refused(run)
    swept = _copy(made, "swept", tmp_path / "swept")
    for text in ("{", "[]", '{"kind": "scenarios"}', '{"kind": "scenarios", "results": [3], "summary": []}', "null"):
        (swept / "results.json").write_text(text, encoding="utf-8")
        assert "is not the result of a sweep" in _refused(swept)
    (swept / "results.json").write_text('{"sweep": "a", "model": "flow", "results": []}', encoding="utf-8")
    assert "is a sweep of models" in _refused(swept)


def test_a_run_that_did_not_end(made: Path, tmp_path: Path) -> None:
    run = _copy(made, "run", tmp_path / "run")
    (run / "result.json").unlink()
    assert "this run did not end" in _refused(run)
    assert "this run did not end" in _refused(run, partial=True)


def test_links_and_other_files_inside_are_refused(made: Path, tmp_path: Path) -> None:
    run = _copy(made, "run", tmp_path / "run")
    (run / "scenario.yaml").unlink()
    (run / "scenario.yaml").symlink_to("/etc/passwd")
    assert "scenario.yaml: is no plain file; found a link" in _refused(run)
    (run / "scenario.yaml").unlink()
    os.mkfifo(run / "scenario.yaml")
    assert "found another kind of file" in _refused(run)
    (run / "scenario.yaml").unlink()
    assert "scenario.yaml: cannot be read; found No such file" in _refused(run)
    swept = _copy(made, "swept", tmp_path / "swept")
    (swept / "plot-x.svg").symlink_to("/etc/passwd")
    assert "plot-x.svg: is no plain file" in _refused(swept)
    (swept / "plot-x.svg").unlink()
    (swept / "extra.csv").mkdir()
    assert "extra.csv: is no plain file; found a folder" in _refused(swept)


def test_what_cannot_be_read_is_refused(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert "result.json: cannot be read; found Permission denied" in _refused(made / "run")


def test_names_inside_the_archive_stay_inside(made: Path, tmp_path: Path) -> None:
    swept = _copy(made, "swept", tmp_path / "swept")
    _change(swept / "results.json", sweep="../../etc/cron.d/x")
    assert read_experiments([swept])[0].name == "swept"
    odd = _copy(made, "run", tmp_path / ".a b\u00e4/..c")
    assert read_experiments([odd])[0].name == "c"
    taken = _copy(made, "run", tmp_path / "repeat.py")
    assert read_experiments([taken])[0].name == "repeat.py-2"
    document = json.loads((swept / "results.json").read_text(encoding="utf-8"))
    document["results"][0]["point"] = "../../run"
    _change(swept / "results.json", results=document["results"])
    assert "results.json: results: not the name of a point; found ../../run" in _refused(swept)


def test_code_of_the_users_own_and_labs_are_refused(made: Path, tmp_path: Path) -> None:
    run = _copy(made, "run", tmp_path / "run")
    _change(run / "result.json", program="mine.py:Mine")
    assert "program: ran with code of your own, which the archive cannot repeat; found mine.py:Mine" in _refused(run)
    _change(run / "result.json", program="netreduce", world="lab")
    assert "world: ran in a lab" in _refused(run)


def test_points_that_were_not_computed_are_named(made: Path, tmp_path: Path) -> None:
    swept = _copy(made, "swept", tmp_path / "swept")
    document = json.loads((swept / "results.json").read_text(encoding="utf-8"))
    first, second = document["results"]
    lost = {**first, "status": "failed", "reason": "killed at /home/ann/x.py", "figures": {}}
    invalid = {**second, "status": "invalid", "reason": "no such size", "point": ""}
    _change(swept / "results.json", results=[lost, second, invalid])
    text = _refused(swept)
    assert "found 1 of 3 runs: scenario rack, topology.hosts 2, world simulated, seed 1; allowed: " in text
    assert "--partial" in text
    (experiment,) = read_experiments([swept], partial=True)
    assert [run.labels["topology.hosts"] for run in experiment.runs] == [4]
    assert [(each.status, each.reason) for each in experiment.left_out] == [
        ("failed", "killed at x.py"), ("invalid", "no such size"),
    ]  # fmt: skip
    _change(swept / "results.json", results=[second, invalid])
    assert len(read_experiments([swept])[0].left_out) == 1, "an invalid point is a finding"


def test_a_sweep_that_was_stopped(made: Path, tmp_path: Path) -> None:
    swept = _copy(made, "swept", tmp_path / "swept")
    (swept / "results.json").unlink()
    assert "is a sweep that did not end; found 2 finished runs" in _refused(swept)
    (experiment,) = read_experiments([swept], partial=True)
    assert (experiment.name, len(experiment.runs)) == ("swept", 2)
    shutil.rmtree(swept / "points")
    assert "found 0 finished runs" in _refused(swept, partial=True)


def test_pictures_that_may_show_a_path_are_left_out(made: Path, tmp_path: Path) -> None:
    swept = _copy(made, "swept", tmp_path / "swept")
    table = swept / "results.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("rack,", "/home/ann/rack.yaml,"), encoding="utf-8")
    (experiment,) = read_experiments([swept])
    assert experiment.hidden == ("plot-jct_s.pdf",)
    assert "plot-jct_s.svg" in experiment.files
