"""The arrangement in which no two texts of a picture overlap and none is cut."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from testbed.sweeps.plots.draw import Fit, columns_of, draw
from testbed.sweeps.plots.picture import Axis, PlotPicture
from testbed.sweeps.plots.styles import Style
from workloads.errors import ScenarioError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["fitted"]

_GROW_IN, _MOST_GROWTH_IN = 0.4, 4.0
_SMALLEST_PT = 6.0
_MOST_IN_VAIN = 6
"""steps of growth after which as many texts clash as before"""
_LEAST_CHART_IN = 0.7
"""width and height that a chart must keep"""
_APART_PX = 1.0


def fitted(picture: PlotPicture, style: Style) -> tuple[Figure, PlotPicture]:
    """-> the figure; and the picture with the size, the tick labels and the rotation that fit. Without a size that was
    asked for, the figure becomes as high as its texts need. Raises ScenarioError where they do not fit into the
    size."""
    width, height = picture.size_in or (style.width_in, _usual_height(picture, style))
    most = height if picture.size_in else height + _MOST_GROWTH_IN
    fewest, in_vain = 10**9, 0
    while True:
        found = []
        for fit in _fits(picture, style):
            size = (width, height)
            figure = draw(picture, size, fit)
            _arrange(figure)
            thinned = _thinned(picture, figure)
            found.append(len(_problems(figure, len(picture.charts))))
            if not found[-1]:
                return figure, replace(thinned, size_in=size, x=replace(thinned.x, rotation=fit.rotation))
        height += _GROW_IN
        in_vain = 0 if min(found) < fewest else in_vain + 1
        fewest = min(fewest, *found)
        if height > most or in_vain > _MOST_IN_VAIN:
            raise ScenarioError(
                "is too small for the texts of the plot", file="tb sweep", key="plot.size",
                found=f"{width:.3g}x{height - _GROW_IN:.3g}in",
                allowed="a larger size, shorter labels, or --legend none; without --size, plots grow in height",
            )  # fmt: skip


def _usual_height(picture: PlotPicture, style: Style) -> float:
    rows = -(-len(picture.charts) // columns_of(picture, style.width_in))
    return style.height_in if rows == 1 else 0.7 + rows * style.height_in * 0.65


def _fits(picture: PlotPicture, style: Style) -> Iterator[Fit]:
    """The most legible first."""
    small = float(style.rc["legend.fontsize"]) if _is_number(style.rc.get("legend.fontsize")) else 7.0
    width = int((picture.size_in or (style.width_in, 0))[0] * 16)
    entries = len(picture.series) + len(picture.reasons) + bool(picture.survivors)
    longest = max((len(series.label) for series in picture.series), default=0)
    most = int((picture.size_in or (style.width_in, 0))[0] * 72 / (small * (4.5 + 0.42 * max(longest, 8))))
    columns_first = max(1, min(4, entries, most))
    for has_numbers in (True, False) if picture.kind == "heatmap" else (True,):
        for rotation in (0, 90) if picture.x.are_words else (0,):
            for points in dict.fromkeys((small, max(_SMALLEST_PT, small - 1))):
                for columns in dict.fromkeys((columns_first, max(1, columns_first - 1), 1)):
                    yield Fit(columns, points, width, 24 if rotation else 14, rotation, has_numbers)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _thinned(picture: PlotPicture, figure: Figure) -> PlotPicture:
    """Without the labels of ticks that have no room, also in the figure; the ticks stay. Words are never left out."""
    x, y = picture.x, picture.y
    for number, area in enumerate(figure.axes[: len(picture.charts)]):
        if not x.are_words and any(label.get_text() for label in area.get_xticklabels()):
            x = _without(x, _kept(x, [label.get_window_extent() for label in area.get_xticklabels()], 0))
        if number == 0 and not y.are_words:
            y = _without(y, _kept(y, [label.get_window_extent() for label in area.get_yticklabels()], 1))
    for area in figure.axes[: len(picture.charts)]:
        for axis, given in ((area.xaxis, x), (area.yaxis, y)):
            for label, (_, text) in zip(axis.get_ticklabels(), given.ticks, strict=True):
                label.set_visible(bool(text))
    return replace(picture, x=x, y=y)


def _arrange(figure: Figure) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a chart has no room is found below
        figure.draw_without_rendering()


def _without(axis: Axis, kept: set[int]) -> Axis:
    ticks = tuple((place, label if index in kept else "") for index, (place, label) in enumerate(axis.ticks))
    return replace(axis, ticks=ticks)


def _kept(axis: Axis, boxes: Sequence[Any], side: int) -> set[int]:
    """The ends first, then the round ones."""
    spans = [(box.x0, box.x1) if side == 0 else (box.y0, box.y1) for box in boxes]
    gap = 4.0 if side == 0 else 2.0
    shown = [index for index, (_, label) in enumerate(axis.ticks) if label and index < len(spans)]
    ends = [*shown[:1], *shown[-1:]]
    inner = sorted(shown[1:-1], key=lambda index: (_roundness(axis.ticks[index][1]), index))
    kept = set[int]()
    for index in dict.fromkeys([*ends, *inner]):
        low, high = spans[index]
        if all(high + gap <= spans[other][0] or low - gap >= spans[other][1] for other in kept):
            kept.add(index)
    return kept


def _roundness(label: str) -> int:
    """Of `0.01` 0, of `0.05` 1, of `0.02` 2, of all else 3."""
    return {"": 0, "1": 0, "5": 1, "2": 2}.get(label.replace(",", "").replace(".", "").strip("0"), 3)


def _problems(figure: Figure, charts: int) -> list[str]:
    """Texts that overlap or are cut, and charts that became too small."""
    from matplotlib.text import Text

    box, dpi = figure.bbox, figure.dpi
    found = []
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    for text, extent in boxes:
        if extent.x0 < box.x0 - 1 or extent.y0 < box.y0 - 1 or extent.x1 > box.x1 + 1 or extent.y1 > box.y1 + 1:
            found.append(f"{text!r} is cut")
    for (one, first), (other, second) in combinations(boxes, 2):
        wide = min(first.x1, second.x1) - max(first.x0, second.x0)
        high = min(first.y1, second.y1) - max(first.y0, second.y0)
        if wide > _APART_PX and high > _APART_PX:
            found.append(f"{one!r} lies on {other!r}")
    for area in figure.axes[:charts]:
        if min(area.bbox.width, area.bbox.height) < _LEAST_CHART_IN * dpi:
            found.append("a chart is too small")
    return found
