from __future__ import annotations

import sys
from pathlib import Path

import pytest

from testbed.runs.codeversion import code_version, program_version
from testbed.runs.importedfiles import imported_files, module_files
from workloads.errors import ScenarioError


def tree(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / "testbed" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_the_version_follows_names_and_contents(tmp_path: Path) -> None:
    first = code_version(tree(tmp_path / "1", **{"a.py": "x", "b.c": "y"}))
    assert len(first) == 12
    assert first == code_version(tree(tmp_path / "2", **{"a.py": "x", "b.c": "y"}))
    assert first == code_version(tree(tmp_path / "3", **{"a.py": "x", "b.c": "y", "notes.md": "z"}))
    others = [{"a.py": "x", "b.c": "z"}, {"a.py": "x", "c.c": "y"}, {"a.py": "xy", "b.c": ""}]
    found = [code_version(tree(tmp_path / f"o{index}", **files)) for index, files in enumerate(others)]
    assert len({first, *found}) == 4


def test_our_own_sources_have_one() -> None:
    assert code_version() == code_version()
    assert code_version() != code_version(Path("/nowhere"))


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that imports a module, which imports from a package beside it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "pack").mkdir()
    for name, text in {
        "own.py": "import os, numpy\nfrom near_by import x\nfrom switch_nodes.program import ProgramBase\n",
        "near_by.py": "def x():\n    from pack import deep\n    import nowhere\n",
        "pack/__init__.py": "",
        "pack/deep.py": "from . import deeper\nfrom .deeper import y\n",
        "pack/deeper.py": "y = 1\n",
        "pack/apart.py": "",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path / "own.py"


def test_a_users_program_counts_with_what_it_imports(own: Path) -> None:
    def version() -> str:
        return program_version(f"{own}:Own")

    first = version()
    assert version() == first != program_version("netreduce") == code_version()
    for name in ("own.py", "near_by.py", "pack/__init__.py", "pack/deep.py", "pack/deeper.py"):
        before, file = version(), own.parent / name
        file.write_text(file.read_text() + "# changed\n")
        assert version() != before, name
    before = version()
    (own.parent / "pack" / "apart.py").write_text("z = 2\n")
    assert version() == before
    assert "near_by" not in sys.modules
    own.unlink()
    with pytest.raises(ScenarioError, match="no such program file"):
        version()


def test_imports_are_found_by_reading(own: Path) -> None:
    found = imported_files(own, lambda name, file: own.parent in file.parents)
    assert [path.relative_to(own.parent).as_posix() for path in found] == [
        "near_by.py", "pack/__init__.py", "pack/deep.py", "pack/deeper.py",
    ]  # fmt: skip
    assert module_files(["near_by.x.y", "sys", "nowhere.at.all"], lambda name, file: True) == {}
    (own.parent / "near_by.py").write_text("this is no Python")
    assert [path.name for path in imported_files(own, lambda name, file: own.parent in file.parents)] == ["near_by.py"]


def test_imports_for_types_alone_are_not_followed(own: Path) -> None:
    own.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import near_by\nelse:\n    import pack.deep\n"
    )
    found = imported_files(own, lambda name, file: own.parent in file.parents)
    assert "near_by.py" not in [path.name for path in found]
    assert "deep.py" in [path.name for path in found]
