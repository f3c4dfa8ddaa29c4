"""A picture -> a short script that draws it again from the CSV files, with matplotlib alone."""

from __future__ import annotations

import pprint
from collections.abc import Mapping
from typing import Any

from testbed.sweeps.plots.draw import columns_of
from testbed.sweeps.plots.picture import BREAK, Axis, PlotPicture
from testbed.sweeps.plots.styles import Style

__all__ = ["script_of"]

_HEAD = '''\
"""Draws {stem} again, from {csv}: python {stem}.py [FILE.pdf]"""
import csv, sys
from pathlib import Path
import matplotlib.colors, matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
X = {places}  # value in the CSV file -> place on the axis
CHARTS = {charts}
SERIES = {series}
plt.rcParams.update({rc})
rows = [row for row in csv.DictReader(open(HERE / "{csv}", newline="")) if {condition}]
figure, areas = plt.subplots({grid[0]}, {grid[1]}, squeeze=False, figsize={size}, layout="constrained")
for area, (title, chart) in zip(areas.flat, CHARTS):
    for number, (label, keys, look) in enumerate(SERIES):
        found = [row for row in rows if all(row[key] == value for key, value in (chart | keys).items())]
{draw}
{ticks}    area.set(title=title, {axes})
for area in areas.flat[len(CHARTS):]:
    area.remove()
{tail}figure.savefig(sys.argv[1] if len(sys.argv) > 1 else HERE / "{stem}.pdf")
'''
_LINES = """\
        there = [row for row in found if row["median"]]
        low, middle, high = ([{factor} * float(row[key] or row["median"]) for row in there]
                             for key in ("low", "median", "high"))
        xs = [X[row[{column!r}]] for row in there]
        spread = [[b - a for a, b in zip(low, middle)], [b - a for a, b in zip(middle, high)]]
        area.errorbar(xs, middle, yerr=spread, label=label, capsize=2, elinewidth=0.7, **look)"""
_BARS = """\
        there = [row for row in found if row["median"]]
        low, middle, high = ([{factor} * float(row[key] or row["median"]) for row in there]
                             for key in ("low", "median", "high"))
        xs = [X[row[{column!r}]] + (number - (len(SERIES) - 1) / 2) * 0.8 / len(SERIES) for row in there]
        spread = [[b - a for a, b in zip(low, middle)], [b - a for a, b in zip(middle, high)]]
        area.bar(xs, middle, 0.8 / len(SERIES), yerr=spread, label=label, edgecolor="white", capsize=2, **look)"""
_CDF = """\
        valid = [row for row in found if row[{figure!r}] and row["verdict"] != "fail"]
        values = sorted({factor} * float(row[{figure!r}]) for row in valid)
        heights = [n / len(found) for n in range(len(values) + 1)]
        area.step([*values[:1], *values], heights if values else [], where="post", label=label, **look)"""
_HEATMAP = """\
        cells = [[float("nan")] * len(X) for _ in SERIES] if number == 0 else cells
        for row in found:
            if row["median"]:
                cells[number][X[row[{column!r}]]] = {factor} * float(row["median"])
    mesh = area.pcolormesh([n - 0.5 for n in range(len(X) + 1)], [n - 0.5 for n in range(len(SERIES) + 1)], cells,
                       norm={norm}, cmap="cividis")
    area.grid(False)"""
_MISSING = """\
        for row in found:
            if not row["median"]:  # no valid run
                area.plot(X[row[{column!r}]]{shift}, 1.02 + 0.04 * number, "x", color=look["color"], clip_on=False,
                          transform=area.get_xaxis_transform())"""

_LINE = 116
"""longest line of a script"""


def script_of(picture: PlotPicture, stem: str, style: Style) -> str:
    size = picture.size_in or (style.width_in, style.height_in)
    columns = columns_of(picture, size[0])
    is_cdf, is_map = picture.kind == "cdf", picture.kind == "heatmap"
    places = {mark.word: int(mark.x) if is_map else mark.x for mark in picture.marks()}
    body = {"lines": _LINES, "bars": _BARS, "cdf": _CDF, "heatmap": _HEATMAP}[picture.kind]
    factor = picture.x.factor if is_cdf else picture.y.factor
    column = picture.x.column or "figure"
    draw = body.format(factor=repr(factor), column=column, figure=picture.figure, norm=_norm(picture))
    if picture.reasons and not is_cdf and not is_map:
        shift = " + (number - (len(SERIES) - 1) / 2) * 0.8 / len(SERIES)" if picture.kind == "bars" else ""
        draw += "\n" + _MISSING.format(column=column, shift=shift)
    condition = "True" if is_cdf else f'row["figure"] == {picture.figure!r}'
    return _HEAD.format(
        stem=stem, csv="results.csv" if is_cdf else "summary.csv", places=_shown(places),
        charts=_shown([(chart.title, dict(chart.keys)) for chart in picture.charts]), series=_shown(_series(picture)),
        rc=_packed(_settings(style)), condition=condition, grid=(-(-len(picture.charts) // columns), columns),
        size=tuple(round(each, 3) for each in size), draw=draw, axes=_axes(picture), ticks=_ticks(picture),
        tail=_tail(picture),
    )  # fmt: skip


def _shown(value: Any) -> str:
    return pprint.pformat(value, width=_LINE, sort_dicts=False)


def _packed(settings: Mapping[str, Any]) -> str:
    """As many settings on a line as it holds."""
    lines = ["{"]
    for key, value in settings.items():
        item = f"{key!r}: {value!r}, "
        lines += [""] if len(lines[-1]) + len(item) > _LINE else []
        lines[-1] += item
    return "\n    ".join(line.rstrip() for line in lines) + "}"


def _settings(style: Style) -> dict[str, Any]:
    return {key: value for key, value in style.rc.items() if isinstance(value, str | int | float | bool)}


def _series(picture: PlotPicture) -> list[tuple[str, dict[str, str], dict[str, str]]]:
    found = []
    for series in picture.series:
        look = series.look
        if picture.kind == "bars":
            kept = {"color": look.color, "hatch": look.hatch}
        elif picture.kind == "lines":
            line = "none" if picture.x.are_words else look.linestyle
            kept = {"color": look.color, "marker": look.marker, "linestyle": line}
        else:
            kept = {"color": look.color, "linestyle": look.linestyle}
        found.append((series.label, dict(series.keys), kept))
    return found


def _axes(picture: PlotPicture) -> str:
    words: dict[str, Any] = {"xlabel": picture.x.label, "ylabel": picture.y.label}
    words |= {
        f"{name}lim": tuple(round(end, 6) for end in axis.limits) for name, axis in _sides(picture) if axis.limits
    }
    return ", ".join(f"{key}={value!r}" for key, value in words.items())


def _sides(picture: PlotPicture) -> tuple[tuple[str, Axis], ...]:
    return ("x", picture.x), ("y", picture.y)


def _ticks(picture: PlotPicture) -> str:
    """Scales, then ticks."""
    found = ""
    for name, axis in _sides(picture):
        if axis.scale != "linear":
            found += f"    area.set_{name}scale({_scale(axis)})\n"
        places, labels = [place for place, _ in axis.ticks], [label for _, label in axis.ticks]
        turned = f", rotation={axis.rotation}" if axis.rotation else ""
        found += f"    area.set_{name}ticks({places!r}, {labels!r}{turned})\n"
        found += f"    area.set_{name}ticks([], minor=True)\n" if axis.scale != "linear" else ""
    return found + _break(picture.x)


def _break(axis: Axis) -> str:
    """Before the values above 0 of a logarithmic axis, as in the figure itself."""
    if axis.break_at is None:
        return ""
    low, high = (round(axis.break_at * part, 6) for part in BREAK)
    return (
        f"    area.plot([{low!r}, {high!r}], [0, 0], transform=area.get_xaxis_transform(),\n"
        "              marker=[(-0.5, -1), (0.5, 1)],\n"
        "              linestyle='none', color='black', markersize=5, markeredgewidth=0.7, clip_on=False, zorder=5)\n"
    )


def _scale(axis: Axis) -> str:
    return f'"symlog", linthresh={axis.threshold!r}, linscale={axis.room!r}' if axis.scale == "symlog" else '"log"'


def _norm(picture: PlotPicture) -> str:
    name = "LogNorm" if picture.colour.scale == "log" else "Normalize"
    return f"matplotlib.colors.{name}{picture.colour.limits!r}"


def _tail(picture: PlotPicture) -> str:
    if picture.kind == "heatmap":
        places, labels = zip(*picture.colour.ticks, strict=True) if picture.colour.ticks else ((), ())
        return (
            f"bar = figure.colorbar(mesh, ax=list(areas.flat[: len(CHARTS)]), label={picture.colour.label!r})\n"
            f"bar.set_ticks({list(places)!r}, labels={list(labels)!r})\n"
        )
    named = picture.legend is not None and any(series.label for series in picture.series)
    title = f", title={picture.legend!r}" if picture.legend else ""
    heading = f"figure.suptitle({picture.title!r})\n" if picture.title else ""
    legend = (
        "figure.legend(*areas.flat[0].get_legend_handles_labels(), ncols=3, frameon=False,\n"
        f'              loc="outside upper center"{title})\n'
    )
    return heading + (legend if named else "")
