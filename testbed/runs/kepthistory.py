"""The history of a run directory, which may be damaged: all of it is checked before anything relies on it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from testbed.history import Record, sort_history
from testbed.history.codec import NoRecord, read_record
from workloads.errors import ScenarioError

__all__ = ["KeptHistory", "load_history"]


@dataclass(frozen=True, slots=True)
class KeptHistory:
    path: Path
    records: list[Record]
    """of line 1 and on, at least one, by time"""
    is_cut: bool
    """it ends in the middle of a line, which is not among the records: who wrote or copied it was stopped"""

    @property
    def cut(self) -> str:
        """Where it ends too early, in words; empty: nowhere that one could see."""
        return f"the history is cut after line {len(self.records)}" if self.is_cut else ""


def load_history(run_dir: Path) -> KeptHistory:
    """Raises ScenarioError when there is none, or when a line of it is no record."""
    path, records, is_cut = run_dir / "history.jsonl", list[Record](), False
    if not path.is_file():
        raise ScenarioError(
            "not a run directory", file=str(run_dir), found="no history.jsonl in it", allowed="as runs/latest"
        )
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                is_cut = True
                break
            try:
                data = json.loads(line.decode("utf-8"))
            except (ValueError, RecursionError) as error:
                raise ScenarioError("cannot be read", file=str(path), line=number, found=str(error)) from error
            try:
                records.append(read_record(data))
            except NoRecord as error:
                raise ScenarioError("no record of a history", file=str(path), line=number, found=str(error)) from error
    if not records:
        raise ScenarioError(
            "the history is cut in its first line" if is_cut else "the history is empty", file=str(path)
        )
    # A run that was killed left its records in the order in which they came.
    return KeptHistory(path, sort_history(records), is_cut)
