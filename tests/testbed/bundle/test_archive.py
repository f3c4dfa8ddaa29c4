"""What an archive holds."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from testbed.bundle.archive import archive
from testbed.bundle.machine import machine
from testbed.bundle.sources import read_experiments
from testbed.comparison.figures import flat_figures


def _unpacked(packed: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(packed)) as file:
        return {name: file.read(name) for name in file.namelist()}


@pytest.fixture(scope="module")
def packed(made: Path) -> bytes:
    return archive(read_experiments([made / "swept", made / "run"]))


def test_the_same_experiments_make_the_same_bytes(made: Path, packed: bytes, tmp_path: Path) -> None:
    for name in ("swept", "run"):
        shutil.copytree(made / name, tmp_path / name)
    assert archive(read_experiments([tmp_path / "swept", tmp_path / "run"])) == packed
    with zipfile.ZipFile(io.BytesIO(packed)) as file:
        assert {entry.date_time for entry in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}, "not the time of packing"
        assert file.namelist() == sorted(file.namelist())


def test_scenarios_results_tables_and_plots(made: Path, packed: bytes) -> None:
    files = _unpacked(packed)
    names = {name.removeprefix("artifact/") for name in files}
    assert {"README.md", "repeat.py", "manifest.json", "figures.csv"} <= names
    assert {"run/scenario.yaml", "run/result.json", "rack/results.json", "rack/plot-jct_s.pdf"} <= names
    point = re.compile(r"rack/points/[0-9a-f]{16}/(scenario.yaml|result.json)")
    assert sum(point.fullmatch(name) is not None for name in names) == 4
    assert files["artifact/run/scenario.yaml"] == (made / "run" / "scenario.yaml").read_bytes()


def test_the_manifest_lists_seeds_and_versions(packed: bytes) -> None:
    manifest: dict[str, Any] = json.loads(_unpacked(packed)["artifact/manifest.json"])
    swept, run = manifest["experiments"]
    assert [each["seed"] for each in swept["runs"]] == [1, 1]
    (only,) = run["runs"]
    assert (only["folder"], only["scenario"], only["world"], only["seed"]) == (".", "rack-lossy", "simulated", 1)
    assert {len(source) for source in manifest["versions"]["source"]} == {12}
    assert swept["intervals"] == run["intervals"] == [], "in virtual time figures are equal"


def test_figures_of_all_runs_are_in_one_table(made: Path, packed: bytes) -> None:
    rows = list(csv.DictReader(io.StringIO(_unpacked(packed)["artifact/figures.csv"].decode())))
    document = json.loads((made / "run" / "result.json").read_text(encoding="utf-8"))
    found = {row["figure"]: row["value"] for row in rows if row["experiment"] == "run"}
    assert found == {name: "" if value is None else str(value) for name, value in flat_figures(document).items()}
    assert len({row["run"] for row in rows}) == 3


def test_nothing_names_this_machine_unless_asked(made: Path, packed: bytes) -> None:
    for name, content in _unpacked(packed).items():
        assert str(made.parent).encode() not in content, name
        assert b"/home/" not in content, name
    assert json.loads(_unpacked(packed)["artifact/manifest.json"])["machine"] is None
    asked = _unpacked(archive(read_experiments([made / "run"]), machine()))
    found = json.loads(asked["artifact/manifest.json"])["machine"]
    assert set(found) == {"cpu", "cores", "kernel"}
    assert found["cores"] >= 1


def test_paths_in_tables_are_cleaned(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "swept", tmp_path / "swept")
    for name in ("results.csv", "results.json", "plot-jct_s.svg"):
        path = tmp_path / "swept" / name
        path.write_text(path.read_text(encoding="utf-8").replace("simulated", "/home/ann/rack.yaml"), encoding="utf-8")
    for name, content in _unpacked(archive(read_experiments([tmp_path / "swept"]))).items():
        assert b"/home/ann" not in content, name
