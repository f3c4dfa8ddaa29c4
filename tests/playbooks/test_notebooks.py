"""Every cell of every notebook runs, in order, as a person would run them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

_NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "playbooks" / "notebooks").glob("*.ipynb"))


def cells_of(notebook: Path) -> list[str]:
    document = json.loads(notebook.read_text(encoding="utf-8"))
    assert (document["nbformat"], len({cell["id"] for cell in document["cells"]})) == (4, len(document["cells"]))
    return ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "code"]


def test_there_is_one() -> None:
    assert _NOTEBOOKS


@pytest.mark.parametrize("notebook", _NOTEBOOKS, ids=lambda path: path.stem)
def test_its_cells_run(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas", reason="the extra `pandas` is not installed")
    monkeypatch.chdir(tmp_path)
    variables: dict[str, object] = {"__name__": "__main__"}
    for number, source in enumerate(cells_of(notebook), 1):
        exec(compile(source, f"{notebook.name}, cell {number}", "exec"), variables)
    assert list(tmp_path.glob("runs/sweeps/*/plot-jct_s.pdf"))


@pytest.mark.parametrize("notebook", _NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_results(notebook: Path) -> None:
    """They would be those of another version, and hide that a cell fails."""
    document = json.loads(notebook.read_text(encoding="utf-8"))
    assert not [cell for cell in document["cells"] if cell.get("outputs") or cell.get("execution_count")]
