"""A plot as values: axes with their ticks, charts, series and marks. The drawing and the script are made from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from testbed.sweeps.plots.styles import Look

__all__ = ["BREAK", "LEFT_OUT", "Axis", "Chart", "PlotMark", "PlotPicture", "PlotSeries"]

LEFT_OUT = ("failed", "untrusted", "refused", "absent", "pending")
"""why a mark has no height, the most important reason first"""


@dataclass(frozen=True, slots=True)
class PlotMark:
    """The runs that differ by their seed alone."""

    x: float
    word: str
    """the value on the horizontal axis, as CSV files hold it"""
    numbers: tuple[float, ...]
    """the figure of each run that has a valid one, as the axis shows it"""
    median: float | None
    """None: no run has one"""
    low: float | None
    high: float | None
    runs: int
    why: str
    """of `LEFT_OUT`, where some of the runs have no valid figure; empty: all have"""

    @property
    def is_partial(self) -> bool:
        return self.median is not None and len(self.numbers) < self.runs


@dataclass(frozen=True, slots=True)
class PlotSeries:
    label: str
    keys: Mapping[str, str]
    """columns of the CSV files that select it"""
    look: Look
    marks: tuple[PlotMark, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    keys: Mapping[str, str]
    series: tuple[PlotSeries, ...]


BREAK = (0.94, 1.06)
"""places of the two strokes of a break, as parts of `Axis.break_at`"""


@dataclass(frozen=True, slots=True)
class Axis:
    label: str
    factor: float = 1.0
    """by which numbers of CSV files are multiplied"""
    scale: str = "linear"
    """linear, log, or symlog: logarithmic with a place for 0"""
    threshold: float = 0.0
    """of symlog: the smallest value above 0"""
    room: float = 1.0
    """of symlog: decades between 0 and the threshold"""
    limits: tuple[float, float] | None = None
    ticks: tuple[tuple[float, str], ...] = ()
    """(place, label); an empty label leaves a tick alone"""
    column: str = ""
    """of the CSV files; empty: the axis shows the figure"""
    are_words: bool = False
    rotation: int = 0

    @property
    def break_at(self) -> float | None:
        """Of a horizontal axis: where it is broken, between 0 and the smallest value above. None: nowhere."""
        there = self.scale == "symlog" and self.limits is not None and self.limits[0] <= 0
        return self.threshold / 2 if there else None


@dataclass(frozen=True, slots=True)
class PlotPicture:
    kind: str
    figure: str
    """name of the figure, as CSV files hold it"""
    style: str
    x: Axis
    y: Axis
    charts: tuple[Chart, ...]
    colour: Axis
    """of a heat map"""
    title: str = ""
    legend: str | None = ""
    """title of the legend; None: no legend"""
    size_in: tuple[float, float] | None = None

    @property
    def series(self) -> tuple[PlotSeries, ...]:
        """One of each label, from the first chart that has it."""
        found: dict[str, PlotSeries] = {}
        for chart in self.charts:
            for series in chart.series:
                found.setdefault(series.label, series)
        return tuple(found.values())

    def marks(self) -> Iterator[PlotMark]:
        for chart in self.charts:
            for series in chart.series:
                yield from series.marks

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why marks have no height, without a repetition."""
        found = {mark.why for mark in self.marks() if mark.median is None}
        return tuple(why for why in LEFT_OUT if why in found)

    @property
    def survivors(self) -> str:
        """`3 of 8 seeds`, of medians of fewer runs than there are; empty: there are none."""
        partial = [mark for mark in self.marks() if mark.is_partial]
        if not partial:
            return ""
        few, many = min(len(mark.numbers) for mark in partial), max(len(mark.numbers) for mark in partial)
        runs = max(mark.runs for mark in partial)
        return f"{few} of {runs} seeds" if few == many else f"{few} to {many} of {runs} seeds"
