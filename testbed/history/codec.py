"""Records of a history and errors as JSON, for a file, a socket or another process."""

from __future__ import annotations

import json
from typing import Any

from testbed.history.records import Record
from testbed.scenario.model import CONTROLLER
from workloads.errors import HostCapabilityError, InternalError, ScenarioError, TestbedError
from workloads.machine import Event, event_record

__all__ = ["encode", "error_fields", "error_from", "make_record"]

_ERROR_FIELDS = {
    "ScenarioError": ("problem", "file", "key", "line", "found", "allowed"),
    "HostCapabilityError": ("missing", "remedy"),
}


def encode(message: Record) -> bytes:
    return _to_json(message).encode() + b"\n"


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays know their plain form; bytes are shown as hex."""
    if isinstance(value, bytes):
        return value.hex()
    return value.tolist()


_to_json = json.JSONEncoder(separators=(",", ":"), default=_plain).encode


def make_record(t: int, node: str, event: Event) -> Record:
    """An event that names a node itself is told of that node by the world and by a controller, and by nobody else."""
    record = {"t": t, "node": node, **event_record(event)}
    if node not in ("world", CONTROLLER):
        record["node"] = node
    return record


def error_fields(error: TestbedError) -> dict[str, Any]:
    """An error of ours as JSON values; `error_from` makes it again on the other side."""
    # A kind of ScenarioError is one on the other side too.
    names = [kind.__name__ for kind in type(error).__mro__]
    name = next((known for known in names if known in _ERROR_FIELDS), names[0])
    return {"name": name, "text": str(error), **{key: getattr(error, key) for key in _ERROR_FIELDS.get(name, ())}}


def error_from(fields: dict[str, Any]) -> TestbedError:
    match fields:
        case {"name": "ScenarioError"}:
            keys = ("file", "key", "line", "found", "allowed")
            return ScenarioError(fields["problem"], **{key: fields[key] for key in keys})
        case {"name": "HostCapabilityError"}:
            return HostCapabilityError(fields["missing"], fields["remedy"])
        case _:
            return InternalError(fields["text"])
