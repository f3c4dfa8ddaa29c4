"""Records for tests: what a test does not care about is zero, empty or absent."""

from __future__ import annotations

import types
from typing import Any, Union, get_args, get_origin

from testbed.history import OwnEvent, Record
from testbed.history.codec import read_record
from testbed.history.eventkinds import event_kinds
from workloads.codec import PLAIN, fields_of

__all__ = ["a_record", "event_with", "fields", "held"]


def a_record(t: int, node: str, event: str, **given: Any) -> Record[Any]:
    """Of the class of this name; what is not given is zero."""
    kind = event_kinds().get(event)
    if kind is None:
        return Record(t, node, OwnEvent(event, given))
    empty = {name: _empty(hint) for name, hint, always, _ in fields_of(kind) if always}
    return read_record({**empty, **PLAIN.encode(given), "t": t, "node": node, "event": event})


def fields(found: Record) -> dict[str, Any]:
    """What it holds, by name: t, node, the event's name as `event`, and all its fields."""
    told = (
        found.event.fields
        if isinstance(found.event, OwnEvent)
        else {n: getattr(found.event, n) for n, *_ in fields_of(type(found.event))}
    )
    return {**told, "t": found.t, "node": found.node, "event": found.name}


def held(found: Record, name: str) -> Any:
    """The field of this name; None where there is none."""
    return fields(found).get(name)


def event_with(old: Record, **change: Any) -> Record[Any]:
    """The record with other values in these fields."""
    new = {**fields(old), **change}
    return a_record(new.pop("t"), new.pop("node"), new.pop("event"), **new)


def _empty(hint: Any) -> Any:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return None if type(None) in get_args(hint) else _empty(get_args(hint)[0])
    if origin is tuple:
        return [] if Ellipsis in get_args(hint) else [_empty(arm) for arm in get_args(hint)]
    return {} if origin is dict else {int: 0, float: 0.0, str: "", bool: False}[hint]
