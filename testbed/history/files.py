"""`history.jsonl`: one record per line."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from types import TracebackType

from testbed.history.codec import encode_record, encode_records, read_record
from testbed.history.records import Record, is_in_time_order, node_of, place_of, spans_of_time

__all__ = ["HistoryLog", "read_history", "write_history"]

_HELD_RECORDS = 4096


def write_history(path: Path, records: Iterable[Record]) -> None:
    with path.open("wb") as file:  # the same bytes on every system
        for record in records:
            file.write(encode_record(record))


class HistoryLog:
    """The history of a run while it goes on: in the file, in the order in which the records come, and sorted at the
    end. A run that is killed leaves what was reported until then.

    `hold_s`: records stay in memory for that long at most while others follow. 0: each is in the file at once, for
    worlds in real time, where nothing may follow for long. Raises OSError when the file cannot be written."""

    def __init__(self, path: Path, *, hold_s: float = 0.0) -> None:
        self.records: list[Record] = []
        """all of them, in the order in which they came"""
        self._path, self._hold_s = path, hold_s
        self._written = 0
        self._due = time.monotonic() + hold_s
        self._file = path.open("wb")

    def __enter__(self) -> HistoryLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Also after an error the file is sorted."""
        self._flush()
        self._file.close()
        self._sort()

    def add(self, record: Record) -> None:
        self.records.append(record)
        waiting = len(self.records) - self._written
        if not self._hold_s or waiting >= _HELD_RECORDS or time.monotonic() >= self._due:
            self._flush()
            self._due = time.monotonic() + self._hold_s

    def _flush(self) -> None:
        held = self.records[self._written :]
        if held:
            self._file.write(encode_records(held))
            self._file.flush()
            self._written = len(self.records)

    def _sort(self) -> None:
        """In one step: a program that reads meanwhile, or after a kill right here, finds all records in one order or
        the other. Only lines of one time are in memory together, unless records came out of the order of time."""
        in_order = is_in_time_order(self.records)
        spans = spans_of_time(self.records) if in_order else iter([self.records])
        sorted_path = self._path.with_name(f".{self._path.name}")
        moved = False
        with self._path.open("rb") as lines, sorted_path.open("wb") as file:
            for span in spans:
                if len(span) == 1:
                    file.write(next(lines))
                    continue
                own = list(islice(lines, len(span)))
                key = node_of if in_order else place_of
                order = sorted(range(len(span)), key=lambda index: key(span[index]))
                moved = moved or order != list(range(len(span)))
                file.writelines([own[index] for index in order])
        if moved:
            os.replace(sorted_path, self._path)
        else:
            sorted_path.unlink()


def read_history(path: Path) -> Iterator[Record]:
    """Lines that a killed run left unfinished are not there: a last line without its end is skipped. Raises ValueError
    for a line that is no record."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield read_record(json.loads(line))
