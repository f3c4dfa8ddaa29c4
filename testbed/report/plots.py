"""Figures over time as pictures of a page: lines by node or link, with the windows of faults behind them. Lines are
drawn in a picture that takes whatever width there is; words stand beside it, so that they keep their size. Colours hold
on light and on dark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from testbed.figures.over_time import OverTime, Series, over_time
from testbed.history import Record
from testbed.reading.units import format_duration
from testbed.terminal.words import bits_per_second, byte_size

__all__ = ["PLOT_STYLE", "plots_html"]

PLOT_STYLE = """
.plot{margin:.9rem 0}.plot figcaption{display:flex;flex-wrap:wrap;gap:0 1rem;font-size:.8rem;margin-bottom:.2rem}.plot figcaption b{margin-right:auto}
.plot i{display:inline-block;width:.9rem;height:3px;vertical-align:middle;margin-right:.3rem}.plot .area{position:relative;height:8.5rem}
.plot svg{position:absolute;left:5.6rem;top:0;width:calc(100% - 5.6rem);height:100%;border:0;border-radius:0;background:none}.plot polyline{fill:none;stroke-width:1.4;vector-effect:non-scaling-stroke}
.plot .axis{stroke:currentColor;stroke-opacity:.22;vector-effect:non-scaling-stroke}.plot .window{fill:#d97706;fill-opacity:.16}
.plot .y{position:absolute;left:0;width:5.2rem;text-align:right;white-space:nowrap;font-size:.72rem;line-height:1;transform:translateY(-50%);opacity:.8}
.plot .x{display:flex;justify-content:space-between;font-size:.72rem;opacity:.8;margin-left:5.6rem}
"""  # noqa: E501
_COLOURS = ("#2f7fd0", "#d9622b", "#1f9d72", "#b04fb0", "#8a8f1d", "#d43d6a", "#4c6ef0", "#7c7f86")
_WIDTH, _HEIGHT, _TOP = 1000, 100, 5
"""of the drawing, in its own units"""
_MOST_LINES = len(_COLOURS)


def plots_html(
    history: Sequence[Record], faults: Sequence[dict[str, Any]], *, hello: bool = True, rates: bool = True
) -> str:
    """`faults`: of result.json, whose windows are shown; `hello`: key `job.hello`; `rates`: whether what happened per
    second can be trusted and is shown. Empty where nothing took time."""
    found = over_time(history, hello=hello)
    if found is None or not found.series:
        return ""
    end_s = found.intervals * found.interval_ns / 1e9
    windows = [(fault["name"], since, until) for fault in faults for since, until in fault["active_s"] if since < end_s]
    caption = f"Counted every {format_duration(found.interval_ns)} from the history of events. {_looks(found)}"
    shaded = f" Shaded: {', '.join(dict.fromkeys(name for name, _, _ in windows))} could strike." if windows else ""
    shown = [series for series in found.series if rates or not series.unit.endswith("/s")]
    plots = "\n".join(_plot(series, end_s, windows) for series in shown)
    return f'<h2>Over time</h2>\n<p class="dim">{escape(caption + shaded)}</p>\n{plots}\n'


def _looks(found: OverTime) -> str:
    """Where queues, slots and marks come from."""
    if not found.sampled_ns:
        return "Queues, slots and marks were not looked at."
    first, last = found.sampled_ns[0], found.sampled_ns[-1]
    slower = f", at the end every {format_duration(last)}" if last != first else ""
    return f"Queues of switches, slots and marks were looked at every {format_duration(first)}{slower}."


def _plot(series: Series, end_s: float, windows: Sequence[tuple[str, float, float]]) -> str:
    lines = sorted(series.lines, key=lambda item: -sum(item[1]))[:_MOST_LINES]
    lines = [item for item in series.lines if item in lines]
    top = max(max(line) for _, line in lines)
    more = f", the {len(lines)} largest of {len(series.lines)}" if len(series.lines) > len(lines) else ""
    label = escape(f"{series.title} over time")
    drawing = "".join((*_grid(), *_windows(windows, end_s), *_curves(lines, top)))
    return (
        f'<figure class="plot"><figcaption><b>{escape(series.title + more)}</b>{"".join(_legend(lines))}</figcaption>'
        f'<div class="area"><svg role="img" aria-label="{label}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'preserveAspectRatio="none">{drawing}</svg>{"".join(_heights(series.unit, top))}</div>'
        f'<div class="x">{"".join(_times(end_s))}</div></figure>'
    )


def _height(share: float) -> float:
    return _TOP + (1 - share) * (_HEIGHT - _TOP)


def _grid() -> Iterator[str]:
    for share in (0.0, 0.5, 1.0):
        yield f'<path class="axis" d="M0 {_height(share):.1f}H{_WIDTH}"/>'


def _curves(lines: Sequence[tuple[str, tuple[float, ...]]], top: float) -> Iterator[str]:
    for number, (name, line) in enumerate(lines):
        step = _WIDTH / len(line)
        points = " ".join(f"{step * (index + 0.5):.1f},{_height(value / top):.1f}" for index, value in enumerate(line))
        yield f'<polyline points="{points}" stroke="{_COLOURS[number]}"><title>{escape(name)}</title></polyline>'


def _heights(unit: str, top: float) -> Iterator[str]:
    for share in (0.0, 0.5, 1.0):
        yield f'<span class="y" style="top:{_height(share):.1f}%">{escape(_shown(share * top, unit))}</span>'


def _times(end_s: float) -> Iterator[str]:
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        yield f"<span>{share * end_s:.3g} s</span>"


def _shown(value: float, unit: str) -> str:
    if unit == "bit/s":
        return bits_per_second(value)
    if unit == "bytes":
        return byte_size(round(value))
    return f"{value:,.4g} {unit}" if "/" in unit else f"{value:,.4g}"


def _windows(windows: Sequence[tuple[str, float, float]], end_s: float) -> Iterator[str]:
    for name, since, until in windows:
        x, right = (min(1.0, at / end_s) * _WIDTH for at in (since, until))
        yield (
            f'<rect class="window" x="{x:.1f}" y="{_TOP}" width="{max(1.0, right - x):.1f}" height="{_HEIGHT - _TOP}">'
            f"<title>{escape(name)}: {since:g} to {until:g} s</title></rect>"
        )


def _legend(lines: Sequence[tuple[str, tuple[float, ...]]]) -> Iterator[str]:
    for number, (name, _) in enumerate(lines):
        yield f'<span><i style="background:{_COLOURS[number]}"></i>{escape(name)}</span>'
