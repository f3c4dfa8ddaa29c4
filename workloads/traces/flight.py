"""Dumps of PyTorch's flight recorder: the newest collectives of a rank, and how far each came. Written and read.

Source: torch/distributed/flight_recorder of PyTorch 2.13, and dumps of its backend gloo (version 2.10). A dump is a
pickle, or JSON, of dicts, lists, strings and numbers. A pickle that names a class or a function is refused, because
loading it could run code.
"""

from __future__ import annotations

import ast
import io
import json
import math
import pickle
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workloads.errors import ScenarioError

__all__ = [
    "COMPLETED",
    "FLIGHT_DIR",
    "SCHEDULED",
    "STARTED",
    "FlightDump",
    "FlightGroup",
    "FlightOp",
    "read_dumps",
    "written_dump",
]

FLIGHT_DIR = "flight-recorder"
"""folder of a run with the dumps of a training that failed"""
SCHEDULED, STARTED, COMPLETED = "scheduled", "started", "completed"
_STATES = (SCHEDULED, STARTED, COMPLETED)
_VERSION = "2.10"
_BACKEND = "gloo"
"""backend in the names of written operations: the analyser of PyTorch refuses names that are not its own"""
_RANK = re.compile(r"(\d+)(?:\.(?:pickle|pkl|json))?$")
_PEERS = re.compile(r"^(send|recv) (\d+)(?:->|<-)(\d+)$")
_LARGEST = 1 << 30
"""bytes of a dump"""
_TORCH_DTYPES = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long",
    "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FlightOp:
    """A collective, or a send or recv, that a rank posted."""

    group: str
    """name of its process group"""
    number: int
    """number among the collectives of the group, or among its sends and recvs, from 1"""
    what: str
    """all_reduce, broadcast, send, ..."""
    state: str
    """scheduled, started or completed"""
    peer: int = -1
    """rank of the group that a send or recv names; -1: none"""
    sizes: tuple[tuple[int, ...], ...] = ()
    """shapes of its inputs"""
    results: tuple[tuple[int, ...], ...] = ()
    """shapes of its outputs"""
    dtypes: tuple[str, ...] = ()
    """types of its inputs"""
    posted_ns: int = 0
    """when the rank posted it, in ns since 1970"""
    started_ns: int | None = None
    completed_ns: int | None = None
    place: str = ""
    """file:line in the user's program; empty: not known"""

    @property
    def is_mail(self) -> bool:
        """Whether it is a send or recv."""
        return self.what in ("send", "recv")


@dataclass(frozen=True, slots=True)
class FlightGroup:
    name: str
    description: str
    ranks: tuple[int, ...] = ()
    """ranks of the whole training; empty: the dump does not have them"""
    posted: int = 0
    """number of its last collective"""
    completed: int = 0
    """number of its last collective that is complete"""


@dataclass(frozen=True, slots=True)
class FlightDump:
    """What one rank left."""

    rank: int
    groups: Mapping[str, FlightGroup] = field(default_factory=dict)
    ops: tuple[FlightOp, ...] = ()
    """in the order in which the rank posted them; the oldest may be missing"""


def written_dump(dump: FlightDump) -> bytes:
    """The pickle of one rank."""
    entries = [_entry(dump, number, op) for number, op in enumerate(dump.ops)]
    document = {
        "version": _VERSION,
        "pg_config": {
            group.name: {"name": group.name, "desc": group.description, "ranks": str(list(group.ranks))}
            for group in dump.groups.values()
        },
        "pg_status": {
            group.name: {
                "last_enqueued_collective": group.posted,
                "last_started_collective": max(
                    (op.number for op in dump.ops if op.group == group.name and _is_begun(op)), default=-1
                ),
                "last_completed_collective": group.completed,
            }
            for group in dump.groups.values()
        },
        "entries": entries,
        "comm_lib_version": "",
    }
    return pickle.dumps(document, protocol=2)


def read_dumps(folder: Path) -> list[FlightDump]:
    """Those of a folder, by rank. The digits at the end of a file's name are its rank. Raises ScenarioError."""
    found: dict[int, FlightDump] = {}
    for path in sorted(folder.iterdir()):
        match = _RANK.search(path.name)
        if match is None or not path.is_file():
            continue
        rank = int(match[1])
        if rank in found:
            raise ScenarioError("two files are of one rank", file=str(folder), found=f"{path.name} for rank {rank}")
        if path.stat().st_size > _LARGEST:
            raise ScenarioError("is too large for a dump", file=str(path), allowed=f"{_LARGEST} bytes")
        found[rank] = _dump(rank, _plain(path.read_bytes(), str(path)), str(path))
    if not found:
        raise ScenarioError(
            "no dump is there", file=str(folder), allowed="files whose names end with the rank, as rank_0 and rank_1"
        )
    return [found[rank] for rank in sorted(found)]


def _is_begun(op: FlightOp) -> bool:
    return not op.is_mail and op.state != SCHEDULED


def _entry(dump: FlightDump, number: int, op: FlightOp) -> dict[str, Any]:
    group = dump.groups[op.group]
    own = group.ranks.index(dump.rank) if dump.rank in group.ranks else dump.rank
    arrow = "->" if op.what == "send" else "<-"
    name = f"{op.what} {own}{arrow}{op.peer}" if op.is_mail else op.what
    dtypes = [_TORCH_DTYPES.get(each, each) for each in op.dtypes]
    return {
        "record_id": number,
        "pg_id": 0,
        "process_group": (group.name, group.description),
        "collective_seq_id": 0 if op.is_mail else op.number,
        "p2p_seq_id": op.number if op.is_mail else 0,
        "op_id": number,
        "profiling_name": f"{_BACKEND}:{name}",
        "time_created_ns": op.posted_ns,
        "input_sizes": [list(each) for each in op.sizes],
        "input_dtypes": dtypes,
        "output_sizes": [list(each) for each in op.results],
        "output_dtypes": dtypes,
        "state": op.state,
        "time_discovered_started_ns": op.started_ns,
        "time_discovered_completed_ns": op.completed_ns,
        "retired": op.state == COMPLETED,
        "timeout_ms": 0,
        "is_p2p": op.is_mail,
    }


class _PlainUnpickler(pickle.Unpickler):
    """Of dicts, lists, strings and numbers alone."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it names {module}.{name}, which loading would import")

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it names an object outside of the file")


def _plain(data: bytes, file: str) -> Any:
    try:
        return json.loads(data) if data.lstrip()[:1] == b"{" else _PlainUnpickler(io.BytesIO(data)).load()
    except Exception as error:  # a pickle that is cut or damaged raises almost anything
        raise ScenarioError(f"is no dump of a flight recorder: {error}", file=file) from error


class _Fields:
    """A dict of a dump; each method raises ScenarioError for a value of another kind."""

    def __init__(self, value: Any, file: str, key: str) -> None:
        self._file, self._key = file, key
        if not isinstance(value, dict):
            raise self.wrong("", value, "a table")
        self._values = value

    def wrong(self, name: str, value: Any, allowed: str) -> ScenarioError:
        key = ".".join(filter(None, (self._key, name)))
        return ScenarioError("is not what a dump has there", file=self._file, key=key, found=repr(value)[:60],
                             allowed=allowed)  # fmt: skip

    def text(self, name: str, default: str | None = None) -> str:
        value = self._values.get(name, default)
        if not isinstance(value, str):
            raise self.wrong(name, value, "a string")
        return value

    def number(self, name: str, default: int | None = None) -> int:
        value = self._values.get(name, default)
        if isinstance(value, float) and math.isfinite(value):
            value = int(value)
        if not isinstance(value, int):
            raise self.wrong(name, value, "a number")
        return value

    def time(self, name: str) -> int | None:
        return None if self._values.get(name) is None else self.number(name)

    def is_true(self, name: str) -> bool:
        return self._values.get(name) is True

    def rows(self, name: str) -> list[Any]:
        value = self._values.get(name, [])
        if not isinstance(value, list | tuple):
            raise self.wrong(name, value, "a list")
        return list(value)

    def table(self, name: str) -> dict[Any, Any]:
        value = self._values.get(name, {})
        if not isinstance(value, dict):
            raise self.wrong(name, value, "a table")
        return value

    def shapes(self, name: str) -> tuple[tuple[int, ...], ...]:
        rows = self.rows(name)
        if not all(isinstance(row, list | tuple) and all(isinstance(size, int) for size in row) for row in rows):
            raise self.wrong(name, rows, "lists of sizes")
        return tuple(tuple(row) for row in rows)

    def pair(self, name: str) -> tuple[str, str]:
        match self.rows(name):
            case [str(first), str(second)]:
                return first, second
            case other:
                raise self.wrong(name, other, "name and description of a process group")


def _dump(rank: int, document: Any, file: str) -> FlightDump:
    top = _Fields(document, file, "")
    version = top.text("version")
    if not version.startswith("2."):
        raise ScenarioError("has another version", file=file, key="version", found=version, allowed="2.x")
    groups = {
        str(name): _group(str(name), _Fields(value, file, f"pg_config.{name}"))
        for name, value in top.table("pg_config").items()
        if name != ""  # gloo leaves a group without a name and without ranks
    }
    ops: list[FlightOp] = []
    for place, value in enumerate(top.rows("entries")):
        entry = _Fields(value, file, f"entries.{place}")
        name, description = entry.pair("process_group")
        groups.setdefault(name, FlightGroup(name, description))
        ops.append(_op(name, entry))
    for name, value in top.table("pg_status").items():
        status = _Fields(value, file, f"pg_status.{name}")
        known = groups.get(str(name), FlightGroup(str(name), ""))
        groups[known.name] = FlightGroup(
            known.name, known.description, known.ranks, max(0, status.number("last_enqueued_collective", 0)),
            max(0, status.number("last_completed_collective", 0)),
        )  # fmt: skip
    return FlightDump(rank, groups, tuple(ops))


def _group(name: str, fields: _Fields) -> FlightGroup:
    text = fields.text("ranks", "[]")
    try:
        ranks = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        ranks = None
    if not isinstance(ranks, list | tuple) or not all(isinstance(rank, int) for rank in ranks):
        raise fields.wrong("ranks", text, "a list of ranks, as a string")
    return FlightGroup(name, fields.text("desc", ""), tuple(ranks))


def _op(group: str, entry: _Fields) -> FlightOp:
    _, _, what = entry.text("profiling_name").rpartition(":")
    match = _PEERS.match(what)
    state = entry.text("state")
    if state not in _STATES:
        raise entry.wrong("state", state, ", ".join(_STATES))
    completed = state == COMPLETED or entry.is_true("retired")
    is_mail = match is not None or entry.is_true("is_p2p")
    return FlightOp(
        group,
        entry.number("p2p_seq_id" if is_mail else "collective_seq_id"),
        what if match is None else match[1],
        COMPLETED if completed else state,
        -1 if match is None else int(match[3]),
        entry.shapes("input_sizes"),
        entry.shapes("output_sizes"),
        tuple(map(str, entry.rows("input_dtypes"))),
        entry.number("time_created_ns", 0),
        entry.time("time_discovered_started_ns"),
        entry.time("time_discovered_completed_ns"),
        _place(entry.rows("frames")),
    )


def _place(frames: Sequence[Any]) -> str:
    """Of the innermost frame outside of PyTorch."""
    for frame in frames:
        if isinstance(frame, dict) and "/torch/" not in str(frame.get("filename", "/torch/")):
            return f"{Path(str(frame['filename'])).name}:{frame.get('line', '?')}"
    return ""
