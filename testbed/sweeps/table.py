"""results.csv while a sweep runs: a row for each run, on disk as soon as the run is done."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

from testbed.comparison.figures import Figure
from testbed.sweeps.scenario_model import Outcome, Point
from testbed.sweeps.values import shown_value
from workloads.trusted import write_file

__all__ = ["GrowingTable", "csv_text", "row_of"]


def row_of(point: Point, outcome: Outcome, name: str, figures: Iterable[str]) -> dict[str, Any]:
    """Labels, seed, status, verdict, reason, then figures. How long the run took is not there: two sweeps of the same
    runs have equal tables."""
    labels = {label: shown_value(value) for label, value in point.labels}
    reported: dict[str, Figure] = {figure: outcome.figures.get(figure) for figure in figures}
    repeat = {"repeat": point.repeat} if point.repeat else {}
    fixed = {
        "seed": point.seed,
        **repeat,
        "status": outcome.status,
        "verdict": outcome.verdict,
        "reason": outcome.reason,
    }
    return labels | fixed | {"untimed": outcome.untimed, "point": "" if point.problem else name} | reported


def csv_text(rows: Iterable[dict[str, Any]]) -> str:
    """With a column for each key of any row."""
    found, text = list(rows), io.StringIO()
    _write(text, list(dict.fromkeys(name for row in found for name in row)), found, has_head=True)
    return text.getvalue()


def _write(file: TextIO, names: Sequence[str], rows: Sequence[dict[str, Any]], *, has_head: bool) -> None:
    writer = csv.DictWriter(file, list(names), lineterminator="\n")
    if has_head:
        writer.writeheader()
    writer.writerows(rows)


class GrowingTable:
    """Rows in the order in which runs end. A row with a column that was not there before makes the file new."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        """`names`: columns that every row has."""
        self._path, self._names, self._rows = path, list(names), list[dict[str, Any]]()
        self._file: TextIO | None = None

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        self._rows += rows
        names = list(dict.fromkeys([*self._names, *(name for row in rows for name in row)]))
        if self._file is None or names != self._names:
            self.close()
            self._names = names
            text = io.StringIO()
            _write(text, names, self._rows, has_head=True)
            write_file(self._path, text.getvalue())
            self._file = self._path.open("a", encoding="utf-8", newline="")
            return
        _write(self._file, names, rows, has_head=False)
        self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
