"""What docs/extending.md says that must be written is all that must be written: applied to a copy of the tree, it
runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.guide import copy_product, named_files, section


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all that the product is."""
    tree = tmp_path_factory.mktemp("tree")
    copy_product(tree)
    return tree


def tb(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "testbed", *words], cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)},
        check=False,
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip


def test_a_new_protocol(copy: Path) -> None:
    text = section("A protocol")
    files = named_files(text)
    folders = {Path(name).parent.as_posix() for name in files}
    assert folders == {"workloads/bf16", "switch_nodes/bf16", "testbed/protocols/bf16", "docs"}
    assert [name for name in files if name.startswith("testbed/")] == ["testbed/protocols/bf16/__init__.py"]
    before = tb(copy, "validate", "switchml", "--set", "job.protocol=bf16")
    assert before.returncode == 64
    assert "tb: --set: job.protocol: unknown value; found 'bf16'; allowed: atp," in before.stderr
    for name, content in files.items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text(content, encoding="utf-8")

    (command,) = re.findall(r"`\./tb (run switchml-lossy .*?)` runs it", text)
    assert re.search(r"^bf16 +as switchml, with floats cut", tb(copy, "list", "protocols").stdout, re.MULTILINE)
    run = tb(copy, *command.split(), "--world", "simulated", "--set", "job.size=20kB", "--out", "run", "--json", "-q")
    assert run.returncode == 0, run.stdout + run.stderr
    document = json.loads(run.stdout)
    assert (document["protocol"], document["program"]) == ("bf16", "bf16")
    passed = {check["name"] for check in document["checks"] if check["verdict"] == "pass"}
    assert {"bit_exact", "exactly_once", "liveness", "slots_private", "faults_exercised"} <= passed
    assert '"frames_of_bf16":' in (copy / "run/history.jsonl").read_text(encoding="utf-8")
    assert tb(copy, "timeline", "run").returncode == 0
    assert "no differences" in tb(copy, "replay", "run", "--out", "again").stdout
    hunt = tb(copy, "hunt", "--protocol", "bf16", "--schedules", "10", "--out", "hunt")
    assert hunt.returncode == 0, hunt.stdout + hunt.stderr


@pytest.mark.parametrize("recovery", ["gbn", "irn", "irn-rack"])
def test_a_new_schedule(copy: Path, recovery: str) -> None:
    text = section("A protocol that is a schedule")
    files = named_files(text)
    assert list(files) == ["workloads/star/__init__.py", "testbed/protocols/star/__init__.py", "docs/star.md"]
    for name, content in files.items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text(content, encoding="utf-8")
    (command,) = re.findall(r"`\./tb (run recursive-doubling-lossy .*?)` runs it", text)
    assert re.search(r"^star +rank 0 sums", tb(copy, "list", "protocols").stdout, re.MULTILINE)
    run = tb(
        copy, *command.split(), "--world", "simulated", "--set", "job.size=20kB", "--set",
        f"transport.recovery={recovery}", "--out", f"star-{recovery}", "--json", "-q",
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    document = json.loads(run.stdout)
    assert document["protocol"] == "star"
    passed = {check["name"] for check in document["checks"] if check["verdict"] == "pass"}
    assert {"bit_exact", "liveness", "transparency", "faults_exercised"} <= passed
    assert "no differences" in tb(copy, "replay", f"star-{recovery}", "--out", f"star-{recovery}-again").stdout
