"""Plots of a sweep over scenarios: medians with error bars, as SVG and PDF. matplotlib is used without its global
state, so that any thread may draw."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.comparison.units import title_of, unit_of
from testbed.sweeps.groups import Group, groups_of
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.statistics import interval_words
from testbed.sweeps.values import number_of, shown_value

__all__ = ["write_plots"]

_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999933")
"""colours that colour-blind readers can distinguish as well (after Okabe and Ito)"""
_MARKERS = "osD^vPX*"
_LINES = "-", "--", ":"
"""one for each time that colours and markers come again"""
_MOST_SERIES, _MOST_CHARTS, _MOST_COLUMNS = len(_COLORS), 12, 4
_WIDE = 20.0
"""largest value over smallest, from which on an axis is logarithmic"""
_STYLE = {"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "ina-testbed", "font.size": 9, "axes.grid": True}
_STYLE |= {"grid.color": "#dddddd", "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False}


@dataclass(frozen=True, slots=True)
class _Layout:
    along: str
    """dimension of the horizontal axis; empty: nothing but seeds is varied"""
    series: tuple[str, ...]
    charts: tuple[str, ...]
    """dimensions with a chart of their own for each value"""


def write_plots(finished: FinishedScenarios, folder: Path) -> list[Path]:
    """`plot-FIGURE.svg` and `.pdf` for each figure of the sweep that some run reported."""
    import matplotlib as mpl

    written = []
    with mpl.rc_context(_STYLE):
        for name in finished.sweep.figures:
            figure = _drawn(finished, name)
            for suffix in ("svg", "pdf") if figure is not None else ():
                path = folder / f"plot-{name}.{suffix}"
                figure.savefig(path, metadata={"Date": None} if suffix == "svg" else {"CreationDate": None})
                written.append(path)
    return written


def _layout(finished: FinishedScenarios) -> _Layout:
    """Along the numbers with the most values; series are the rest, unless they are too many to distinguish."""
    dimensions = finished.sweep.dimensions
    if not dimensions:
        return _Layout("", (), ())

    def rank(name: str) -> tuple[bool, int]:
        return all(number_of(value) is not None for value in dimensions[name]), len(dimensions[name])

    along = max(dimensions, key=rank)
    rest, charts = [name for name in dimensions if name != along], list[str]()
    while rest and _product(dimensions, rest) > _MOST_SERIES and len(rest) > 1:
        # Protocols are compared in one chart.
        charts.append(rest.pop(0 if rest[0] != finished.sweep.variant_name else 1))
    return _Layout(along, tuple(rest), tuple(charts))


def _product(dimensions: dict[str, tuple[Any, ...]], names: Sequence[str]) -> int:
    found = 1
    for name in names:
        found *= len(dimensions[name])
    return found


def _drawn(finished: FinishedScenarios, figure: str) -> Any:
    """None where no run reported the figure."""
    from matplotlib.figure import Figure

    groups, layout = groups_of(finished), _layout(finished)
    if all(group.summary(figure) is None for group in groups):
        return None
    charts: dict[tuple[str, ...], list[Group]] = {}
    for group in groups:
        charts.setdefault(tuple(shown_value(group.values[name]) for name in layout.charts), []).append(group)
    shown = list(charts.items())[:_MOST_CHARTS]
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    drawing = Figure(figsize=(1.0 + 4.6 * columns, 0.9 + 3.3 * rows), layout="constrained")
    axes = list(drawing.subplots(rows, columns, squeeze=False, sharey=True).flat)
    for area, (key, members) in zip(axes, shown, strict=False):
        _chart(area, members, layout, figure, finished.sweep.dimensions)
        area.set_title(", ".join(f"{name} {value}" for name, value in zip(layout.charts, key, strict=True)), fontsize=9)
    for area in axes[len(shown) :]:
        area.set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    if layout.series and handles:
        _add_legend(drawing, handles, labels, ", ".join(layout.series))
    drawing.supxlabel(_caption(finished, figure, groups, len(charts) - len(shown)), fontsize=7, color="#555555")
    return drawing


def _add_legend(drawing: Any, handles: Sequence[Any], labels: Sequence[str], title: str) -> None:
    """In as many columns as the picture is wide enough for."""
    for columns in range(min(_MOST_COLUMNS, len(labels)), 0, -1):
        legend = drawing.legend(handles, labels, title=title, loc="outside upper center", ncols=columns, frameon=False)
        if columns == 1 or legend.get_window_extent().width <= drawing.bbox.width:
            return
        legend.remove()


def _caption(finished: FinishedScenarios, figure: str, groups: Sequence[Group], left_out: int) -> str:
    seeds = max(len(group.points) for group in groups)
    text = f"{finished.sweep.name}: "
    bars = interval_words(found.count for group in groups if (found := group.summary(figure)) is not None)
    text += (
        f"median of {seeds} seeds; bars: {bars}"
        if bars
        else f"median of {seeds} seeds"
        if seeds > 2
        else "median of the seeds"
        if seeds > 1
        else "one run each"
    )
    if any(group.summary(figure) is None for group in groups):
        text += "; x: no valid run"
    if left_out:
        text += f"; {left_out} more charts are in results.json alone"
    return "\n".join(textwrap.wrap(text, 110))


def _chart(
    area: Any, groups: Sequence[Group], layout: _Layout, figure: str, dimensions: dict[str, tuple[Any, ...]]
) -> None:
    from matplotlib.ticker import EngFormatter

    along = dimensions.get(layout.along, ("",))
    numbers = [number_of(value) for value in along]
    numeric = all(number is not None for number in numbers) and len(along) > 1
    places = {
        repr(value): float(number) if numeric and number is not None else float(index)
        for index, (value, number) in enumerate(zip(along, numbers, strict=True))
    }
    series: dict[str, list[Group]] = {}
    for group in groups:
        label = ", ".join(shown_value(group.values[name]) for name in layout.series)
        series.setdefault(label, []).append(group)
    heights = []
    for number, (label, members) in enumerate(series.items()):
        style = {"color": _COLORS[number % len(_COLORS)], "marker": _MARKERS[number % len(_MARKERS)]}
        line = _LINES[number // len(_COLORS) % len(_LINES)]
        summaries = [(places[repr(group.values.get(layout.along, ""))], group.summary(figure)) for group in members]
        there = [(x, found) for x, found in summaries if found is not None]
        heights += [found.median for _, found in there]
        bars = [[found.median - found.low for _, found in there], [found.high - found.median for _, found in there]]
        area.errorbar(
            [x for x, _ in there], [found.median for _, found in there], yerr=bars, label=label, capsize=2.5,
            linestyle=line if numeric else "none", linewidth=1.2, markersize=4, **style,
        )  # fmt: skip
        missing = [x for x, found in summaries if found is None]
        area.plot(
            missing,
            [0.02 + 0.03 * number] * len(missing),
            "x",
            color=style["color"],
            transform=area.get_xaxis_transform(),
        )
    _scale(area, heights, sorted(places.values()) if numeric else [])
    area.set_xticks(list(places.values()), [textwrap.fill(shown_value(value), 14) for value in along], minor=False)
    area.set_xlabel(layout.along)
    unit = unit_of(figure)
    if unit or area.get_yscale() == "log":
        area.yaxis.set_major_formatter(EngFormatter(unit))
    area.set_ylabel(title_of(figure))


def _scale(area: Any, heights: Sequence[float], places: Sequence[float]) -> None:
    """Logarithmic where values are far apart; 0 has a place on the horizontal axis all the same."""
    from matplotlib.ticker import LogLocator, NullFormatter

    above = [place for place in places if place > 0]
    if above and places[0] >= 0 and max(above) > _WIDE * min(above):
        if places[0] == 0:
            area.set_xscale("symlog", linthresh=min(above), linscale=0.4)
        else:
            area.set_xscale("log")
        area.minorticks_off()
    if heights and min(heights) > 0 and max(heights) > _WIDE * min(heights):
        area.set_yscale("log")
        area.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        area.yaxis.set_minor_formatter(NullFormatter())  # its own would show powers of ten without the unit
    elif heights and min(heights) >= 0:
        area.set_ylim(bottom=0)
