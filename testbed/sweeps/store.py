"""Results of a sweep on disk, one JSON line each, keyed by content hash: what was computed is not computed again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TextIO

from workloads.errors import ScenarioError
from workloads.trusted import make_folder, require_trusted

__all__ = ["Store", "read_results"]

_FILE = "results.jsonl"


def read_results(folder: Path) -> dict[str, dict[str, Any]]:
    """The last outcome of each key, also of runs that could not be made. Nothing is written."""
    path, found = folder / _FILE, dict[str, dict[str, Any]]()
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            record = json.loads(line)
            found[record["key"]] = record["result"]
        except (ValueError, KeyError, TypeError):
            continue
    return found


class Store:
    """Of one folder, which is made when it is not there. Lines that a kill cut short are ignored. Raises ScenarioError
    when the folder cannot be written, or others could change it."""

    def __init__(self, folder: Path) -> None:
        require_trusted(folder)
        self.path = folder / _FILE
        self.results: dict[str, dict[str, Any]] = {}
        self.points: set[str] = set()
        """keys without a version of the code: what any code computed"""
        self._file: TextIO | None = None
        try:
            make_folder(folder)
            text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
            self._file = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise ScenarioError(f"cannot be written: {error.strerror or error}", file=str(self.path)) from error
        for line in text.splitlines():
            try:
                record = json.loads(line)
                if _is_done(record["result"]):
                    self.results[record["key"]] = record["result"]
                    self.points.add(record.get("point", ""))
            except (ValueError, KeyError, TypeError):
                continue
        if text and not text.endswith("\n"):
            self._file.write("\n")

    def add(self, key: str, point: str, result: dict[str, Any]) -> None:
        """On disk when it returns. `point`: the key without the version of the code. A run that could not be made is
        kept to be shown, and made again the next time."""
        assert self._file is not None
        if _is_done(result):
            self.results[key] = result
        self._file.write(json.dumps({"key": key, "point": point, "result": result}) + "\n")
        self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _is_done(result: dict[str, Any]) -> bool:
    """Results of models have no status: they are always done."""
    return bool(result.get("status", "done") == "done")
