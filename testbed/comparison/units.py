"""Figures in words: their name ends in their unit."""

from __future__ import annotations

from testbed.terminal.numbers import bits_per_second, seconds, significant

__all__ = ["show_figure", "title_of", "unit_of"]

_TITLES = {"jct_s": "JCT", "goodput_bps": "goodput", "duration_s": "duration", "bound_bps": "bound of the links"}


def unit_of(figure: str) -> str:
    """s, bit/s or nothing."""
    return "s" if figure.endswith("_s") else "bit/s" if figure.endswith("_bps") else ""


def title_of(figure: str) -> str:
    """In a plot or a page: `JCT`."""
    return _TITLES.get(figure, figure.removesuffix("_s").removesuffix("_bps"))


def show_figure(figure: str, value: float | int) -> str:
    """With its unit; what is measured has three digits, what is counted all of them."""
    if figure.endswith("_s"):
        return seconds(value)
    if figure.endswith("_bps"):
        return bits_per_second(value)
    return f"{value:,}" if isinstance(value, int) else significant(value)
