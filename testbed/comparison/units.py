"""Figures in words: their name ends in their unit."""

from __future__ import annotations

from testbed.terminal.numbers import bits_per_second, seconds, significant

__all__ = ["show_figure", "unit_of"]

_UNITS = {"_s": "s", "_bps": "bit/s", "_bytes": "B"}


def unit_of(figure: str) -> str:
    """s, bit/s, B or nothing."""
    return next((unit for suffix, unit in _UNITS.items() if figure.endswith(suffix)), "")


def show_figure(figure: str, value: float | int) -> str:
    """With its unit; what is measured has three digits, what is counted all of them."""
    if figure.endswith("_s"):
        return seconds(value)
    if figure.endswith("_bps"):
        return bits_per_second(value)
    return f"{value:,}" if isinstance(value, int) else significant(value)
