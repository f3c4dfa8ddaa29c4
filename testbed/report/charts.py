"""Figures over time as charts of a page: data that the page draws, and the same as tables. Above four nodes a chart has
the band from the 10th to the 90th percentile, the median, and one node that stands out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from testbed.figures.extent import end_of_job
from testbed.figures.over_time import Kind, OverTime, Series, interval_of, over_time_of
from testbed.history import Record, of_kind
from testbed.scenario.model import Scenario
from testbed.terminal.numbers import quantity, seconds, significant
from workloads.events import CollectiveCompleted

__all__ = [
    "FINER",
    "ChartLine",
    "charts_data",
    "charts_html",
    "doubled",
    "fine_figures",
    "lines_of",
    "rounded",
    "slowest_worker",
    "wider",
]

FINER = 10
"""intervals of the finer level in one of the coarser"""
_MOST_LINES = 4
_STEPS = 10
"""rows of a table"""
Values = Sequence[float]


@dataclass(frozen=True, slots=True)
class ChartLine:
    name: str
    role: str
    """line, low and high (ends of the band), median, or extreme"""
    values: Values


def fine_figures(history: Sequence[Record], scenario: Scenario | None) -> OverTime | None:
    """The figures at the finer level of detail: ten intervals in one of the usual length, if that has ten ns."""
    return over_time_of(history, scenario, max(1, interval_of(end_of_job(history)) // FINER))


def slowest_worker(history: Sequence[Record]) -> str:
    """The worker that completed its last iteration last; empty: none did."""
    done = {record.node: record.event.completed_ns or record.t for record in of_kind(history, CollectiveCompleted)}
    return max(done, key=lambda node: done[node], default="")


def lines_of(series: Series, slowest: str) -> list[ChartLine]:
    """What a chart draws of a series. Nodes in which nothing of it happened do not count."""
    if len(series.lines) <= _MOST_LINES:
        return [ChartLine(name, "line", values) for name, values in series.lines]
    low, median, high = np.percentile([values for _, values in series.lines], (10, 50, 90), axis=0)
    of = dict(series.lines)
    name, word = (slowest, "slowest") if slowest in of else (max(of, key=lambda each: sum(of[each])), "most")
    return [
        ChartLine("10th percentile", "low", low),
        ChartLine("90th percentile", "high", high),
        ChartLine(f"median of {len(of):,}", "median", median),
        ChartLine(f"{word}: {name}", "extreme", of[name]),
    ]


def wider(values: Values, kind: Kind, by: int = FINER) -> list[float]:
    """The coarser level of detail: rates as means, counts as sums. Of a state, the least and the most of each interval,
    in the order in which they came, so that no peak is lost."""
    found, starts = np.asarray(values, dtype=float), np.arange(0, len(values), by)
    if kind == "state":
        groups = np.pad(found, (0, -len(found) % by), mode="edge").reshape(-1, by)
        places = np.sort([groups.argmin(axis=1), groups.argmax(axis=1)], axis=0)
        return list(np.take_along_axis(groups, places.T, axis=1).ravel().tolist())
    sums = np.add.reduceat(found, starts)
    return list((sums if kind == "count" else sums / np.diff([*starts, len(found)])).tolist())


def doubled(values: Values) -> list[float]:
    """Means, as a chart of a state takes them: as its least and its most."""
    return [value for value in values for _ in range(2)]


def rounded(values: Values) -> list[float]:
    """To four digits."""
    found = (float(f"{value:.4g}") for value in values)
    return [int(value) if value.is_integer() else value for value in found]


def charts_data(
    found: OverTime, slowest: str, reference: Mapping[str, Sequence[ChartLine]], *, rates: bool
) -> Iterator[dict[str, Any]]:
    """For the script of the page. `reference`: by title, what the reference run in virtual time has at the coarser
    level. `rates`: whether what happened per second is trusted and shown."""
    for series in _shown(found, rates):
        lines = [
            {
                "name": line.name,
                "role": line.role,
                "coarse": rounded(wider(line.values, series.kind)),
                "fine": rounded(line.values),
            }
            for line in lines_of(series, slowest)
        ]
        lines += [
            {
                "name": f"{line.name} in virtual time",
                "role": "reference",
                "coarse": rounded(doubled(line.values) if series.kind == "state" else line.values),
                "of": line.name,
            }
            for line in reference.get(series.title, ())
        ]
        yield {"title": series.title, "unit": series.unit, "kind": series.kind, "lines": lines}


def charts_html(found: OverTime, slowest: str, *, rates: bool) -> str:
    """Places for the charts, each with its table."""
    return "\n".join(
        f'<figure class="chart"><figcaption>{escape(series.title)}</figcaption>'
        f'<div class="plot" data-chart="{number}"></div>'
        f'<details class="alternative" open><summary>Table: {escape(series.title)}</summary>'
        f"{_table(series, lines_of(series, slowest), found)}</details></figure>"
        for number, series in enumerate(_shown(found, rates))
    )


def _shown(found: OverTime, rates: bool) -> list[Series]:
    return [series for series in found.series if rates or series.kind != "rate"]


def _table(series: Series, lines: Sequence[ChartLine], found: OverTime) -> str:
    by = -(-found.intervals // _STEPS)
    head = "".join(f'<th scope="col">{escape(line.name)}</th>' for line in lines)
    columns = [wider(line.values, series.kind, by) for line in lines]
    if series.kind == "state":
        columns = [[max(values[at : at + 2]) for at in range(0, len(values), 2)] for values in columns]
    rows = "".join(
        f'<tr><th scope="row">{seconds(number * by * found.interval_ns / 1e9)}</th>'
        + "".join(f"<td>{escape(_value(value, series.unit))}</td>" for value in values)
        + "</tr>"
        for number, values in enumerate(zip(*columns, strict=True))
    )
    what = {"rate": "mean", "count": "sum", "state": "most"}[series.kind]
    return (
        f'<div class="wide"><table><caption>{what} of each interval, in {escape(series.unit)}</caption>'
        f'<thead><tr><th scope="col">from</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _value(value: float, unit: str) -> str:
    if unit in ("bit/s", "bytes"):
        return quantity(value, "B" if unit == "bytes" else unit)
    return f"{value:,.0f}" if float(value).is_integer() else significant(value)
