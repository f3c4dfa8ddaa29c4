"""Quantities with units: text of a scenario file <-> integers and floats, exactly.

Every `parse_*` takes what YAML (or a flag) gave and raises UnitError, which says what would have been right. Every
`format_*` gives the shortest text that parses back to the same number.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

__all__ = [
    "UnitError",
    "format_drift",
    "format_duration",
    "format_probability",
    "format_rate",
    "format_size",
    "parse_drift",
    "parse_duration",
    "parse_probability",
    "parse_rate",
    "parse_size",
    "parse_whole",
]

_RATE_UNITS = {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9}
_TIME_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}
_DRIFT_UNITS = {"ppb": 1, "ppm": 10**3, "%": 10**7}
_SIZE_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}

_NUMBER = re.compile(
    r"([-+]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,3})?)\s*((?![0-9.])\S*)\Z", re.ASCII
)


_WHOLE = re.compile(r"[-+]?[0-9]{1,30}(?:\.[0-9]{0,30})?(?:[eE][-+]?[0-9]{1,3})?\Z", re.ASCII)
_MOST_WHOLE = 10**30
_LONGEST_UNIT = 20
"""characters of an unknown one that a message shows"""


class UnitError(ValueError):
    """A quantity that does not parse; `allowed` says what would."""

    def __init__(self, problem: str, allowed: str, hint: str | None = None) -> None:
        self.problem, self.allowed, self.hint = problem, allowed, hint
        super().__init__(f"{problem}; allowed: {allowed}")


def _split(value: object, what: str, allowed: str) -> tuple[Fraction, str]:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise UnitError(f"not {what}", allowed)
    found = _NUMBER.match(str(value).strip())
    if found is None:
        raise UnitError(f"not {what}", allowed)
    return Fraction(found[1]), found[2]


def _scale(unit: str, units: dict[str, int], what: str, allowed: str) -> int:
    if unit in units:
        return units[unit]
    alike = [known for known in units if known.lower() == unit.lower()]
    hint = f"did you mean {alike[0]}?" if alike else None
    raise UnitError(_unknown(unit, what) if unit else f"{what} without a unit", allowed, hint)


def _unknown(unit: str, what: str) -> str:
    shown = unit if len(unit) <= _LONGEST_UNIT else f"{unit[:_LONGEST_UNIT]}..."
    return f"unknown unit {shown!r} of {what}"


def _quantity(value: object, units: dict[str, int], what: str, allowed: str, base: str) -> int:
    number, unit = _split(value, what, allowed)
    if unit == "" and number == 0:
        return 0
    result = number * _scale(unit, units, what, allowed)
    if result < 0:
        raise UnitError(f"{what} below zero", allowed)
    if result.denominator != 1:
        raise UnitError(f"{what} is not a whole number of {base}", allowed)
    return int(result)


def parse_whole(text: str) -> int | None:
    """A whole number however it is written: `1000`, `1e3`, `1000.0`. None: it is none, or has more than 30 digits."""
    number = Fraction(text) if _WHOLE.match(text) else None
    return None if number is None or number.denominator != 1 or abs(number) >= _MOST_WHOLE else int(number)


def parse_rate(value: object) -> int:
    """Bits per second: `100Mbps`, `1.5Gbps`. Zero needs no unit."""
    return _quantity(
        value, _RATE_UNITS, "a rate", "a number with bps, kbps, Mbps or Gbps, as 100Mbps", "bits per second"
    )


def parse_duration(value: object) -> int:
    """Nanoseconds: `2ms`, `1.5s`, `500us`. Zero needs no unit."""
    return _quantity(value, _TIME_UNITS, "a duration", "a number with ns, us, ms, s or min, as 2ms", "nanoseconds")


def parse_drift(value: object) -> int:
    """10^-9 of the time that passes: `100ppm`, `50ppb`, `1%`. Zero needs no unit."""
    return _quantity(value, _DRIFT_UNITS, "a drift", "a number with ppb, ppm or %, as 100ppm", "ppb")


def parse_size(value: object) -> int:
    """Bytes: `4MB` (10^6), `4MiB` (2^20), or a plain whole number of bytes."""
    allowed = "bytes, or a number with B, kB, MB, GB (powers of 1000), KiB, MiB or GiB (powers of 1024), as 4MB"
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return _quantity(value, _SIZE_UNITS, "a size", allowed, "bytes")


def parse_probability(value: object) -> float:
    """`1%` or `0.01`: 0 to 1."""
    allowed = "0% to 100%, or a number from 0 to 1, as 1% or 0.01"
    number, unit = _split(value, "a probability", allowed)
    if unit not in ("", "%"):
        raise UnitError(_unknown(unit, "a probability"), allowed)
    share = number / 100 if unit == "%" else number
    if not 0 <= share <= 1:
        percent = unit == "" and 1 < number <= 100
        raise UnitError("a probability outside 0 to 1", allowed, f"did you mean '{value}%'?" if percent else None)
    return float(share)


def _format(value: int, units: dict[str, int]) -> str:
    unit = max((u for u in units if value % units[u] == 0), key=lambda u: units[u]) if value else next(iter(units))
    return f"{value // units[unit]}{unit}"


def format_rate(rate_bps: int) -> str:
    return _format(rate_bps, _RATE_UNITS)


def format_duration(duration_ns: int) -> str:
    units = {unit: scale for unit, scale in _TIME_UNITS.items() if unit != "min"}
    return _format(duration_ns, units)


def format_drift(drift_ppb: int) -> str:
    return _format(drift_ppb, _DRIFT_UNITS)


def format_size(size_bytes: int) -> str:
    return _format(size_bytes, _SIZE_UNITS)


def format_probability(share: float) -> str:
    """In per cent where that is exact, else as a number."""
    percent = format(Decimal(repr(share)) * 100, "f")
    text = (percent.rstrip("0").rstrip(".") if "." in percent else percent) + "%"
    return text if len(text) <= 8 and parse_probability(text) == share else repr(share)
