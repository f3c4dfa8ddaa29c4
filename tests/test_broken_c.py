"""A C file that does not compile, in a copy of the tree: the build, the suite, a run and the doctor all say so."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.native import needs_native

_TOP = Path(__file__).resolve().parents[1]
_COPIED = ("workloads", "switch_nodes", "topologies", "testbed", "playbooks", "tests/support", "tests/workloads/rc")
_PROBLEM = "'never_declared' undeclared"

pytestmark = needs_native("rc_fast")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The packages, with `workloads/rc/fast.c` broken; what it has no part in is built already."""
    top = tmp_path_factory.mktemp("tree")
    for folder in (*_COPIED, *(["build/native"] if (_TOP / "build/native").is_dir() else [])):
        shutil.copytree(_TOP / folder, top / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.cfg", "tests/conftest.py", "tests/watchdog.py", "tests/bareroot/starts.py"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(_TOP / name, top / name)
    with (top / "workloads" / "rc" / "fast.c").open("a", encoding="utf-8") as file:
        file.write("\nint broken(void) { return never_declared; }\n")
    yield top
    shutil.rmtree(top)


def _python(tree: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    ours = {name: value for name, value in os.environ.items() if name not in ("CC", "INA_NATIVE", "TB_KEEP_COSTS")}
    return subprocess.run(
        [sys.executable, "-P", "-m", *words], cwd=tree, capture_output=True, text=True, timeout=300, check=False,
        env={**ours, "PYTHONPATH": str(tree), **environment},
    )  # fmt: skip


def test_the_build_fails_with_what_the_compiler_said(tree: Path) -> None:
    done = _python(tree, "workloads.native.build")
    assert done.returncode == 70
    assert "rc_fast: cannot be built: gcc: " in done.stdout
    assert _PROBLEM in done.stdout
    assert "packet_io: /" in done.stdout  # what it has no part in


def test_the_suite_fails_and_skips_nothing(tree: Path) -> None:
    done = _python(tree, "pytest", "tests/workloads/rc/test_native_endpoint.py", "-q", "-p", "no:cacheprovider")
    assert done.returncode == 1
    assert "the library rc_fast cannot be built: gcc: " in done.stdout
    assert _PROBLEM in done.stdout
    assert "skipped" not in done.stdout


def test_the_suite_skips_where_the_c_core_is_switched_off(tree: Path) -> None:
    done = _python(
        tree, "pytest", "tests/workloads/rc/test_native_endpoint.py", "-q", "-p", "no:cacheprovider", INA_NATIVE="0"
    )
    assert done.returncode == 0
    assert "the Python reference runs alone: switched off by INA_NATIVE=0" in done.stdout


@pytest.mark.parametrize(
    "world",
    [
        "simulated",
        pytest.param("emulated", marks=[pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]),
    ],
)
def test_a_run_says_which_code_ran(tree: Path, tmp_path: Path, world: str) -> None:
    words = ("rack", "--world", world, "--set", "job.size=64kB", "--out", str(tmp_path / "run"))
    done = _python(tree, "testbed", "run", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    code = json.loads((tmp_path / "run" / "result.json").read_text(encoding="utf-8"))["environment"]
    assert _PROBLEM in code["code"]
    assert code["code"].startswith("native, but python for ")
    assert "rc_fast" in code["code"].partition("(")[0]
    assert "native" not in (code.get("event_loop"), code.get("data_plane"))
    told = " ".join(done.stdout.split())
    assert "code that ran: native, but python for " in told
    assert told.count("never_declared") == 1


def test_the_doctor_says_so(tree: Path) -> None:
    done = _python(tree, "testbed", "doctor", "--json")
    (row,) = [row for row in json.loads(done.stdout) if row["name"] == "native"]
    assert not row["ok"]
    assert _PROBLEM in row["detail"]
