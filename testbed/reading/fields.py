"""Types of scenario keys: each turns what YAML gave into a number or word, or says what is allowed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainValidator
from pydantic_core import PydanticCustomError

from testbed.reading.problems import closest
from testbed.reading.units import UnitError, parse_drift, parse_duration, parse_probability, parse_rate, parse_size
from topologies import DIRECTIONS, Direction

__all__ = [
    "AggregationKey",
    "BandwidthKey",
    "BoolKey",
    "DirectionsKey",
    "DriftKey",
    "DurationKey",
    "HostNameKey",
    "LinksKey",
    "NamesKey",
    "NodeNameKey",
    "ProbabilityKey",
    "ScaledDurationKey",
    "ScaledRateKey",
    "ScaledSizeKey",
    "Section",
    "ServersKey",
    "SizeKey",
    "TextKey",
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


class Section(BaseModel):
    """A mapping of a scenario file: unknown keys are refused, nothing is converted silently."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


def refuse(problem: str, allowed: str | None = None, hint: str | None = None) -> PydanticCustomError:
    """An error that `testbed.reading.validate` turns into a ScenarioError with file, line and key."""
    return PydanticCustomError("refused", "{problem}", {"problem": problem, "allowed": allowed, "hint": hint})


def _unit(
    parse: Callable[[object], Any], *, above_zero: bool = False, most: int | None = None, bound: str = ""
) -> PlainValidator:
    def check(value: object) -> Any:
        try:
            number = parse(value)
        except UnitError as error:
            raise refuse(error.problem, error.allowed, error.hint) from None
        if (above_zero and number == 0) or (most is not None and number > most):
            raise refuse("out of range", bound)
        return number

    return PlainValidator(check)


def _scaled_or(parse: Callable[[object], Any], most: int, bound: str) -> PlainValidator:
    """A quantity above 0, or `scaled`, which becomes None."""

    def check(value: object) -> Any:
        if value == "scaled":
            return None
        try:
            number = parse(value)
        except UnitError as error:
            raise refuse(error.problem, f"scaled, or {error.allowed}", error.hint) from None
        if not 0 < number <= most:
            raise refuse("out of range", f"scaled, or {bound}")
        return number

    return PlainValidator(check)


_HOUR = 3_600_000_000_000

DurationKey: TypeAlias = Annotated[int, _unit(parse_duration, most=_HOUR, bound="at most 60min")]
BandwidthKey: TypeAlias = Annotated[
    int, _unit(parse_rate, above_zero=True, most=400_000_000_000, bound="more than 0, at most 400Gbps")
]
AggregationKey: TypeAlias = Annotated[int, _unit(parse_rate, most=10**13, bound="at most 10000Gbps")]
DriftKey: TypeAlias = Annotated[int, _unit(parse_drift, most=100_000_000, bound="at most 10%")]
SizeKey: TypeAlias = Annotated[int, _unit(parse_size, above_zero=True, most=1 << 32, bound="4 bytes to 4GiB")]
ScaledDurationKey: TypeAlias = Annotated[int | None, _scaled_or(parse_duration, _HOUR, "more than 0, at most 60min")]
ScaledRateKey: TypeAlias = Annotated[
    int | None, _scaled_or(parse_rate, 400_000_000_000, "more than 0, at most 400Gbps")
]
ScaledSizeKey: TypeAlias = Annotated[int | None, _scaled_or(parse_size, 1 << 40, "more than 0, at most 1TB")]
ProbabilityKey: TypeAlias = Annotated[float, _unit(parse_probability)]


def whole(low: int, high: int, meaning: str = "") -> PlainValidator:
    """A whole number from `low` to `high`."""

    def check(value: object) -> int:
        allowed = f"a whole number from {low} to {high}{meaning}"
        if isinstance(value, bool) or not isinstance(value, int):
            raise refuse("not a whole number", allowed)
        if not low <= value <= high:
            raise refuse("out of range", allowed)
        return value

    return PlainValidator(check)


def even(low: int, high: int) -> PlainValidator:
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

    return PlainValidator(check)


def number_above_zero(most: int) -> PlainValidator:
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

    return PlainValidator(check)


def number_or_auto(least: float, most: float) -> PlainValidator:
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

    return PlainValidator(check)


def floats_as_integers() -> PlainValidator:
    """`exponents`, which becomes None, or `fixed:SCALE`, which becomes the number."""
    allowed = f"exponents, or fixed: and a number above 0, at most {_MOST_SCALE:g}, as fixed:1e6"

    def check(value: object) -> float | None:
        if value == "exponents":
            return None
        word, _, text = value.partition(":") if isinstance(value, str) else ("", "", "")
        if word != "fixed" or not _SCALE.match(text) or not 0 < float(text) <= _MOST_SCALE:
            raise refuse("no way to make integers of floats", allowed)
        return float(text)

    return PlainValidator(check)


def share() -> PlainValidator:
    """A number above 0 and below 1."""

    def check(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
            raise refuse("not a share", "a number above 0 and below 1, as 0.0039")
        return float(value)

    return PlainValidator(check)


def whole_or_list(low: int, high: int) -> PlainValidator:
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

    return PlainValidator(check)


def whole_or(word: str, stands_for: int | None, low: int, high: int, meaning: str = "") -> PlainValidator:
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

    return PlainValidator(check)


def choice(words: Collection[str | int] | Collection[str], or_form: re.Pattern[str] | None = None) -> PlainValidator:
    """One of `words`, or text of that form. Which words there are is asked when a value is read."""

    def check(value: object) -> object:
        if isinstance(value, str) and or_form is not None and or_form.match(value):
            return value
        if isinstance(value, (bool, list, dict)) or value not in words:
            raise refuse("unknown value", ", ".join(map(str, words)), closest(value, map(str, words)))
        return value

    return PlainValidator(check)


def _text(value: object) -> object:
    if not isinstance(value, str):
        raise refuse("not text", "text", "quote it" if isinstance(value, (int, float)) else None)
    return value


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
"""who tells facts about the whole run"""


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


TextKey: TypeAlias = Annotated[str, BeforeValidator(_text)]
HostNameKey: TypeAlias = Annotated[str, BeforeValidator(_host_name)]
WordKey: TypeAlias = Annotated[str, BeforeValidator(_word)]
NodeNameKey: TypeAlias = Annotated[str, BeforeValidator(_node_name)]
BoolKey: TypeAlias = Annotated[bool, BeforeValidator(_bool)]
DirectionsKey: TypeAlias = Annotated[tuple[Direction, ...], PlainValidator(_directions)]


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


ServersKey: TypeAlias = Annotated[tuple[str, ...], PlainValidator(_servers)]


def _some_names(value: object) -> tuple[str, ...]:
    """Of a job beside others: it may have one worker alone, and never all hosts."""
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise refuse("not a list of hosts", "a list of one name or more, as [h1, h2]; or workers, as 2, without hosts")
    if len(set(value)) != len(value):
        raise refuse("a host is named twice", "each host once")
    return tuple(value)


LinksKey: TypeAlias = Annotated[tuple[str, ...] | None, PlainValidator(_links)]
"""None: all links"""
NamesKey: TypeAlias = Annotated[tuple[str, ...], PlainValidator(_names)]
"""empty: all hosts"""
SomeNamesKey: TypeAlias = Annotated[tuple[str, ...], PlainValidator(_some_names)]
"""never all, or empty"""
