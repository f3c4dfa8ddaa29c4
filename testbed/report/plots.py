"""Figures over time as pictures of a page: lines by node or link, with the windows of faults behind them. Colours hold
on light and on dark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from testbed.figures.over_time import Series, over_time
from testbed.history import Record
from testbed.reading.units import format_duration
from testbed.terminal.words import bits_per_second, byte_size

__all__ = ["PLOT_STYLE", "plots_html"]

PLOT_STYLE = """
.plot{border:0;margin:.2rem 0 .8rem;background:none}.plot text{font:11px system-ui,sans-serif;fill:currentColor}.plot .axis{stroke:currentColor;stroke-opacity:.25;fill:none}
.plot .window{fill:#d97706;fill-opacity:.14}.plot polyline{fill:none;stroke-width:1.4}
"""  # noqa: E501
_COLOURS = ("#2f7fd0", "#d9622b", "#1f9d72", "#b04fb0", "#8a8f1d", "#d43d6a", "#4c6ef0", "#7c7f86")
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 900, 190, 78, 12, 24, 30
_MOST_LINES = len(_COLOURS)


def plots_html(history: Sequence[Record], faults: Sequence[dict[str, Any]], *, hello: bool = True) -> str:
    """`faults`: of result.json, whose windows are shown; `hello`: key `job.hello`. Empty where nothing took time."""
    found = over_time(history, hello=hello)
    if found is None or not found.series:
        return ""
    end_s = found.intervals * found.interval_ns / 1e9
    windows = [(fault["name"], since, until) for fault in faults for since, until in fault["active_s"] if since < end_s]
    told = (
        f"Counted every {format_duration(found.interval_ns)} from the history of events; queue depths are not recorded."
    )
    shaded = f" Shaded: {', '.join(dict.fromkeys(name for name, _, _ in windows))} could strike." if windows else ""
    plots = "\n".join(_plot(series, end_s, windows) for series in found.series)
    return f'<h2>Over time</h2>\n<p class="dim">{escape(told + shaded)}</p>\n{plots}\n'


def _plot(series: Series, end_s: float, windows: Sequence[tuple[str, float, float]]) -> str:
    lines = sorted(series.lines, key=lambda item: -sum(item[1]))[:_MOST_LINES]
    lines = [item for item in series.lines if item in lines]
    top = max(max(line) for _, line in lines)
    more = len(series.lines) - len(lines)
    title = f"{series.title}" + (f", the {len(lines)} largest of {len(series.lines)}" if more else "")
    body = [*_frame(title, series.unit, top, end_s), *_windows(windows, end_s), *_legend(lines)]
    for number, (name, line) in enumerate(lines):
        step = (_WIDTH - _LEFT - _RIGHT) / len(line)
        points = " ".join(
            f"{_LEFT + step * (index + 0.5):.1f},{_height(value, top):.1f}" for index, value in enumerate(line)
        )
        body.append(f'<polyline points="{points}" stroke="{_COLOURS[number]}"><title>{escape(name)}</title></polyline>')
    label = escape(f"{series.title} over time")
    return f'<svg class="plot" role="img" aria-label="{label}" viewBox="0 0 {_WIDTH} {_HEIGHT}">{"".join(body)}</svg>'


def _height(value: float, top: float) -> float:
    return _TOP + (1 - value / top) * (_HEIGHT - _TOP - _BOTTOM)


def _frame(title: str, unit: str, top: float, end_s: float) -> Iterator[str]:
    yield f'<text x="{_LEFT}" y="14" font-weight="600">{escape(title)}</text>'
    for share in (0.0, 0.5, 1.0):
        y = _height(share * top, top)
        yield f'<path class="axis" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(_shown(share * top, unit))}</text>'
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = _LEFT + share * (_WIDTH - _LEFT - _RIGHT)
        anchor = "end" if share == 1 else "middle"
        yield f'<text x="{x:.1f}" y="{_HEIGHT - 12}" text-anchor="{anchor}">{share * end_s:.4g} s</text>'


def _shown(value: float, unit: str) -> str:
    if unit == "bit/s":
        return bits_per_second(value)
    return byte_size(round(value)) if unit == "bytes" else f"{value:,.4g}"


def _windows(windows: Sequence[tuple[str, float, float]], end_s: float) -> Iterator[str]:
    wide = _WIDTH - _LEFT - _RIGHT
    for name, since, until in windows:
        x, right = (_LEFT + min(1.0, at / end_s) * wide for at in (since, until))
        yield (
            f'<rect class="window" x="{x:.1f}" y="{_TOP}" width="{max(1.0, right - x):.1f}" '
            f'height="{_HEIGHT - _TOP - _BOTTOM}">'
            f"<title>{escape(name)}: {since:g} to {until:g} s</title></rect>"
        )


def _legend(lines: Sequence[tuple[str, tuple[float, ...]]]) -> Iterator[str]:
    x = float(_WIDTH - _RIGHT)
    for number, (name, _) in reversed(list(enumerate(lines))):
        x -= 7.0 * len(name) + 22
        yield (
            f'<path d="M{x:.0f} 10h12" stroke="{_COLOURS[number]}" stroke-width="3"/><text x="{x + 15:.0f}" '
            f'y="14">{escape(name)}</text>'
        )
