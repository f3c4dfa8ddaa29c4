"""Quantities as people read them: three significant digits and a unit with its prefix. The one place where that is
decided, for the terminal, reports, plots and sweeps."""

from __future__ import annotations

import math
from collections.abc import Iterator

__all__ = [
    "DIGITS",
    "bits_per_second",
    "byte_size",
    "moment",
    "nanoseconds",
    "quantity",
    "scale_of",
    "seconds",
    "significant",
    "tick",
    "ticks",
]

DIGITS = 3
_UP = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_DOWN = ((1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n"))


def significant(value: float, digits: int = DIGITS) -> str:
    """`0.0338`, `1.50`, `25,500`: never an exponent from 10^-9 to 10^15."""
    if not math.isfinite(value):
        return str(value)
    rounded = _rounded(value, digits)
    if rounded == 0:
        return "0"
    if not 1e-9 <= abs(rounded) < 1e15:
        return f"{value:.{digits - 1}e}"
    return f"{rounded:,.{max(0, digits - 1 - math.floor(math.log10(abs(rounded))))}f}"


def scale_of(value: float, unit: str) -> tuple[float, str]:
    """(what values are divided by, the unit with its prefix). Seconds go down to ns, all else up from 1."""
    size = abs(_rounded(value, DIGITS))
    steps = _DOWN if unit == "s" else _UP
    if size == 0:
        return 1.0, unit
    for step, prefix in steps:
        if size >= step * (1 - 1e-12):
            return step, f"{prefix}{unit}"
    step, prefix = steps[-1]
    return step, f"{prefix}{unit}"


def quantity(value: float, unit: str, digits: int = DIGITS) -> str:
    """`33.8 ms`, `25.5 kB`, `1.20 Mbit/s`; without a unit `25,500`."""
    if not unit:
        return significant(value, digits)
    if not math.isfinite(value):
        return f"{value} {unit}"
    scale, shown = scale_of(value, unit)
    return f"{significant(value / scale, digits)} {shown}"


def seconds(value: float) -> str:
    return quantity(value, "s")


def nanoseconds(ns: float) -> str:
    """A duration: `33.8 ms`."""
    return seconds(ns / 1e9)


def moment(ns: float) -> str:
    """An instant of a run, as exact as it takes to find it there: up to six digits, without zeros at the end."""
    number, _, unit = quantity(ns / 1e9, "s", 2 * DIGITS).partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def bits_per_second(rate: float) -> str:
    return quantity(rate, "bit/s")


def byte_size(size: float) -> str:
    """Bytes that are counted are whole below one kB."""
    if abs(size) < 1000:
        return f"{size:,.0f} {'byte' if size == 1 else 'bytes'}"
    return quantity(size, "B")


def ticks(low: float, high: float, most: int = 6) -> Iterator[float]:
    """Places of 1, 2 or 5 times a power of ten from `low` to `high`, at most `most` of them."""
    if not high > low:
        yield low
        return
    power = 10.0 ** math.floor(math.log10((high - low) / max(1, most)))
    for step in (power * each for each in (1, 2, 5, 10, 20)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            break
    for number in range(first, last + 1):
        yield number * step


def tick(value: float) -> str:
    """A round value of an axis: no zeros that say nothing, no rounding errors."""
    return f"{round(value, 9):,.9f}".rstrip("0").rstrip(".")


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits - 1}e}") if math.isfinite(value) else value
