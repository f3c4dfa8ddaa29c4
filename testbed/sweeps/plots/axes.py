"""Scales and ticks of an axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from testbed.sweeps.plots.picture import Axis
from testbed.terminal.numbers import tick, ticks

__all__ = ["show_tick", "with_scale", "with_ticks"]

_WIDE = 20.0
"""largest value over smallest, from which on an axis is logarithmic"""
_MOST_TICKS = 6
_ROOM = 0.22
"""part of the decades above the threshold that a symlog axis has below it"""
_PLAIN = (-4, 6)
"""powers of ten that ticks write out"""


def with_scale(axis: Axis, values: Iterable[float], asked: str | None) -> Axis:
    """With the scale that was asked for; if none was, logarithmic where values are far apart. A logarithmic axis
    keeps a place for 0, behind a break."""
    found = sorted(set(values))
    above = [value for value in found if value > 0]
    far = bool(above) and found[0] >= 0 and above[-1] > _WIDE * above[0]
    if not above or asked == "linear" or (asked is None and not far):
        return replace(axis, scale="linear")
    if found[0] > 0:
        return replace(axis, scale="log")
    low = min(above[0], -found[0]) if found[0] < 0 else above[0]
    decades = max(math.log10(above[-1] / low), 0.5)
    return replace(axis, scale="symlog", threshold=low, room=round(max(_ROOM * decades, 0.25), 3))


def with_ticks(axis: Axis, values: Sequence[float], *, from_zero: bool = True) -> Axis:
    """Limits that hold all values, and round ticks inside of them. `from_zero`: a linear axis begins at 0."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if axis.scale == "linear":
        low = min(low, 0.0) if from_zero else low
        high = high if high > low else low + (abs(low) or 1.0)
        room = 0.06 * (high - low)
        low, high = low if from_zero and low == 0 else low - room, high + room
        return replace(
            axis, limits=(low, high), ticks=tuple((at, show_tick(at)) for at in ticks(low, high, _MOST_TICKS))
        )
    if axis.scale == "log":
        low, high = low / 1.25, high * 1.25
        return replace(axis, limits=(low, high), ticks=tuple((at, show_tick(at)) for at in _log_ticks(low, high)))
    high *= 1.25
    least = low * 1.25 if low < 0 else -0.08 * axis.threshold / axis.room
    places = [0.0, *_log_ticks(axis.threshold, high)]
    places += [-at for at in _log_ticks(axis.threshold, -low * 1.25)] if low < 0 else []
    return replace(axis, limits=(least, high), ticks=tuple((at, show_tick(at)) for at in sorted(places)))


def show_tick(value: float) -> str:
    """`0.02`, `1,000`; powers of ten where that is too long."""
    if value == 0 or _PLAIN[0] <= math.log10(abs(value)) < _PLAIN[1]:
        return tick(float(f"{value:.6g}"))
    power = math.floor(math.log10(abs(value)) + 1e-9)
    mantissa = value / 10.0**power
    head = "" if math.isclose(mantissa, 1) else rf"{mantissa:.3g}\times "
    return f"${head}10^{{{power}}}$"


def _log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten where few fit, otherwise powers alone, and of many decades every second one."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for heads in ((1, 2, 5), (1, 3), (1,)):
        found = [head * 10.0**power for power in range(first, last + 1) for head in heads]
        inside = [at for at in found if low * (1 - 1e-9) <= at <= high * (1 + 1e-9)]
        if len(inside) <= _MOST_TICKS + 1 and len(inside) >= 2:
            return inside
    if len(inside) < 2:
        return list(ticks(low, high, _MOST_TICKS))
    step = -(-len(inside) // _MOST_TICKS)
    return inside[::step]
