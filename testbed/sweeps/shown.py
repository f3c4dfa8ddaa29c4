"""Summaries over seeds in words."""

from __future__ import annotations

from testbed.comparison.units import show_figure
from testbed.sweeps.statistics import Summary
from testbed.terminal.numbers import scale_of, significant

__all__ = ["show_summary"]


def show_summary(figure: str, summary: Summary | None) -> str:
    """`443 ms (420 to 470)`: median and its confidence interval; `-`: no figure."""
    if summary is None:
        return "-"
    if not summary.has_interval or summary.low == summary.high:
        return show_figure(figure, summary.median)
    if not figure.endswith("_s"):
        low, high = show_figure(figure, summary.low), show_figure(figure, summary.high)
        return f"{show_figure(figure, summary.median)} ({low} to {high})"
    scale, unit = scale_of(summary.median, "s")
    low, high = significant(summary.low / scale), significant(summary.high / scale)
    return f"{significant(summary.median / scale)} {unit} ({low} to {high})"
