"""What a hunt keeps on disk, so that a second call goes on where the first one stopped, however that ended.

- `hunt.json` says which hunt the directory belongs to.
- `chunks.jsonl` has one line for each chunk of schedules that was done.
- `failure.json` and the scenario file in the same directory say what was found.
- `summary.json` is the end.

A line that a killed process left unfinished does not count. Neither does what other code than that of this call did or
found.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from testbed.hunt.corpus import Met
from testbed.hunt.coverage import Coverage
from testbed.hunt.draw_fabric import RACK
from testbed.hunt.judge import CheckFailure
from workloads.errors import ScenarioError
from workloads.trusted import make_folder, require_trusted, write_file

__all__ = ["GUIDED", "RANDOM", "Arguments", "ChunkResult", "ChunkStore", "HuntState"]

RANDOM, GUIDED = "random", "guided"
"""searches"""
_FORMAT = 1
_FAILURE = "failure.json"
_DIFFERS = {"fingerprint": "resolved scenario"}
"""what people call an argument"""


@dataclass(frozen=True, slots=True)
class Arguments:
    """What makes a hunt the same hunt."""

    scenario: str
    """as given; empty: everything is drawn"""
    overrides: tuple[str, ...]
    seed: int
    schedules: int
    fingerprint: str
    """SHA-256 of the resolved scenario file"""
    kind: str = RACK
    """of hunt (`Prey.kind`)"""
    search: str = RANDOM
    """random or guided"""


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """Schedules first .. first + count - 1, or up to the first that failed."""

    first: int
    count: int
    coverage: Coverage
    failed: int | None = None
    """number of the schedule that failed; nothing behind it was run"""
    failure: CheckFailure | None = None
    met: tuple[Met, ...] = ()
    """of a guided hunt: by schedule; the schedule that failed has none"""


class ChunkStore:
    """Where chunks go. This one forgets them with the process."""

    def __init__(self) -> None:
        self.done: dict[int, ChunkResult] = {}
        """by first schedule"""

    def add(self, chunk: ChunkResult) -> None:
        self.done[chunk.first] = chunk


class HuntState(ChunkStore):
    """`code`: the version that hunts (`testbed.runs.codeversion.program_version`). Raises ScenarioError when the
    directory belongs to another hunt, or to something else."""

    def __init__(self, folder: Path, arguments: Arguments, code: str) -> None:
        super().__init__()
        self.folder, self.code = folder, code
        require_trusted(folder)
        self._others: dict[int, int] = {}
        """schedules of chunks that other code did, by first schedule"""
        self._names: dict[str, int] = {}
        """behaviours in the log, in the order in which lines name them"""
        mine = {"format": _FORMAT, **asdict(arguments), "overrides": list(arguments.overrides)}
        head = folder / "hunt.json"
        if head.exists():
            self._compare(head, mine)
            self._read()
        elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ScenarioError(
                "is not the directory of a hunt",
                file="--out",
                found=str(folder),
                allowed="a new directory, or a hunt's",
            )
        else:
            make_folder(folder)
            _write(head, json.dumps(mine, indent=2) + "\n")
        self.anew = sum(count for first, count in self._others.items() if first not in self.done)
        """schedules that only other code hunted, so that they are hunted again"""
        self._log = (folder / "chunks.jsonl").open("ab", buffering=0)

    def add(self, chunk: ChunkResult) -> None:
        super().add(chunk)
        data: dict[str, Any] = {
            "first": chunk.first,
            "count": chunk.count,
            "code": self.code,
            "coverage": chunk.coverage.as_json(),
        }
        if chunk.failure is not None:
            data |= {"failed": chunk.failed, "failure": asdict(chunk.failure)}
        if chunk.met:
            data |= self._met(chunk.met)
        self._log.write(json.dumps(data, separators=(",", ":")).encode() + b"\n")

    def _met(self, met: tuple[Met, ...]) -> dict[str, Any]:
        """Names once in a log, then their numbers."""
        new = dict.fromkeys(name for each in met for name in each.behaviours if name not in self._names)
        for name in new:
            self._names[name] = len(self._names)
        return {
            "names": list(new),
            "met": [[each.used, each.cost, [self._names[name] for name in each.behaviours]] for each in met],
        }

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        _write(path, text)
        return path

    def kept_failure(self, number: int | None) -> dict[str, Any] | None:
        """The content of failure.json, if it is about this schedule and this code. Otherwise deletes the file and
        returns None."""
        path = self.folder / _FAILURE
        if not path.exists():
            return None
        try:
            kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if number is not None and kept.pop("code") == self.code and kept["number"] == number:
                return kept
        except (ValueError, TypeError, KeyError, AttributeError):
            pass
        path.unlink()
        return None

    def keep_failure(self, document: dict[str, Any]) -> None:
        self.write(_FAILURE, json.dumps({**document, "code": self.code}, indent=2) + "\n")

    def close(self) -> None:
        self._log.close()

    def _compare(self, head: Path, mine: dict[str, Any]) -> None:
        try:
            theirs = json.loads(head.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ScenarioError("is not the head of a hunt", file=str(head), found=str(error)) from error
        if not isinstance(theirs, dict):
            found = type(theirs).__name__
            raise ScenarioError("is not the head of a hunt", file=str(head), found=found, allowed="a mapping")
        theirs = {"kind": RACK, "search": RANDOM, **theirs}  # hunts of before there were others
        for name, value in mine.items():
            if theirs.get(name) != value:
                raise ScenarioError(
                    f"this directory belongs to another hunt: its {_DIFFERS.get(name, name)} differs",
                    file=str(head.parent),
                    found=f"{theirs.get(name)!r} there, {value!r} now",
                    allowed="the same arguments, or another --out",
                )

    def _read(self) -> None:
        path = self.folder / "chunks.jsonl"
        if not path.exists():
            return
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(path, whole)
        names = list[str]()
        for number, line in enumerate(data[:whole].splitlines(), 1):
            try:
                code, chunk = _read_chunk(json.loads(line), names)
            except (ValueError, TypeError, LookupError, AttributeError) as error:
                raise ScenarioError(
                    "is no chunk of a hunt", file=str(path), line=number, found=line[:80].decode(errors="replace"),
                    allowed="lines that a hunt wrote; another --out hunts afresh",
                ) from error  # fmt: skip
            if code == self.code:
                self.done[chunk.first] = chunk
            else:
                self._others[chunk.first] = chunk.count
        self._names = {name: place for place, name in enumerate(names)}


def _read_chunk(item: Any, names: list[str]) -> tuple[str, ChunkResult]:
    """(version that did it, what it found). `names`: behaviours that lines before it named; grows. Raises ValueError,
    TypeError, KeyError, IndexError or AttributeError for what is none."""
    first, count, code = item["first"], item["count"], item.get("code", "")
    if not (isinstance(first, int) and isinstance(count, int) and first >= 0 < count and isinstance(code, str)):
        raise ValueError("first, count or code")
    failure = CheckFailure(**item["failure"]) if "failure" in item else None
    names += item.get("names", ())
    met = tuple(Met(used, cost, tuple(names[place] for place in places)) for used, cost, places in item.get("met", ()))
    return code, ChunkResult(first, count, Coverage.of_json(item["coverage"]), item.get("failed"), failure, met)


def _write(path: Path, text: str) -> None:
    """All of it or nothing."""
    write_file(path, text)
