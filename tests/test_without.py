"""A tree without one protocol's folders still works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from testbed.protocols import names
from tests.support.floors import ROOT
from tests.support.left_out import lacking, meant_by
from tests.support.without import copy_without, sweeps_one_of


def tb(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "testbed", *words], cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)},
        check=False, capture_output=True, text=True, timeout=200,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["dlcp", "repair", "esa", "ps", "switchml", "grid", "ring", "flows"])
def test_the_product_runs_without_a_protocol(name: str, tmp_path: Path) -> None:
    left_out = copy_without(name, tmp_path / "tree")
    assert f"testbed/protocols/{name}/__init__.py" in left_out
    pages = {f"docs/{name}.md", f"playbooks/scenarios/{name}/{name}.yaml"}
    assert {each for each in pages if (ROOT / each).exists()} <= {*left_out}
    # Names of built files have a digest of their sources, which stayed as they are.
    (tmp_path / "tree" / "build").symlink_to(ROOT / "build")
    listed = tb(tmp_path / "tree", "list", "protocols")
    assert [line.split()[0] for line in listed.stdout.splitlines() if not line.startswith(" ")] == [
        each for each in names() if each != name
    ]
    short = ("--world", "simulated", "--set", "job.size=200kB")
    run = tb(tmp_path / "tree", "run", "rack-lossy", *short, "-q", "--out", "run")
    assert (run.returncode, run.stderr) == (0, "")
    refused = tb(tmp_path / "tree", "validate", "rack", "--set", f"job.protocol={name}")
    assert refused.returncode == 64
    assert f"job.protocol: unknown value; found '{name}'" in refused.stderr


def test_a_scenario_in_a_parameter_needs_its_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.left_out.left_out", lambda: frozenset({"ring"}))
    for job, needs in (("{protocol: ring}", {"ring"}), ("{protocol: dlcp}", set())):
        item = SimpleNamespace(iter_markers=lambda name: (), callspec=SimpleNamespace(params={"job": job}))
        assert lacking(cast(pytest.Item, item)) == needs


def test_what_is_no_protocol_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such protocol: 'rings'; there are atp, "):
        copy_without("rings", tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError, match="is not empty"):
        copy_without("ring", tmp_path)


def test_a_sweep_goes_with_its_scenario() -> None:
    sweep = ROOT / "playbooks/sweeps/ina-mix-8.yaml"
    assert sweeps_one_of(sweep, {"jobs-mix"})
    assert not sweeps_one_of(sweep, {"rack"})
    assert not sweeps_one_of(ROOT / "playbooks/scenarios/rack.yaml", {"rack"})


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("ring", True), ("job: {protocol: ring, size: 1MB}", True), ("job.protocol=ring", True),
        ("protocol: [netreduce, ring]", True), ("job: {size: 1MB, fallback: ring}", True),
        ("rings", False), ("round a ring", False), ("protocol: ring_of_mine", False), ("over: ring", False),
        ("protocol: netreduce  # no ring", False),
    ],
)  # fmt: skip
def test_what_means_a_protocol(text: str, means: bool) -> None:
    assert meant_by(text, "ring") is means
