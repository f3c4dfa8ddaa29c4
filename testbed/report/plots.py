"""Figures over time as pictures of a page: lines by node or link, with the windows of faults behind them. Lines are
drawn in a picture that takes whatever width there is; words stand next to it, so that they keep their size. Colours
hold on light and on dark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from testbed.figures.over_time import OverTime, Series, over_time_of
from testbed.history import Record
from testbed.scenario.model import Scenario
from testbed.terminal.numbers import scale_of, seconds, tick, ticks

__all__ = ["PLOT_STYLE", "plots_html"]

PLOT_STYLE = """
.plot{margin:.9rem 0}.plot figcaption{display:flex;flex-wrap:wrap;gap:0 1rem;font-size:.8rem;margin-bottom:.2rem}.plot figcaption b{margin-right:auto}
.plot i{display:inline-block;width:.9rem;height:3px;vertical-align:middle;margin-right:.3rem}.plot .area{position:relative;height:8.5rem}
.plot svg{position:absolute;left:5.6rem;top:0;width:calc(100% - 5.6rem);height:100%;border:0;border-radius:0;background:none}.plot polyline{fill:none;stroke-width:1.4;vector-effect:non-scaling-stroke}
.plot .axis{stroke:currentColor;stroke-opacity:.22;vector-effect:non-scaling-stroke}.plot .window{fill:#d97706;fill-opacity:.16}
.plot .y{position:absolute;left:0;width:5.2rem;text-align:right;white-space:nowrap;font-size:.72rem;line-height:1;transform:translateY(-50%);opacity:.8}
.plot .x{position:relative;height:1rem;font-size:.72rem;opacity:.8;margin-left:5.6rem}.plot .x span{position:absolute;transform:translateX(-50%);white-space:nowrap}
.plot .x span:first-child{transform:none}.plot .x span:last-child{transform:translateX(-100%)}
"""  # noqa: E501
_COLOURS = ("#2f7fd0", "#d9622b", "#1f9d72", "#b04fb0", "#8a8f1d", "#d43d6a", "#4c6ef0", "#7c7f86")
_WIDTH, _HEIGHT, _TOP = 1000, 100, 5
"""size of the drawing, in its own units"""
_MOST_LINES = len(_COLOURS)


def plots_html(
    history: Sequence[Record],
    faults: Sequence[dict[str, Any]],
    scenario: Scenario | None = None,
    *,
    rates: bool = True,
) -> str:
    """`faults`: of result.json, whose windows are shown; `rates`: whether what happened per second is
    trusted and shown. Empty where nothing took time."""
    found = over_time_of(history, scenario)
    if found is None or not found.series:
        return ""
    end_s = found.end_ns / 1e9
    windows = [(fault["name"], since, until) for fault in faults for since, until in fault["active_s"] if since < end_s]
    caption = f"Counted every {_round(found.interval_ns)} from the history of events. {_looks(found)}"
    shaded = f" Shaded: active times of {', '.join(dict.fromkeys(name for name, _, _ in windows))}." if windows else ""
    step = found.interval_ns / found.end_ns
    shown = [series for series in found.series if rates or not series.unit.endswith("/s")]
    plots = "\n".join(_plot(series, end_s, step, windows) for series in shown)
    return f'<h2>Over time</h2>\n<p class="dim">{escape(caption + shaded)}</p>\n{plots}\n'


def _looks(found: OverTime) -> str:
    """Where queues, slots and marks come from."""
    if not found.sampled_ns:
        return "Queues, slots and marks were not looked at."
    first, last = found.sampled_ns[0], found.sampled_ns[-1]
    slower = f", at the end every {_round(last)}" if last != first else ""
    return f"Queues of switches, slots and marks were looked at every {_round(first)}{slower}."


def _plot(series: Series, end_s: float, step: float, windows: Sequence[tuple[str, float, float]]) -> str:
    """`step`: an interval, as a share of the time."""
    lines = sorted(series.lines, key=lambda item: -sum(item[1]))[:_MOST_LINES]
    lines = [item for item in series.lines if item in lines]
    heights = list(_heights(max(max(line) for _, line in lines)))
    top = heights[-1]
    more = f", the {len(lines)} largest of {len(series.lines)}" if len(series.lines) > len(lines) else ""
    label = escape(f"{series.title} over time")
    drawing = "".join((*_grid(heights), *_windows(windows, end_s), *_curves(lines, top, step)))
    return (
        f'<figure class="plot"><figcaption><b>{escape(series.title + more)}</b>{"".join(_legend(lines))}</figcaption>'
        f'<div class="area"><svg role="img" aria-label="{label}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'preserveAspectRatio="none">{drawing}</svg>{"".join(_height_labels(series.unit, heights))}</div>'
        f'<div class="x">{"".join(_times(end_s))}</div></figure>'
    )


def _height(share: float) -> float:
    return _TOP + (1 - share) * (_HEIGHT - _TOP)


def _heights(most: float) -> Iterator[float]:
    """Round values from 0 to one that is not below the highest."""
    steps = list(ticks(0.0, most, 4))
    yield from steps
    if steps[-1] < most * (1 - 1e-9):
        yield steps[-1] + steps[1] - steps[0]


def _grid(heights: Sequence[float]) -> Iterator[str]:
    for value in heights:
        yield f'<path class="axis" d="M0 {_height(value / heights[-1]):.1f}H{_WIDTH}"/>'


def _curves(lines: Sequence[tuple[str, tuple[float, ...]]], top: float, step: float) -> Iterator[str]:
    """Each value stands in the middle of its interval; the last one may be shorter."""
    for number, (name, line) in enumerate(lines):
        edges = [*(min(1.0, step * index) for index in range(len(line))), 1.0]
        middles = [(left + right) / 2 for left, right in pairwise(edges)]
        points = " ".join(
            f"{_WIDTH * x:.1f},{_height(value / top):.1f}" for x, value in zip(middles, line, strict=True)
        )
        yield f'<polyline points="{points}" stroke="{_COLOURS[number]}"><title>{escape(name)}</title></polyline>'


def _round(ns: int) -> str:
    scale, unit = scale_of(ns / 1e9, "s")
    return f"{tick(ns / 1e9 / scale)} {unit}"


def _height_labels(unit: str, heights: Sequence[float]) -> Iterator[str]:
    for value in heights:
        shown = _shown(value, unit, heights[-1])
        yield f'<span class="y" style="top:{_height(value / heights[-1]):.1f}%">{escape(shown)}</span>'


def _times(end_s: float) -> Iterator[str]:
    """Round times, all in one unit; the axis ends with the job, which is the last one."""
    scale, unit = scale_of(end_s, "s")
    for at_s in ticks(0.0, end_s):
        if at_s < 0.9 * end_s:  # where the last one stands
            yield f'<span style="left:{100 * at_s / end_s:.2f}%">{tick(at_s / scale)} {unit}</span>'
    yield f'<span style="left:100%">{seconds(end_s)}</span>'


def _shown(value: float, unit: str, top: float) -> str:
    """All of an axis with one prefix."""
    if unit in ("bit/s", "bytes"):
        scale, shown = scale_of(top, "B" if unit == "bytes" else unit)
        return f"{tick(value / scale)} {shown}"
    return f"{tick(value)} {unit}" if "/" in unit else tick(value)


def _windows(windows: Sequence[tuple[str, float, float]], end_s: float) -> Iterator[str]:
    for name, since, until in windows:
        x, right = (min(1.0, at / end_s) * _WIDTH for at in (since, until))
        yield (
            f'<rect class="window" x="{x:.1f}" y="{_TOP}" width="{max(1.0, right - x):.1f}" height="{_HEIGHT - _TOP}">'
            f"<title>{escape(name)}: {seconds(since)} to {seconds(until)}</title></rect>"
        )


def _legend(lines: Sequence[tuple[str, tuple[float, ...]]]) -> Iterator[str]:
    for number, (name, _) in enumerate(lines):
        yield f'<span><i style="background:{_COLOURS[number]}"></i>{escape(name)}</span>'
