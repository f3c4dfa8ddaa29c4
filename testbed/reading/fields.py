"""Types of keys: each turns what YAML gave into a number or word and back, or says what is allowed."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Annotated, Any, TypeAlias

from testbed.reading.keytypes import Plain, refuse
from testbed.reading.problems import closest
from testbed.reading.quantities import (
    AggregationKey,
    BandwidthKey,
    DriftKey,
    DurationKey,
    LimitKey,
    ProbabilityKey,
    ScaledDurationKey,
    ScaledRateKey,
    ScaledSizeKey,
    SizeKey,
    SpanKey,
    VectorSizeKey,
)
from topologies import DIRECTIONS, Direction
from workloads.visible import visible

__all__ = [
    "AggregationKey",
    "BandwidthKey",
    "BoolKey",
    "DirectionsKey",
    "DriftKey",
    "DurationKey",
    "HostNameKey",
    "LimitKey",
    "LineKey",
    "LinksKey",
    "NamesKey",
    "NodeNameKey",
    "ProbabilityKey",
    "ScaledDurationKey",
    "ScaledRateKey",
    "ScaledSizeKey",
    "ServersKey",
    "SizeKey",
    "SomeNamesKey",
    "SpanKey",
    "TextKey",
    "VectorSizeKey",
    "WordKey",
    "choice",
    "even",
    "floats_as_integers",
    "number_above_zero",
    "number_or_auto",
    "refuse",
    "share",
    "whole",
    "whole_or",
    "whole_or_list",
]

_SCALE = re.compile(r"[0-9]{1,30}(?:\.[0-9]{0,30})?(?:[eE][-+]?[0-9]{1,2})?\Z", re.ASCII)
_MOST_SCALE = 1e12


def whole(low: int, high: int, meaning: str = "") -> Plain:
    """A whole number from `low` to `high`."""

    def check(value: object) -> int:
        allowed = f"a whole number from {low} to {high}{meaning}"
        if isinstance(value, bool) or not isinstance(value, int):
            raise refuse("not a whole number", allowed)
        if not low <= value <= high:
            raise refuse("out of range", allowed)
        return value

    return Plain(check, json_schema={"type": "integer", "minimum": low, "maximum": high})


def even(low: int, high: int) -> Plain:
    """An even number from `low` to `high`."""

    def check(value: object) -> int:
        allowed = f"an even number from {low} to {high}"
        if isinstance(value, bool) or not isinstance(value, int):
            raise refuse("not a whole number", allowed)
        if value % 2:
            raise refuse("an odd number", allowed)
        if not low <= value <= high:
            raise refuse("out of range", allowed)
        return value

    return Plain(check, json_schema={"type": "integer", "minimum": low, "maximum": high, "multipleOf": 2})


def number_above_zero(most: int) -> Plain:
    """A whole or decimal number above 0, or None."""

    def check(value: object) -> float | None:
        allowed = f"a number above 0, at most {most}, as 4 or 1.5"
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise refuse("not a number", allowed)
        if not 0 < value <= most:
            raise refuse("out of range", allowed)
        return float(value)

    return Plain(check, json_schema={"type": "number", "exclusiveMinimum": 0, "maximum": most})


def number_or_auto(least: float, most: float) -> Plain:
    """A number from `least` to `most`, or `auto`, which becomes None."""

    def check(value: object) -> float | None:
        if value == "auto":
            return None
        allowed = f"auto, or a number from {least:g} to {most:g}"
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise refuse("neither auto nor a number", allowed)
        if not least <= value <= most:
            raise refuse("out of range", allowed)
        return float(value)

    json_schema = {"anyOf": [{"const": "auto"}, {"type": "number", "minimum": least, "maximum": most}]}
    return Plain(check, json_schema=json_schema, none="auto")


def floats_as_integers() -> Plain:
    """`exponents`, which becomes None, or `fixed:SCALE`, which becomes the number."""
    allowed = f"exponents, or fixed: and a number above 0, at most {_MOST_SCALE:g}, as fixed:1e6"

    def check(value: object) -> float | None:
        if value == "exponents":
            return None
        word, _, text = value.partition(":") if isinstance(value, str) else ("", "", "")
        if word != "fixed" or not _SCALE.match(text) or not 0 < float(text) <= _MOST_SCALE:
            raise refuse("no way to make integers of floats", allowed)
        return float(text)

    json_schema = {"type": "string", "pattern": "^(exponents|fixed:.+)$"}
    return Plain(check, lambda scale: f"fixed:{scale!r}", json_schema, none="exponents")


def share() -> Plain:
    """A number above 0 and below 1."""

    def check(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
            raise refuse("not a share", "a number above 0 and below 1, as 0.0039")
        return float(value)

    return Plain(check, json_schema={"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})


def whole_or_list(low: int, high: int) -> Plain:
    """A whole number from `low` to `high`, or a list of such numbers, which becomes a tuple."""

    def check(value: object) -> int | tuple[int, ...]:
        allowed = f"a whole number from {low} to {high}, or a list of them, as [4, 2]"
        given = value if isinstance(value, list) else [value]
        items = [item for item in given if isinstance(item, int) and not isinstance(item, bool)]
        if not given or len(items) != len(given):
            raise refuse("neither a whole number nor a list of them", allowed)
        if not all(low <= item <= high for item in items):
            raise refuse("out of range", allowed)
        return tuple(items) if isinstance(value, list) else items[0]

    number = {"type": "integer", "minimum": low, "maximum": high}
    return Plain(check, _as_list, {"anyOf": [number, {"type": "array", "items": number, "minItems": 1}]})


def whole_or(word: str, stands_for: int | None, low: int, high: int, meaning: str = "") -> Plain:
    """A whole number, or `word` for `stands_for`."""

    def check(value: object) -> int | None:
        allowed = f"{word}, or a whole number from {low} to {high}{meaning}"
        if value == word:
            return stands_for
        if isinstance(value, bool) or not isinstance(value, int):
            hint = closest(value, [word]) if isinstance(value, str) else None
            raise refuse(f"neither {word} nor a whole number", allowed, hint)
        if not low <= value <= high:
            raise refuse("out of range", allowed)
        return value

    json_schema = {"anyOf": [{"const": word}, {"type": "integer", "minimum": low, "maximum": high}]}
    return Plain(
        check,
        lambda value: word if value == stands_for else value,
        json_schema,
        none=word if stands_for is None else None,
    )


def choice(words: Collection[str | int] | Collection[str], or_form: re.Pattern[str] | None = None) -> Plain:
    """One of `words`, or text of that form. Which words there are is asked when a value is read."""

    def check(value: object) -> object:
        if isinstance(value, str) and or_form is not None and or_form.match(value):
            return value
        if isinstance(value, (bool, list, dict)) or value not in words:
            raise refuse("unknown value", ", ".join(map(str, words)), closest(value, map(str, words)))
        return value

    def json_schema() -> dict[str, Any]:
        known = {"enum": list(words)}
        return known if or_form is None else {"anyOf": [known, {"type": "string", "pattern": or_form.pattern}]}

    return Plain(check, json_schema=json_schema)


def _as_list(value: int | tuple[int, ...]) -> int | list[int]:
    return list(value) if isinstance(value, tuple) else value


def _list_or_none(value: tuple[str, ...]) -> list[str] | None:
    return list(value) or None


_NAME_LIST = {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise refuse("not text", "text", "quote it" if isinstance(value, (int, float)) else None)
    return visible(value)


def _host_name(value: object) -> object:
    if not isinstance(value, str) or not value:
        raise refuse("not the name of a host", "a host, as h4")
    return value


_WORD = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\Z", re.ASCII)


def _word(value: object) -> object:
    if not isinstance(value, str) or not _WORD.match(value):
        raise refuse("not a name", "a-z, 0-9 and - inside, at most 63 characters")
    return value


_NODE_NAME = re.compile(r"[a-z][a-z0-9]{0,9}\Z", re.ASCII)
_RESERVED = ("world",)
"""nodes that report facts about the whole run"""


def _node_name(value: object) -> object:
    if not isinstance(value, str) or not _NODE_NAME.match(value) or value in _RESERVED:
        raise refuse("not a name of a node", "a letter, then a-z and 0-9, at most 10 characters; not world")
    return value


def _bool(value: object) -> object:
    if not isinstance(value, bool):
        raise refuse("neither true nor false", "true, false")
    return value


def _directions(value: object) -> tuple[Direction, ...]:
    if value == "both":
        return DIRECTIONS
    if isinstance(value, str) and value in list(Direction):
        return (Direction(value),)
    words = ["up", "down", "both"]
    raise refuse(
        "unknown value", "up (from the host to the switch, or to the switch above), down, both", closest(value, words)
    )


def _links(value: object) -> tuple[str, ...] | None:
    if value == "all":
        return None
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise refuse("not a list of links", "all, a link's name, or a list of names, as [h1-s1, h2-s1]")
    if len(set(value)) != len(value):
        raise refuse("a link is named twice", "each link once")
    return tuple(value)


TextKey: TypeAlias = Annotated[str, Plain(_text, json_schema={"type": "string"})]
LineKey: TypeAlias = Annotated[str, Plain(lambda value: _text(value).strip(), json_schema={"type": "string"})]
"""text whose ends do not count"""
HostNameKey: TypeAlias = Annotated[
    str, Plain(_host_name, lambda name: name or None, {"type": "string", "minLength": 1})
]
WordKey: TypeAlias = Annotated[
    str, Plain(_word, json_schema={"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"})
]
NodeNameKey: TypeAlias = Annotated[
    str, Plain(_node_name, json_schema={"type": "string", "pattern": "^[a-z][a-z0-9]{0,9}$"})
]
BoolKey: TypeAlias = Annotated[bool, Plain(_bool, json_schema={"type": "boolean"})]
DirectionsKey: TypeAlias = Annotated[
    tuple[Direction, ...],
    Plain(
        _directions,
        lambda directions: "both" if directions == DIRECTIONS else str(directions[0]),
        {"enum": [*map(str, Direction), "both"]},
    ),
]


def _names(value: object) -> tuple[str, ...]:
    if value == "all":
        return ()
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(item, str) for item in value):
        raise refuse("not a list of hosts", "all, or a list of two names or more, as [h1, h2]")
    if len(set(value)) != len(value):
        raise refuse("a host is named twice", "each host once")
    return tuple(value)


def _servers(value: object) -> tuple[str, ...]:
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not found or not all(isinstance(item, str) for item in found):
        raise refuse("not a list of hosts", "a host, or a list of hosts, as [ps1, ps2]")
    if len(set(found)) != len(found):
        raise refuse("a host is named twice", "each host once")
    return tuple(found)


ServersKey: TypeAlias = Annotated[tuple[str, ...], Plain(_servers, list, {"anyOf": [{"type": "string"}, _NAME_LIST]})]


def _some_names(value: object) -> tuple[str, ...]:
    """Of a job next to others: it may have one worker alone, and never all hosts."""
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise refuse("not a list of hosts", "a list of one name or more, as [h1, h2]; or workers, as 2, without hosts")
    if len(set(value)) != len(value):
        raise refuse("a host is named twice", "each host once")
    return tuple(value)


_ALL_OR_NAMES = {"anyOf": [{"const": "all"}, _NAME_LIST]}

LinksKey: TypeAlias = Annotated[
    tuple[str, ...], Plain(_links, _list_or_none, {"anyOf": [{"type": "string"}, _NAME_LIST]}, none="all")
]
"""a file says `all`, which is read as None"""
NamesKey: TypeAlias = Annotated[tuple[str, ...], Plain(_names, _list_or_none, _ALL_OR_NAMES)]
"""empty: all hosts"""
SomeNamesKey: TypeAlias = Annotated[tuple[str, ...], Plain(_some_names, _list_or_none, _NAME_LIST)]
"""never all, or empty"""
