"""Rows that a later call finds again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.kept_rows import keep_row, kept_rows


@dataclass(frozen=True)
class Row:
    name: str
    found: list[float]


def test_what_is_kept_is_found_in_order(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    assert kept_rows(file, Row) == []
    rows = [Row("a", [1.5]), Row("b", [])]
    for row in rows:
        keep_row(file, row)
    assert kept_rows(file, Row) == rows
