"""Figures in words: their name ends in their unit."""

from __future__ import annotations

from testbed.sweeps.statistics import Summary
from testbed.terminal.words import bits_per_second

__all__ = ["show_figure", "show_summary", "show_time", "title_of", "unit_of"]

_TITLES = {"jct_s": "JCT", "goodput_bps": "goodput", "duration_s": "duration", "bound_bps": "bound of the links"}


def unit_of(figure: str) -> str:
    """s, bit/s or nothing."""
    return "s" if figure.endswith("_s") else "bit/s" if figure.endswith("_bps") else ""


def title_of(figure: str) -> str:
    """In a plot or a page: `JCT`."""
    return _TITLES.get(figure, figure.removesuffix("_s").removesuffix("_bps"))


def show_figure(figure: str, value: float) -> str:
    """With four digits and its unit."""
    if figure.endswith("_s"):
        return show_time(value)
    if figure.endswith("_bps"):
        return bits_per_second(value)
    return f"{value:,.4g}"


def show_summary(figure: str, summary: Summary | None) -> str:
    """`443 ms (420 to 470)`: median and confidence interval; `-`: no figure."""
    if summary is None:
        return "-"
    if not summary.has_interval or summary.low == summary.high:
        return show_figure(figure, summary.median)
    if not figure.endswith("_s"):
        low, high = show_figure(figure, summary.low), show_figure(figure, summary.high)
        return f"{show_figure(figure, summary.median)} ({low} to {high})"
    unit, scale = _unit(summary.median)
    return f"{summary.median / scale:.4g} {unit} ({summary.low / scale:.4g} to {summary.high / scale:.4g})"


def show_time(seconds: float) -> str:
    unit, scale = _unit(seconds)
    return f"{seconds / scale:.4g} {unit}"


def _unit(seconds: float) -> tuple[str, float]:
    return next(((u, s) for u, s in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)) if abs(seconds) >= s), ("ns", 1e-9))
