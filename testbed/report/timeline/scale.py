"""Times as a person reads them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from testbed.terminal.numbers import scale_of, tick

__all__ = ["show_time", "ticks"]

_DIGITS = 4


def show_time(t_ns: int, span_ns: int) -> str:
    """`t_ns` in the unit of `span_ns`, with so many digits that a ten-thousandth of that is seen."""
    scale, unit = scale_of(span_ns / 1e9, "s")
    decimals = max(0, _DIGITS - math.floor(math.log10(max(1.0, span_ns / 1e9 / scale))))
    return f"{t_ns / 1e9 / scale:,.{decimals}f} {unit}"


def ticks(start: int, stop: int, most: int) -> Iterator[tuple[int, str]]:
    """(time, text) at round times, at most about `most` of them."""
    step = 1
    while (stop - start) / step > most:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    unit, name = (
        (1_000_000_000, "s") if step >= 1_000_000_000 else (1_000_000, "ms") if step >= 10_000 else (1000, "us")
    )
    first = -(-start // step) * step
    for t in range(first, stop + 1, step):
        yield t, f"{tick(t / unit)} {name}"
