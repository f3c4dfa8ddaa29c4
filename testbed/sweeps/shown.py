"""Summaries over seeds in words."""

from __future__ import annotations

from testbed.comparison.units import show_figure, time_unit
from testbed.sweeps.statistics import Summary

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
    unit, scale = time_unit(summary.median)
    return f"{summary.median / scale:.4g} {unit} ({summary.low / scale:.4g} to {summary.high / scale:.4g})"
