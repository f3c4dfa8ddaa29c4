"""Records of a history and errors as JSON, for a file, a socket or another process. What comes from there is checked
before anything relies on it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

from testbed.history.eventkinds import event_kinds
from testbed.history.records import OwnEvent, Record
from workloads.codec import PLAIN, Misfit, Reader, describe, field_values, fields_of
from workloads.errors import HostCapabilityError, InternalError, ScenarioError, TestbedError
from workloads.machine import Event

__all__ = [
    "NoRecord",
    "encode",
    "encode_record",
    "encode_records",
    "error_fields",
    "error_from",
    "read_event",
    "read_record",
    "record_fields",
]

_ERROR_FIELDS = {
    "ScenarioError": ("problem", "file", "key", "line", "found", "allowed"),
    "HostCapabilityError": ("missing", "remedy"),
}


class NoRecord(ValueError):
    """A JSON value is no record of a history: why."""


def record_fields(record: Record) -> dict[str, Any]:
    """What `json.dumps` takes."""
    event = record.event
    if isinstance(event, OwnEvent):
        return {"t": record.t, "node": record.node, "event": event.name, **event.fields}
    fields = {"t": record.t, "node": record.node, "event": type(event).__name__, **field_values(event)}
    fields["node"] = record.node  # an event may have a field of this name, which says the same
    return fields


def encode_record(record: Record) -> bytes:
    """Its line."""
    return _line(record).encode()


def encode_records(records: Iterable[Record]) -> bytes:
    """Their lines."""
    return "".join(map(_line, records)).encode()


def _line(record: Record) -> str:
    """As of `record_fields`, put together from texts: long runs write millions."""
    kind: Any = type(record.event)
    line = _writer(kind)(record.t, _name(record.node), record.event)
    if line:
        return line
    middle = _middle(kind)
    if not middle:
        return f"{_to_json(record_fields(record))}\n"
    return f'{{"t":{record.t},"node":{_name(record.node)}{middle}{_to_json(field_values(record.event))[1:]}\n'


@cache
def _middle(kind: Any) -> str:
    """What stands between the node and the fields of an event; empty where a line cannot be put together so."""
    names = [name for name, _, always, _ in fields_of(kind) if always]
    return "" if kind is OwnEvent or not names or "node" in names else f',"event":"{kind.__name__}",'


@cache
def _writer(kind: Any) -> Callable[[int, str, Any], str]:
    """Writes the line of an event whose fields are whole numbers and texts, as most are, from time, node as JSON and
    event. Empty for others, and for one with a field that is not always written and is not at its default."""
    fields = [(name, hint) for name, hint, always, _ in fields_of(kind) if always]
    if not _middle(kind) or any(hint not in (int, str) for _, hint in fields):
        return lambda t, node, event: ""
    sometimes = {name for name, _, always, _ in fields_of(kind) if not always}
    defaults = {each.name: each.default for each in dataclasses.fields(kind) if each.name in sometimes}
    keys = "".join(f',"{name}":{"%d" if hint is int else "%s"}' for name, hint in fields)
    values = ", ".join(f"e.{name}" if hint is int else f"text(e.{name})" for name, hint in fields)
    are_so = [f"type(e.{name}) is {hint.__name__}" for name, hint in fields]
    are_so += [f"e.{name} == DEFAULTS[{name!r}]" for name in defaults]
    # Compiled, as `field_values` is: long runs write millions of lines.
    source = f"lambda t, node, e: LINE % (t, node, {values}) if {' and '.join(are_so)} else ''"
    line = f'{{"t":%d,"node":%s,"event":"{kind.__name__}"{keys}}}\n'
    names = {"LINE": line, "DEFAULTS": defaults, "text": json.encoder.encode_basestring_ascii}
    found: Callable[[int, str, Any], str] = eval(source, names)
    return found


@lru_cache(1024)
def _name(node: str) -> str:
    return _to_json(node)


def encode(message: Mapping[str, Any]) -> bytes:
    return _to_json(message).encode() + b"\n"


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays know their plain form; bytes are shown as hex."""
    if isinstance(value, bytes):
        return value.hex()
    return value.tolist()


_to_json = json.JSONEncoder(separators=(",", ":"), default=_plain).encode


def read_record(data: Any) -> Record:
    """The inverse of `record_fields`. Raises NoRecord. The fields of an event of a user's program are not known
    here."""
    if not isinstance(data, dict) or not {"t", "node", "event"} <= data.keys():
        raise NoRecord("no t, node and event")
    t, node, name = data["t"], data["node"], data["event"]
    if type(t) is not int:
        raise NoRecord(f"t: {_short(t)}, not {describe(int)}")
    if not isinstance(node, str):
        raise NoRecord(f"node: {_short(node)}, not {describe(str)}")
    if not isinstance(name, str):
        raise NoRecord(f"event: {_short(name)}, not {describe(str)}")
    return Record(t, node, read_event(data))


def read_event(data: Mapping[str, Any]) -> Event:
    """Of the fields of its record. Raises NoRecord."""
    name = data["event"]
    kind: Any = event_kinds().get(name)
    if kind is None:
        return OwnEvent(name, {key: value for key, value in data.items() if key not in ("t", "node", "event")})
    values = {}
    for field, hint, always, read in _readers(kind):
        if field in data:
            try:
                values[field] = read(data[field], field)
            except Misfit:
                raise NoRecord(f"{field} of {name}: {_short(data[field])}, not {describe(hint)}") from None
        elif always:
            raise NoRecord(f"{name} without {field}")
    event: Event = kind(**values)
    return event


@cache
def _readers(kind: Any) -> tuple[tuple[str, Any, bool, Reader], ...]:
    """Of each field: name, annotation, whether it is always written, how it is read."""
    return tuple((name, hint, always, PLAIN.reader(hint)) for name, hint, always, _ in fields_of(kind))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


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
