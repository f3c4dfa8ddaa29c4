"""The history of a run: an ordered list of records, one JSON object per line in `history.jsonl`.

Record: `{"t": ns since the start, "node": name, "event": class name, ...fields of the event}`. Everything that people and
checkers see comes from here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

__all__ = ["Record", "read_history", "sort_history", "write_history"]

Record: TypeAlias = dict[str, Any]


def sort_history(records: Iterable[Record]) -> list[Record]:
    """By time; equal times by node; each node's own order is kept."""
    return sorted(records, key=lambda record: (record["t"], record["node"]))


def write_history(path: Path, records: Iterable[Record]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:  # the same bytes on every system
        for record in records:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")


def read_history(path: Path) -> Iterator[Record]:
    """Lines that a killed run left unfinished are not there: a last line without its end is skipped."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield json.loads(line)
