"""What docs/extending.md says of keys, faults, checkers and planners is all that must be written: applied to a copy of
the tree, it runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.guide import copy_product, named_files, section

_LINE = re.compile(r"One line more in `([\w/.]+)`, above\s`([^`]*)`:\n\n```(?:python|text)\n(.*?\n)```", re.DOTALL)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Of all that the product is, and of the pages that its tables fill."""
    copy_product(tmp_path, ("docs",))
    return tmp_path


def apply(tree: Path, heading: str) -> tuple[list[str], list[str]]:
    """(files that the section has one write, files in which it has one write a line)"""
    text = section(heading)
    files = named_files(text)
    for name, content in files.items():
        assert not (tree / name).exists(), name
        (tree / name).write_text(content, encoding="utf-8")
    lines = _LINE.findall(text)
    for name, above, line in lines:
        before = (tree / name).read_text(encoding="utf-8")
        assert before.count(f"\n{above}") == 1, above
        assert line.count("\n") == 1
        (tree / name).write_text(before.replace(f"\n{above}", f"\n{line}{above}"), encoding="utf-8")
    return list(files), [name for name, _, _ in lines]


def python(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", *words], cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)}, check=False,
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip


def tb(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return python(tree, "testbed", *words)


def test_a_scenario_key_is_one_line(copy: Path) -> None:
    assert tb(copy, "validate", "rack", "--set", "owner=ana").returncode == 64
    assert apply(copy, "A scenario key") == ([], ["testbed/scenario/model.py"])
    resolved = tb(copy, "validate", "rack", "--set", "owner=ana", "--resolved")
    assert "\nowner: ana\n" in resolved.stdout
    (copy / "again.yaml").write_text(resolved.stdout, encoding="utf-8")
    assert tb(copy, "validate", "again.yaml", "--resolved").stdout == resolved.stdout
    assert "\nowner: nobody\n" in tb(copy, "validate", "rack", "--resolved").stdout
    wrong = tb(copy, "validate", "-q", "rack", "--set", "owner=7")
    assert (wrong.returncode, wrong.stderr) == (
        64, "tb: --set: owner: not text; found 7; allowed: text; quote it\n"
    )  # fmt: skip
    schema = json.loads(tb(copy, "schema").stdout)
    assert schema["properties"]["owner"] == {
        "type": "string", "description": "whom to ask about the scenario", "default": "nobody",
    }  # fmt: skip
    page = python(copy, "testbed.manual", "scenario-keys").stdout
    assert "| `owner` | `nobody` | text | whom to ask about the scenario |\n" in page


def test_a_fault_kind_is_a_module_and_a_line(copy: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", section("A fault"), re.DOTALL)
    (copy / "every.yaml").write_text(example, encoding="utf-8")
    assert "unknown kind of fault; found 'every'" in tb(copy, "validate", "every.yaml").stderr
    assert apply(copy, "A fault") == (["testbed/faults/kinds/every.py"], ["testbed/faults/kinds/__init__.py"])
    assert re.search(r"^every +each packet whose PSN is a multiple", tb(copy, "list", "faults").stdout, re.MULTILINE)
    run = tb(copy, "run", "every.yaml", "--out", "run", "--json", "-q")
    assert run.returncode == 0, run.stdout + run.stderr
    (fault,) = json.loads(run.stdout)["faults"]
    assert fault["name"] == "every-1"
    assert fault["strikes"] > 0
    assert "no differences" in tb(copy, "replay", "run", "--out", "again").stdout
    wrong = tb(copy, "validate", "-q", "every.yaml", "--set", "faults[0].number=1", "--set", "faults[0].rate=4%")
    assert len(wrong.stderr.splitlines()) == 2
    hunt = tb(copy, "hunt", "--schedules", "25", "--out", "hunt")
    assert hunt.returncode == 0, hunt.stdout + hunt.stderr
    schema = json.loads(tb(copy, "schema").stdout)
    assert schema["$defs"]["Every"]["properties"]["number"]["default"] == 16
    page = python(copy, "testbed.manual", "fault-kinds").stdout.split("\n### every\n")[1].split("\n### ")[0]
    assert "Each packet whose PSN is a multiple of a number is lost once." in page
    assert re.search(
        r"^\| `number` \| `16` \| .* \| packets whose PSN is a multiple of it are lost \|$", page, re.MULTILINE
    )
    assert "`rate`" not in page


def test_a_checker_is_a_module_and_two_lines(copy: Path) -> None:
    assert apply(copy, "A checker") == (["testbed/checkers/no_rnr.py"], ["testbed/checkers/stock.py"] * 2)
    good = json.loads(tb(copy, "run", "rack-lossy", "--world", "simulated", "--json", "-q").stdout)
    assert {check["name"]: check["verdict"] for check in good["checks"]}["no_rnr"] == "pass"
    bad = tb(copy, "run", "receiver-not-ready", "--world", "simulated", "--json", "-q")
    assert bad.returncode == 1
    assert {check["name"]: check["verdict"] for check in json.loads(bad.stdout)["checks"]}["no_rnr"] == "fail"


def test_a_planner_is_a_module_and_two_lines(copy: Path) -> None:
    planners = "topologies/routing/gradients/planners.py"
    assert apply(copy, "A planner of gradient routes") == (["topologies/routing/gradients/first.py"], [planners] * 2)
    listed = tb(copy, "list", "planners").stdout
    assert re.search(r"^first +the first shortest way each, aggregated nowhere$", listed, re.MULTILINE)
    for words in (["--planner", "first"], ["--set", "routing.planner=first"]):
        routed = tb(copy, "route", "grid-triangle", *words, "--json")
        assert routed.returncode == 0, routed.stderr
        assert json.loads(routed.stdout)["planner"] == "first"
