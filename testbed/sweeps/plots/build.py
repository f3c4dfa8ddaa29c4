"""A sweep over scenarios and one of its figures -> the pictures of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from testbed.reading.problems import show
from testbed.sweeps.groups import PointGroup, groups_of
from testbed.sweeps.plots.axes import show_tick, with_scale, with_ticks
from testbed.sweeps.plots.names import (
    PROTOCOL_KEYS,
    Quantity,
    figure_quantity,
    key_quantity,
    scaled,
    title_of_protocol,
)
from testbed.sweeps.plots.options import PlotOptions
from testbed.sweeps.plots.picture import LEFT_OUT, Axis, Chart, PlotMark, PlotPicture, PlotSeries
from testbed.sweeps.plots.styles import look_of, read_style
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.values import number_of, shown_value
from workloads.errors import ScenarioError

__all__ = ["pictures_of"]

_MOST_CHARTS = 12
"""of one picture; more of them make further pictures"""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which dimension has which place."""

    kind: str
    along: str
    """of the horizontal axis; empty: the figure itself, or nothing is varied"""
    series: str
    """empty: one series; for heat maps, the dimension of the vertical axis"""
    charts: tuple[str, ...]


def pictures_of(finished: FinishedScenarios, figure: str, options: PlotOptions) -> list[PlotPicture]:
    """Empty where no run reported the figure. Raises ScenarioError for a kind that the sweep has too few keys for."""
    groups = groups_of(finished)
    if not any(group.numbers(figure) for group in groups):
        return []
    return _Build(finished, groups, figure, options).pictures()


class _Build:
    def __init__(
        self, finished: FinishedScenarios, groups: Sequence[PointGroup], figure: str, options: PlotOptions
    ) -> None:
        self.finished, self.groups, self.figure, self.options = finished, groups, figure, options
        self.dimensions = finished.sweep.dimensions
        self.variants = finished.sweep.variant_name
        self.layout = _layout(self.dimensions, self.variants, options.kind)
        self.colors = read_style(options.style).colors
        texts = [point.text for point in finished.points if point.text]
        self.names = {name: key_quantity(name, texts) for name in self.dimensions}
        self.keys = {
            name: scaled(self.names[name], filter(None, map(number_of, values)))
            for name, values in self.dimensions.items()
        }
        numbers = [number for group in groups for number in group.numbers(figure)]
        self.measured = scaled(figure_quantity(figure), numbers)

    def pictures(self) -> list[PlotPicture]:
        charts = self._charts()
        axis = self._along([value for name, value in self.dimensions.items() if name == self.layout.along])
        colour = values = Axis(self.options.ylabel or self.measured.label, self.measured.factor)
        asked = dict(self.options.scale)
        if self.layout.kind == "cdf":
            numbers = [number for chart in charts for series in chart.series for mark in series.marks
                       for number in mark.numbers]  # fmt: skip
            axis = with_scale(
                replace(values, label=self.options.xlabel or self.measured.label), numbers, asked.get("x")
            )
            axis = with_ticks(axis, numbers, from_zero=False)
            values = Axis(self.options.ylabel or "Cumulative share of runs", limits=(0, 1.03),
                          ticks=tuple((at, show_tick(at)) for at in (0.0, 0.25, 0.5, 0.75, 1.0)))  # fmt: skip
        elif self.layout.kind == "heatmap":
            colour, values = self._colour(charts), self._down(values)
        else:
            marks = [mark for chart in charts for series in chart.series for mark in series.marks]
            medians = [mark.median for mark in marks if mark.median is not None]
            ends = [end for mark in marks for end in (mark.median, mark.low, mark.high) if end is not None]
            values = with_scale(values, medians, asked.get("y") or ("linear" if self.layout.kind == "bars" else None))
            if values.scale == "log":
                ends = [end for end in ends if end > 0]
            values = with_ticks(values, ends)
        legend = self.options.legend
        if legend is None:
            legend = "" if self.layout.series in ("", self.variants) else self.keys[self.layout.series].label
        whole = PlotPicture(
            self.layout.kind, self.figure, self.options.style, axis, values, (), colour,
            self.options.title, None if legend == "none" else legend, self.options.size_in,
        )  # fmt: skip
        return [
            replace(whole, charts=tuple(charts[at : at + _MOST_CHARTS])) for at in range(0, len(charts), _MOST_CHARTS)
        ]

    def _along(self, found: Sequence[tuple[Any, ...]]) -> Axis:
        """The horizontal axis of what is varied."""
        name = self.layout.along
        quantity = self.keys.get(name, Quantity(""))
        label = self.options.xlabel if self.options.xlabel is not None else quantity.label
        values = found[0] if found else ("",)
        axis = Axis(label, quantity.factor, column=name)
        places = _places(values, quantity)
        if self.layout.kind != "lines" or places is None:
            words = tuple((float(index), self._word(name, value)) for index, value in enumerate(values))
            return replace(axis, are_words=True, limits=(-0.5, len(values) - 0.5), ticks=words)
        axis = with_scale(axis, places, dict(self.options.scale).get("x"))
        low, high = min(places), max(places)
        if axis.scale == "linear":
            room = 0.05 * (high - low)
            limits = low - room, high + room
        else:
            above = low if axis.scale == "log" else axis.threshold
            room = max((high / above) ** 0.06, 1.1)
            limits = (low / room if axis.scale == "log" else -0.15 * axis.threshold, high * room)
        return replace(axis, limits=limits, ticks=tuple((place, show_tick(place)) for place in sorted(places)))

    def _down(self, values: Axis) -> Axis:
        """The vertical axis of a heat map; the figure is its colour."""
        name, quantity = self.layout.series, self.keys[self.layout.series]
        label = self.options.ylabel if self.options.ylabel is not None else quantity.label
        found = self.dimensions[name]
        words = tuple((float(index), self._word(name, value)) for index, value in enumerate(found))
        return replace(values, label=label, column=name, are_words=True, limits=(-0.5, len(found) - 0.5), ticks=words)

    def _colour(self, charts: Sequence[Chart]) -> Axis:
        """The figure of a heat map: from the smallest median to the largest."""
        medians = [mark.median for chart in charts for series in chart.series for mark in series.marks
                   if mark.median is not None]  # fmt: skip
        axis = with_scale(Axis(self.measured.label, self.measured.factor), medians, None)
        axis = replace(axis, scale="linear") if axis.scale == "symlog" else axis
        low, high = min(medians), max(medians)
        high = high if high > low else low + (abs(low) or 1.0)
        inside = tuple(each for each in with_ticks(axis, (low, high), from_zero=False).ticks if low <= each[0] <= high)
        return replace(axis, limits=(low, high), ticks=inside)

    def _charts(self) -> list[Chart]:
        layout = self.layout
        found: dict[tuple[str, ...], dict[str, list[PointGroup]]] = {}
        for group in self.groups:
            key = tuple(shown_value(group.values[name]) for name in layout.charts)
            label = shown_value(group.values[layout.series]) if layout.series else ""
            found.setdefault(key, {}).setdefault(label, []).append(group)
        words = [shown_value(value) for value in self.dimensions.get(layout.series, ("",))]
        return [self._chart(key, members, words) for key, members in found.items()]

    def _chart(self, key: tuple[str, ...], members: Mapping[str, Sequence[PointGroup]], words: Sequence[str]) -> Chart:
        layout = self.layout
        first = next(iter(members.values()))[0]
        title = ", ".join(self._titled(name, first.values[name]) for name in layout.charts)
        series = []
        for label, groups in members.items():
            shown = self._word(layout.series, groups[0].values[layout.series]) if layout.series else ""
            keys = {layout.series: label} if layout.series else {}
            marks = tuple(self._mark(group) for group in groups)
            series.append(PlotSeries(shown, keys, look_of(words.index(label), self.colors), marks))
        return Chart(title, dict(zip(layout.charts, key, strict=True)), tuple(series))

    def _mark(self, group: PointGroup) -> PlotMark:
        name, factor = self.layout.along, self.measured.factor
        value = group.values[name] if name else ""
        values = self.dimensions.get(name, ("",))
        places = _places(values, self.keys[name]) if name and self.layout.kind == "lines" else None
        at = [repr(each) for each in values].index(repr(value))
        summary, left_out = group.summary(self.figure), group.left_out(self.figure)
        ends = (None, None, None) if summary is None else (summary.median, summary.low, summary.high)
        median, low, high = (None if end is None else end * factor for end in ends)
        return PlotMark(
            float(at) if places is None else places[at], shown_value(value),
            tuple(number * factor for number in group.numbers(self.figure)), median, low, high, len(group.points),
            next((why for why in LEFT_OUT if left_out[why]), ""),
        )  # fmt: skip

    def _word(self, name: str, value: Any) -> str:
        """A value next to the name and the unit of its dimension."""
        if name in PROTOCOL_KEYS:
            return title_of_protocol(value)
        number = number_of(value)
        quantity = self.keys.get(name)
        return shown_value(value) if number is None or quantity is None else show_tick(number * quantity.factor)

    def _titled(self, name: str, value: Any) -> str:
        """A value alone: `Link rate: 10 Mbit/s`."""
        if name in (self.variants, "scenario", "world"):
            return shown_value(value)
        number, quantity = number_of(value), self.names[name]
        if number is None:
            return f"{quantity.name}: {shown_value(value)}"
        quantity = scaled(quantity, [number])
        return f"{quantity.name}: {show_tick(number * quantity.factor)} {quantity.unit}".rstrip()


def _places(values: Sequence[Any], quantity: Quantity) -> list[float] | None:
    """On an axis of numbers; None: one of the values is a word, or there is one alone."""
    numbers = [number * quantity.factor for value in values if (number := number_of(value)) is not None]
    return numbers if len(numbers) == len(values) > 1 else None


def _layout(dimensions: Mapping[str, tuple[Any, ...]], variants: str, kind: str | None) -> _Layout:
    def rank(name: str) -> tuple[bool, bool, int]:
        is_axis = all(number_of(value) is not None for value in dimensions[name])
        return is_axis, name != variants, len(dimensions[name])

    ranked = sorted(dimensions, key=rank, reverse=True)
    if kind is None:
        kind = "cdf" if not ranked else "lines" if rank(ranked[0])[0] else "bars"
    if kind == "heatmap" and len(ranked) < 2:
        raise ScenarioError(
            "a heat map needs two varied keys", file="tb sweep", key="plot.kind",
            found=", ".join(ranked) or show("only seeds are varied"), allowed="two axes, or an axis and protocols",
        )  # fmt: skip
    along = "" if kind == "cdf" else next(iter(ranked), "")
    rest = [name for name in ranked if name != along]
    if kind == "heatmap":
        series = next((name for name in rest if name != variants), variants)
    else:
        series = variants if variants in rest else next(iter(rest), "")
    return _Layout(kind, along, series, tuple(name for name in dimensions if name not in (along, series)))
