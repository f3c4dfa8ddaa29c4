"""What the fields of each event hold, so that a history from outside can be checked before anything relies on it."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import switch_nodes.events
import switch_nodes.fpga.events
import testbed.faults.events
import testbed.history.events
import testbed.history.lab_events
import testbed.history.training_events
import testbed.steering.events
import workloads.datagrams.blocks
import workloads.events
from workloads.machine import Event, sometimes_told

__all__ = ["event_kinds", "record_problem"]

_MODULES = (
    switch_nodes.events,
    switch_nodes.fpga.events,
    testbed.faults.events,
    testbed.history.lab_events,
    testbed.history.training_events,
    testbed.steering.events,
    testbed.history.events,
    workloads.datagrams.blocks,
    workloads.events,
)
_Test = Callable[[Any], bool]


@cache
def event_kinds() -> Mapping[str, type[Event]]:
    """All events that histories hold, by name."""
    found = (value for module in _MODULES for value in vars(module).values())
    return {kind.__name__: kind for kind in found if isinstance(kind, type) and issubclass(kind, Event)}


def record_problem(record: Any) -> str | None:
    """Why this JSON value is no record of a history; None: it is one. What fields an event has that is none of ours (of a user's
    program) nobody knows."""
    if not isinstance(record, dict) or not {"t", "node", "event"} <= record.keys():
        return "no t, node and event"
    for name, (shown, test) in _HEAD.items():
        if not test(record[name]):
            return f"{name}: {_short(record[name])}, not {shown}"
    event = record["event"]
    for name, (shown, test, always) in _fields(event).items():
        if name not in record:
            if always:
                return f"{event} without {name}"
        elif not test(record[name]):
            return f"{name} of {event}: {_short(record[name])}, not {shown}"
    return None


@cache
def _fields(event: str) -> Mapping[str, tuple[str, _Test, bool]]:
    """Of one event, by name: what it holds in words, whether a value is such, whether it is there always."""
    kind = event_kinds().get(event)
    if kind is None:
        return {}
    optional = sometimes_told(kind)
    return {name: (*_read(hint), name not in optional) for name, hint in get_type_hints(kind).items()}


def _read(hint: Any) -> tuple[str, _Test]:
    """Of an annotation, as JSON has it: what it says in words, whether a value is such."""
    origin, inside = get_origin(hint), [_read(item) for item in get_args(hint) if item is not Ellipsis]
    if origin in (Union, types.UnionType):
        return " or ".join(shown for shown, _ in inside), lambda value: any(test(value) for _, test in inside)
    if origin is tuple and Ellipsis in get_args(hint):
        shown, each = inside[0]
        return f"a list ({shown})", lambda value: isinstance(value, list) and all(map(each, value))
    if origin is tuple:
        return (
            f"a list of {len(inside)}",
            lambda value: (
                isinstance(value, list)
                and len(value) == len(inside)
                and all(test(item) for (_, test), item in zip(inside, value, strict=True))
            ),
        )
    if origin is dict:
        shown, each = inside[1]
        return f"a mapping ({shown})", lambda value: isinstance(value, dict) and all(map(each, value.values()))
    return _PLAIN.get(hint, ("anything", lambda value: True))


def _is_int(value: Any) -> bool:
    return type(value) is int


_PLAIN: Mapping[Any, tuple[str, _Test]] = {
    int: ("a whole number", _is_int),
    float: ("a number", lambda value: type(value) in (int, float)),
    str: ("text", lambda value: isinstance(value, str)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    type(None): ("null", lambda value: value is None),
}
_HEAD = {"t": _PLAIN[int], "node": _PLAIN[str], "event": _PLAIN[str]}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
