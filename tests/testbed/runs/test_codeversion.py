from __future__ import annotations

from pathlib import Path

from testbed.runs.codeversion import code_version


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
