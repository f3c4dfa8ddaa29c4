"""What code of the user's own returns or defines: which values are allowed, and how a wrong one is shown."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin

from workloads.codec import fields_of
from workloads.machine import Event, event_record

__all__ = [
    "NOTHING",
    "Allowed",
    "check_event",
    "check_fields",
    "check_frame",
    "check_time",
    "instances",
    "misfit",
    "shown",
]

_TIMES = 1 << 63
_LONGEST = 65_549
"""bytes: an Ethernet header and the longest IP packet"""
_LONG = 60


@dataclass(frozen=True, slots=True)
class Allowed:
    """Which values are allowed."""

    words: str
    """description in words"""
    fits: Callable[[Any], object]
    """function that says whether a value is one of them"""

    def holds(self, value: object) -> bool:
        """A value whose own methods fail is none of them."""
        try:
            return bool(self.fits(value))
        except Exception:
            return False


NOTHING = Allowed("None", lambda value: value is None)


def instances(words: str, *kinds: type) -> Allowed:
    return Allowed(words, lambda value: isinstance(value, kinds))


def shown(value: object) -> str:
    """A value in a few words."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= _LONG else text[: _LONG - 3] + "..."


def misfit(value: Any, hint: Any, path: str = "") -> tuple[str, object, str] | None:
    """(place, value, allowed values) of the first part of a value that does not fit its annotation. Dataclasses, tuples
    and mappings are checked part by part."""
    origin, arms = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        wrongs = [misfit(value, arm, path) for arm in arms]
        inner = [wrong for wrong in wrongs if wrong is not None and wrong[0] != path]
        return None if None in wrongs else next(iter(inner), _wrong(value, hint, path))
    if origin is type:
        return None if isinstance(value, type) else _wrong(value, hint, path)
    if origin in (tuple, Sequence):
        return _of_items(value, arms, path)
    if origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            return _wrong(value, hint, path)
        parts = ((key, arm) for pair in value.items() for key, arm in zip(pair, arms, strict=True))
        return next((found for part, arm in parts if (found := misfit(part, arm, path))), None)
    if origin is Callable or hint is Callable:
        return None if callable(value) else _wrong(value, hint, path)
    if hint is type(None):
        return None if value is None else _wrong(value, hint, path)
    if hint is Any or not isinstance(hint, type):
        return None
    exact = hint in (int, float, bool, str)
    fits = type(value) in ((int, float) if hint is float else (hint,)) if exact else isinstance(value, hint)
    if not fits:
        return _wrong(value, hint, path)
    if dataclasses.is_dataclass(hint):
        for name, of_field, _, _ in fields_of(hint):
            if (wrong := misfit(getattr(value, name), of_field, f"{path}.{name}" if path else name)) is not None:
                return wrong
    return None


def _of_items(value: Any, arms: tuple[Any, ...], path: str) -> tuple[str, object, str] | None:
    if not isinstance(value, tuple):
        return _wrong(value, tuple, path)
    each = [arms[0]] * len(value) if len(arms) == 1 or arms[1:] == (Ellipsis,) else list(arms)
    if len(each) != len(value):
        return path, value, f"a tuple of {len(each)}"
    places = enumerate(zip(value, each, strict=True))
    return next((wrong for at, (item, arm) in places if (wrong := misfit(item, arm, f"{path}[{at}]"))), None)


def _wrong(value: object, hint: Any, path: str) -> tuple[str, object, str]:
    return path, value, _words(hint)


def _words(hint: Any) -> str:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(map(_words, get_args(hint)))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(f"{hint.__name__}.{each.name}" for each in hint)
    name = getattr(origin or hint, "__name__", "value")
    return _WORDS.get(origin or hint, f"a {name}")


_WORDS: Mapping[Any, str] = {
    int: "a whole number", float: "a number", str: "text", bool: "True or False", type(None): "None", type: "a class",
    Callable: "a function", tuple: "a tuple", Mapping: "a mapping", dict: "a mapping",
}  # fmt: skip


def check_frame(port: Any, frame: Any, ports: int | None, node: str = "switch") -> None:
    """What a Machine gave out to be sent. Raises TypeError or ValueError."""
    if not hasattr(type(port), "__index__"):
        raise TypeError(f"a frame was sent to port {shown(port)}, which is no whole number")
    if port < 0 or (ports is not None and port >= ports):
        allowed = "ports count from 0" if ports is None else f"the {node} has 0 to {ports - 1}"
        raise ValueError(f"a frame was sent to port {port}; {allowed}")
    if not isinstance(frame, (bytes, bytearray, memoryview)):
        raise TypeError(f"what was sent to port {port} is no frame: found {shown(frame)}, allowed are bytes")
    if len(frame) > _LONGEST:
        raise ValueError(
            f"a frame of {len(frame):,} bytes was sent to port {port}; an Ethernet frame has {_LONGEST:,} at most"
        )


def check_time(value: Any) -> int | None:
    """What get_timer gave. Raises TypeError or ValueError."""
    if value is not None and not isinstance(value, int):
        raise TypeError(f"get_timer gave {shown(value)}, which is no int (nanoseconds) or None")
    if value is not None and not -_TIMES < value < _TIMES:
        raise ValueError(f"get_timer gave {shown(value)}, which is no time within 2^63 ns")
    return value


def check_event(event: Any) -> None:
    """Checks an event of a host. Raises TypeError."""
    kind = type(event)
    if not dataclasses.is_dataclass(kind):
        raise TypeError(f"it returned {shown(event)}; allowed are events, which are dataclasses, and None")
    if kind.__module__.startswith(f"{__package__}."):
        if (wrong := misfit(event, kind)) is not None:
            raise TypeError(f"{wrong[0]} of event {kind.__name__} is {shown(wrong[1])}; allowed: {wrong[2]}")
    else:
        check_fields(event)


def check_fields(event: Event) -> None:
    """Raises TypeError for an event that no history can hold."""
    try:
        json.dumps(event_record(event), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"the fields of event {type(event).__name__} are no JSON values: {error}") from error
