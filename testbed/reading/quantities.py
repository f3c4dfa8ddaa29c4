"""Types of keys that hold a quantity with its unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeAlias

from testbed.reading.keytypes import Plain, refuse
from testbed.reading.units import (
    UnitError,
    format_drift,
    format_duration,
    format_probability,
    format_rate,
    format_size,
    parse_drift,
    parse_duration,
    parse_probability,
    parse_rate,
    parse_size,
)

__all__ = [
    "AggregationKey",
    "BandwidthKey",
    "DriftKey",
    "DurationKey",
    "LimitKey",
    "ProbabilityKey",
    "ScaledDurationKey",
    "ScaledRateKey",
    "ScaledSizeKey",
    "SizeKey",
    "SpanKey",
    "VectorSizeKey",
]

Format = Callable[[Any], Any]


def _quantity(what: str, zero: bool = True) -> dict[str, Any]:
    """JSON Schema of a number with a unit."""
    text = {"type": "string", "description": what}
    return {"anyOf": [text, {"const": 0}]} if zero else text


def _unit(
    parse: Callable[[object], Any],
    format_: Format,
    suffix: str,
    json_schema: Mapping[str, Any],
    *,
    above_zero: bool = False,
    most: int | None = None,
    bound: str = "",
) -> Plain:
    def check(value: object) -> Any:
        try:
            number = parse(value)
        except UnitError as error:
            raise refuse(error.problem, error.allowed, error.hint) from None
        if (above_zero and number == 0) or (most is not None and number > most):
            raise refuse("out of range", bound)
        return number

    return Plain(check, format_, json_schema, suffix)


def _scaled_or(
    parse: Callable[[object], Any], format_: Format, suffix: str, json_schema: Mapping[str, Any], most: int, bound: str
) -> Plain:
    """A quantity above 0, or `scaled`, which becomes None."""
    return _word_or("scaled", parse, format_, suffix, json_schema, 1, most, bound)


def _word_or(
    word: str,
    parse: Callable[[object], Any],
    format_: Format,
    suffix: str,
    json_schema: Mapping[str, Any],
    least: int,
    most: int,
    bound: str,
) -> Plain:
    """A quantity in whole units from `least` to `most`, or `word`, which becomes None."""

    def check(value: object) -> Any:
        if value == word:
            return None
        try:
            number = parse(value)
        except UnitError as error:
            raise refuse(error.problem, f"{word}, or {error.allowed}", error.hint) from None
        if not least <= number <= most:
            raise refuse("out of range", f"{word}, or {bound}")
        return number

    return Plain(check, format_, json_schema, suffix, word)


_HOUR = 3_600_000_000_000
_TIME = _quantity("a number with ns, us, ms, s or min, as 2ms")
_RATE = _quantity("a number with bps, kbps, Mbps or Gbps, as 100Mbps")
_SIZE = {
    "anyOf": [
        {"type": "string", "description": "a number with B, kB, MB, GB, KiB, MiB or GiB, as 4MB"},
        {"type": "integer", "minimum": 0, "description": "bytes"},
    ]
}
_SHARE = {
    "anyOf": [
        {"type": "string", "description": "0% to 100%, as 1%"},
        {"type": "number", "minimum": 0, "maximum": 1},
    ]
}

DurationKey: TypeAlias = Annotated[
    int, _unit(parse_duration, format_duration, "_ns", _TIME, most=_HOUR, bound="at most 60min")
]
LimitKey: TypeAlias = Annotated[
    int,
    _unit(
        parse_duration, format_duration, "_ns", _TIME, above_zero=True, most=_HOUR, bound="more than 0, at most 60min"
    ),
]
SpanKey: TypeAlias = Annotated[
    int | None,
    _word_or(
        "auto",
        parse_duration,
        format_duration,
        "_ns",
        {"anyOf": [{"const": "auto"}, _TIME]},
        0,
        _HOUR,
        "0 to 60min",
    ),
]
BandwidthKey: TypeAlias = Annotated[
    int,
    _unit(
        parse_rate,
        format_rate,
        "_bps",
        _RATE,
        above_zero=True,
        most=400_000_000_000,
        bound="more than 0, at most 400Gbps",
    ),
]
AggregationKey: TypeAlias = Annotated[
    int, _unit(parse_rate, format_rate, "_bps", _RATE, most=10**13, bound="at most 10000Gbps")
]
DriftKey: TypeAlias = Annotated[
    int,
    _unit(
        parse_drift, format_drift, "_ppb", _quantity("a number with ppb, ppm or %, as 100ppm"),
        most=100_000_000, bound="at most 10%",
    ),
]  # fmt: skip
SizeKey: TypeAlias = Annotated[
    int,
    _unit(parse_size, format_size, "_bytes", _SIZE, above_zero=True, most=1 << 32, bound="4 bytes to 4GiB"),
]
VectorSizeKey: TypeAlias = Annotated[
    int, _unit(parse_size, format_size, "_bytes", _SIZE, most=1 << 32, bound="at most 4GiB")
]
"""no bytes, too"""
ScaledDurationKey: TypeAlias = Annotated[
    int | None, _scaled_or(parse_duration, format_duration, "_ns", _TIME, _HOUR, "more than 0, at most 60min")
]
ScaledRateKey: TypeAlias = Annotated[
    int | None, _scaled_or(parse_rate, format_rate, "_bps", _RATE, 400_000_000_000, "more than 0, at most 400Gbps")
]
ScaledSizeKey: TypeAlias = Annotated[
    int | None, _scaled_or(parse_size, format_size, "_bytes", _SIZE, 1 << 40, "more than 0, at most 1TB")
]
ProbabilityKey: TypeAlias = Annotated[float, _unit(parse_probability, format_probability, "", _SHARE)]
