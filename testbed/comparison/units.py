"""Figures in words: their name ends in their unit."""

from __future__ import annotations

from testbed.terminal.words import bits_per_second

__all__ = ["show_figure", "show_time", "time_unit", "title_of", "unit_of"]

_TITLES = {"jct_s": "JCT", "goodput_bps": "goodput", "duration_s": "duration", "bound_bps": "bound of the links"}


def unit_of(figure: str) -> str:
    """s, bit/s or nothing."""
    return "s" if figure.endswith("_s") else "bit/s" if figure.endswith("_bps") else ""


def title_of(figure: str) -> str:
    """In a plot or a page: `JCT`."""
    return _TITLES.get(figure, figure.removesuffix("_s").removesuffix("_bps"))


def show_figure(figure: str, value: float | int) -> str:
    """With its unit; what is measured has four digits, what is counted all of them."""
    if figure.endswith("_s"):
        return show_time(value)
    if figure.endswith("_bps"):
        return bits_per_second(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def show_time(seconds: float) -> str:
    if not seconds:
        return "0 s"
    unit, scale = time_unit(seconds)
    return f"{seconds / scale:.4g} {unit}"


def time_unit(seconds: float) -> tuple[str, float]:
    """(unit, seconds of it) in which a time is a number from 1 to 1000."""
    return next(((u, s) for u, s in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)) if abs(seconds) >= s), ("ns", 1e-9))
