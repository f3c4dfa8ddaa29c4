"""A picture -> a figure of matplotlib, without its global state, so that any thread may draw."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from testbed.sweeps.plots.picture import BREAK, Chart, PlotMark, PlotPicture, PlotSeries

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Fit", "columns_of", "draw"]

MARKS = {"failed": "x", "untrusted": "$?$", "refused": r"$\oslash$", "absent": "_", "pending": r"$\cdots$"}
"""markers of what has no height"""
WORDS = {"absent": "no value", "pending": "not run yet"}
_ROW_PT = 6.0
"""height of a row of such markers above the chart"""
_APART_PT = 1.6
"""by how much series are shifted against one another"""
_DOWN_WIDTH = 20
"""characters of a line of a word on the vertical axis"""
_MOST_DOTS = 12
"""of a curve"""
_NARROWEST_IN = 1.5
_GREY = "#444444"


@dataclass(frozen=True, slots=True)
class Fit:
    """How texts are arranged."""

    legend_columns: int = 4
    legend_pt: float | None = None
    """None: as the style says"""
    label_width: int = 60
    """characters of a line of the legend and of a title"""
    word_width: int = 14
    """characters of a line of a word on an axis"""
    rotation: int = 0
    """of words on the horizontal axis, degrees"""
    has_numbers: bool = True
    """numbers in the cells of a heat map"""


def columns_of(picture: PlotPicture, width_in: float) -> int:
    """Charts next to one another."""
    return max(1, min(len(picture.charts), 4, int(width_in / _NARROWEST_IN)))


def draw(picture: PlotPicture, size_in: tuple[float, float], fit: Fit) -> Figure:
    """To be called within the settings of the style (`mpl.rc_context`)."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.02, h_pad=0.02, wspace=0.02, hspace=0.02)
    figure = Figure(figsize=size_in, layout=layout)
    columns = columns_of(picture, size_in[0])
    rows = -(-len(picture.charts) // columns)
    areas = list(figure.subplots(rows, columns, squeeze=False).flat)
    for number, (area, chart) in enumerate(zip(areas, picture.charts, strict=False)):
        below = number + columns >= len(picture.charts)
        _DRAWN[picture.kind](area, picture, chart, fit)
        _dress(area, picture, fit, has_x=below, has_y=number % columns == 0)
        strip = _rows(picture, chart) * _ROW_PT
        if chart.title:
            area.set_title(textwrap.fill(chart.title, max(12, fit.label_width // columns)), pad=4 + strip)
    for area in areas[len(picture.charts) :]:
        area.remove()
    _name_axes(figure, areas[: len(picture.charts)], picture, fit)
    _add_legend(figure, picture, fit)
    if picture.kind == "heatmap":
        bar = figure.colorbar(areas[0].collections[0], ax=areas[: len(picture.charts)], pad=0.02)
        bar.set_label(picture.colour.label)
        bar.set_ticks([at for at, _ in picture.colour.ticks], labels=[label for _, label in picture.colour.ticks])
        bar.minorticks_off()
        bar.outline.set_visible(False)
    return figure


def _name_axes(figure: Figure, areas: Sequence[Any], picture: PlotPicture, fit: Fit) -> None:
    single = len(areas) == 1
    name_x, name_y = (areas[0].set_xlabel, areas[0].set_ylabel) if single else (figure.supxlabel, figure.supylabel)
    size = {} if single else {"fontsize": areas[0].xaxis.label.get_fontsize()}
    if picture.x.label:
        name_x(textwrap.fill(picture.x.label, fit.label_width), **size)
    if picture.y.label:
        name_y(textwrap.fill(picture.y.label, max(20, fit.label_width // 2)), **size)
    if picture.title:
        figure.suptitle(textwrap.fill(picture.title, fit.label_width))


def _dress(area: Any, picture: PlotPicture, fit: Fit, *, has_x: bool, has_y: bool) -> None:
    for axis, given, set_scale, set_limits, is_named in (
        (area.xaxis, picture.x, area.set_xscale, area.set_xlim, has_x),
        (area.yaxis, picture.y, area.set_yscale, area.set_ylim, has_y),
    ):
        if given.scale == "symlog":
            set_scale("symlog", linthresh=given.threshold, linscale=given.room)
        elif given.scale == "log":
            set_scale("log")
        set_limits(given.limits)
        width = fit.word_width if given is picture.x else _DOWN_WIDTH
        labels = [textwrap.fill(label, width) if given.are_words else label for _, label in given.ticks]
        axis.set_ticks([place for place, _ in given.ticks], labels if is_named else [""] * len(labels))
        axis.set_ticks([], minor=True)
    if picture.x.are_words and fit.rotation:
        area.tick_params(axis="x", labelrotation=fit.rotation)
    if picture.x.are_words:
        area.grid(visible=False, axis="x")
    if picture.x.break_at is not None:
        area.plot(
            [picture.x.break_at * part for part in BREAK], [0, 0], transform=area.get_xaxis_transform(),
            marker=[(-0.5, -1), (0.5, 1)], linestyle="none", color="black", markersize=5, markeredgewidth=0.7,
            clip_on=False, zorder=5,
        )  # fmt: skip


def _left_out(chart: Chart) -> list[PlotSeries]:
    return [series for series in chart.series if any(mark.median is None for mark in series.marks)]


def _rows(picture: PlotPicture, chart: Chart) -> int:
    """Rows of markers above the chart."""
    if picture.kind not in ("lines", "bars"):
        return 0
    return min(len(_left_out(chart)), 1 if picture.kind == "bars" else len(chart.series))


def _above(area: Any, row: int) -> Any:
    """Transform of a row above the chart: data along x, points above the upper edge along y."""
    from matplotlib.transforms import ScaledTranslation

    figure = area.get_figure()
    shift = ScaledTranslation(0, (row + 0.6) * _ROW_PT / 72, figure.dpi_scale_trans)
    return area.get_xaxis_transform() + shift


def _mark_missing(area: Any, series: PlotSeries, row: int, places: Sequence[tuple[float, PlotMark]]) -> None:
    for place, mark in places:
        if mark.median is None:
            area.plot(
                [place], [1.0], marker=MARKS[mark.why], linestyle="none", color=series.look.color,
                transform=_above(area, row), clip_on=False, markersize=4.5, markeredgewidth=0.8,
            )  # fmt: skip


def _lines(area: Any, picture: PlotPicture, chart: Chart, fit: Fit) -> None:
    from matplotlib.transforms import ScaledTranslation

    for number, series in enumerate(chart.series):
        # Side by side by a little, so that intervals at one place can be told apart.
        shift = _APART_PT * (number - (len(chart.series) - 1) / 2) / 72
        moved = area.transData + ScaledTranslation(shift, 0, area.get_figure().dpi_scale_trans)
        there = [mark for mark in series.marks if mark.median is not None]
        look, line = series.look, "none" if picture.x.are_words else series.look.linestyle
        _error_bars(area, [mark.x for mark in there], there, color=look.color, linestyle="none", transform=moved)
        heights = [float("nan") if mark.median is None else mark.median for mark in series.marks]
        area.plot([mark.x for mark in series.marks], heights, marker=look.marker, color=look.color, linestyle=line,
                  label=series.label, transform=moved)  # fmt: skip
        partial = [mark for mark in there if mark.is_partial]
        area.plot([mark.x for mark in partial], [mark.median for mark in partial], look.marker, color=look.color,
                  markerfacecolor="white", linestyle="none", zorder=4, transform=moved)  # fmt: skip
    for row, series in enumerate(_left_out(chart)):
        _mark_missing(area, series, row, [(mark.x, mark) for mark in series.marks])


def _error_bars(area: Any, xs: Sequence[float], marks: Sequence[PlotMark], **look: Any) -> None:
    medians = [mark.median or 0.0 for mark in marks]
    below = [
        middle - (mark.low if mark.low is not None else middle) for middle, mark in zip(medians, marks, strict=True)
    ]
    above = [
        (mark.high if mark.high is not None else middle) - middle for middle, mark in zip(medians, marks, strict=True)
    ]
    area.errorbar(xs, medians, yerr=[below, above], capsize=2, elinewidth=0.7, capthick=0.7, **look)


def _bars(area: Any, picture: PlotPicture, chart: Chart, fit: Fit) -> None:
    width = 0.8 / max(1, len(picture.series))
    order = [series.label for series in picture.series]
    for series in chart.series:
        shift = (order.index(series.label) - (len(order) - 1) / 2) * width
        for mark in series.marks:
            if mark.median is not None:
                area.bar(
                    mark.x + shift, mark.median, width, facecolor="white" if mark.is_partial else series.look.color,
                    edgecolor=series.look.color if mark.is_partial else "white", hatch=series.look.hatch, linewidth=0.6,
                    label=series.label,
                )  # fmt: skip
        there = [mark for mark in series.marks if mark.median is not None]
        _error_bars(area, [mark.x + shift for mark in there], there, fmt="none", ecolor="black")
        _mark_missing(area, series, 0, [(mark.x + shift, mark) for mark in series.marks])


def _cdf(area: Any, picture: PlotPicture, chart: Chart, fit: Fit) -> None:
    """Runs without a valid figure count as well: a curve that ends below 1 shows them."""
    for series in chart.series:
        for mark in series.marks:
            xs = sorted(mark.numbers)
            ys = [(number + 1) / mark.runs for number in range(len(xs))]
            look = series.look
            area.step([*xs[:1], *xs], [*([0.0] if xs else []), *ys], where="post", color=look.color,
                      linestyle=look.linestyle, label=series.label)  # fmt: skip
            area.plot(xs, ys, look.marker, color=look.color, markerfacecolor="white" if mark.is_partial else look.color,
                      markevery=max(1, len(xs) // _MOST_DOTS))  # fmt: skip


def _heatmap(area: Any, picture: PlotPicture, chart: Chart, fit: Fit) -> None:
    from matplotlib.colors import LogNorm, Normalize

    norm = (LogNorm if picture.colour.scale == "log" else Normalize)(*(picture.colour.limits or (0.0, 1.0)))
    columns, rows = len(picture.x.ticks), len(picture.y.ticks)
    cells = [[float("nan")] * columns for _ in range(rows)]
    words = [label for _, label in picture.y.ticks]
    for series in chart.series:
        down = words.index(series.label)
        for mark in series.marks:
            if mark.median is not None:
                cells[down][int(mark.x)] = mark.median
    mesh = area.pcolormesh(
        [at - 0.5 for at in range(columns + 1)], [at - 0.5 for at in range(rows + 1)], cells, norm=norm, cmap="cividis"
    )
    area.grid(visible=False)
    for series in chart.series:
        down = words.index(series.label)
        for mark in series.marks:
            if mark.median is None:
                area.plot([mark.x], [down], marker=MARKS[mark.why], linestyle="none", color=_GREY, markersize=5)
                continue
            color = "white" if norm(mark.median) < 0.55 else "black"
            if fit.has_numbers:
                size = area.xaxis.get_ticklabels()[0].get_fontsize()
                area.text(mark.x, down, f"{mark.median:.3g}", ha="center", va="center", color=color, fontsize=size)
            if mark.is_partial:
                area.plot([mark.x + 0.4], [down + 0.35], "o", color=color, markerfacecolor="none", markersize=3)
    assert mesh is area.collections[0]


_DRAWN = {"lines": _lines, "bars": _bars, "cdf": _cdf, "heatmap": _heatmap}


def _add_legend(figure: Figure, picture: PlotPicture, fit: Fit) -> None:
    """Series, then what markers without a height mean."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    named = picture.series if picture.legend is not None and picture.kind != "heatmap" else ()
    for series in named if len(named) > 1 or any(each.label for each in named) else ():
        look, label = series.look, textwrap.fill(series.label, fit.label_width)
        if picture.kind == "bars":
            handles.append(Patch(facecolor=look.color, edgecolor="white", hatch=look.hatch, label=label))
        else:
            line = "none" if picture.x.are_words else look.linestyle
            handles.append(Line2D([], [], color=look.color, marker=look.marker, linestyle=line, label=label))
    if picture.survivors:
        if picture.kind == "bars":
            handles.append(Patch(facecolor="white", edgecolor=_GREY, label=picture.survivors))
        else:
            handles.append(Line2D([], [], color=_GREY, marker="o", markerfacecolor="white", linestyle="none",
                                  label=picture.survivors))  # fmt: skip
    for why in picture.reasons:
        handles.append(Line2D([], [], color=_GREY, marker=MARKS[why], linestyle="none", markersize=4.5,
                              label=WORDS.get(why, why)))  # fmt: skip
    if not handles:
        return
    more: dict[str, Any] = {} if fit.legend_pt is None else {"fontsize": fit.legend_pt, "title_fontsize": fit.legend_pt}
    figure.legend(
        handles=handles, title=(picture.legend or None) if named else None, loc="outside upper center", frameon=False,
        ncols=min(fit.legend_columns, len(handles)), borderaxespad=0.1, columnspacing=1.2, handlelength=2.4,
        labelspacing=0.3, **more,
    )  # fmt: skip
