"""Modules of two speeds: what a process takes, what it says where it has none, and where builds come from."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from workloads.native import compiled

pytestmark = pytest.mark.protocols("switchml")

_TOP = Path(__file__).resolve().parents[3]
_SAYS = (
    "from workloads.native.account import COMPILED, account_of; import workloads.switchml.worker as worker;"
    "print(account_of([COMPILED])); print(worker.__file__)"
)
Python = Callable[..., list[str]]

needs_compiled = pytest.mark.skipif(not compiled.find_compiled(), reason="no compiled modules on this machine")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The packages, with nothing built."""
    for name in ("workloads", "switch_nodes", "testbed", "topologies"):
        shutil.copytree(_TOP / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    shutil.copy(_TOP / "setup.cfg", tmp_path)
    return tmp_path


@pytest.fixture
def python(tree: Path) -> Python:
    """Runs words in the tree, with an empty cache; the lines that it prints."""

    def run(*words: str, **environment: str) -> list[str]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith("INA_")}
        ours |= {"PYTHONPATH": str(tree), "XDG_CACHE_HOME": str(tree / "cache"), **environment}
        done = subprocess.run(
            [sys.executable, "-P", *words], cwd=tree, env=ours, capture_output=True, text=True, timeout=100, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    return run


def test_without_a_build_the_source_runs_and_the_account_says_so(python: Python, tree: Path) -> None:
    account, file = python("-c", _SAYS)
    assert account.startswith("python (")
    assert file == str(tree / "workloads/switchml/worker.py")


def test_without_a_compiler_nothing_fails(python: Python, tree: Path) -> None:
    (tree / "empty").mkdir()
    why = "no C compiler in PATH; apt-get install gcc libc6-dev zlib1g-dev"
    assert python("-m", "workloads.native.compiling", PATH=str(tree / "empty")) == [
        f"compiled modules: Python source, {why}"
    ]
    assert python("-c", _SAYS, PATH=str(tree / "empty"))[0] == f"python ({why})"


def test_without_cython_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "compiler", lambda: ["gcc"])
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert compiled.obstacle() == "Cython is not installed; pip install cython"


@needs_compiled
def test_another_checkout_takes_builds_from_the_users_cache(python: Python, tree: Path) -> None:
    """No compiler runs: there is none in PATH."""
    (tree / "empty").mkdir()
    (tree / "cache/ina-testbed/compiled").mkdir(parents=True)
    for path in compiled.find_compiled().values():
        shutil.copy(path, tree / "cache/ina-testbed/compiled")
    told = python("-m", "workloads.native.compiling", PATH=str(tree / "empty"))
    assert told == [f"compiled modules: {tree / 'build/compiled'}"]
    account, file = python("-c", _SAYS)
    assert account == "native"
    assert Path(file).parent == tree / "build/compiled"


@needs_compiled
def test_a_module_that_changed_is_not_taken_from_a_build(python: Python, tree: Path) -> None:
    """All modules, or none: they share types."""
    (tree / "build/compiled").mkdir(parents=True)
    for path in compiled.find_compiled().values():
        shutil.copy(path, tree / "build/compiled")
    assert python("-c", _SAYS)[0] == "native"
    with (tree / "workloads/quick.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    account, source = python("-c", _SAYS)
    assert account.startswith("python (")
    assert source == str(tree / "workloads/switchml/worker.py")


@needs_compiled
def test_switched_off_the_source_runs(python: Python, tree: Path) -> None:
    (tree / "build/compiled").mkdir(parents=True)
    for path in compiled.find_compiled().values():
        shutil.copy(path, tree / "build/compiled")
    account, file = python("-c", _SAYS, INA_NATIVE="0")
    assert account == "python (switched off by INA_NATIVE=0)"
    assert file == str(tree / "workloads/switchml/worker.py")


@needs_compiled
@pytest.mark.parametrize("package", sorted({name.rpartition(".")[0] for name in compiled.MODULES}))
def test_what_a_process_imports_first_is_compiled(package: str) -> None:
    """Else it would be the source of a module whose neighbours are compiled."""
    first = next(name for name in reversed(compiled.MODULES) if name.rpartition(".")[0] == package)
    words = f"import {first} as found; print(found.__file__)"
    done = subprocess.run([sys.executable, "-P", "-c", words], capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout.strip().endswith(compiled.SUFFIX)


@pytest.mark.parametrize("module", compiled.MODULES)
def test_no_place_of_a_list_is_negative(module: str) -> None:
    """Compiled without `wraparound`, `found[-1]` reads memory in front of the list."""
    tree = ast.parse(compiled.source_of(module).read_text(encoding="utf-8"))
    places = [each.slice for each in ast.walk(tree) if isinstance(each, ast.Subscript)]
    negative = [each.lineno for each in places if isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.USub)]
    assert negative == []
