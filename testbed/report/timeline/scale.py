"""Times as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["show_time", "ticks"]


def show_time(t_ns: int, span_ns: int) -> str:
    """`t_ns` with so many digits that a thousandth of `span_ns` is seen; ms, or s for long spans."""
    if span_ns >= 100_000_000_000:
        return f"{t_ns / 1e9:.3f} s"
    digits = 3 if span_ns >= 10_000_000 else 4 if span_ns >= 1_000_000 else 6
    return f"{t_ns / 1e6:.{digits}f} ms"


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
        yield t, f"{t / unit:g} {name}"
