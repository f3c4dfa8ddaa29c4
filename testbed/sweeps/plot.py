"""A sweep as an SVG of our own: small charts of time over one parameter, both axes logarithmic; no library needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

from testbed.sweeps.analysis import AnalysisPoint, by_point
from testbed.sweeps.engine import Finished
from testbed.sweeps.parameters import FAMILIES
from testbed.terminal.numbers import scale_of, tick
from workloads.trusted import write_file

__all__ = ["svg", "write_svg"]

_COLORS = ("#c0392b", "#7f8c8d", "#2471a3", "#1e8449", "#b7950b", "#7d3c98", "#d35400", "#17202a")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 300, 220, 52, 34, 26
_FONT = 'font-family="sans-serif" font-size="10"'
_COLUMNS, _MOST_CHARTS = 4, 24


def write_svg(finished: Finished, path: Path) -> int:
    """-> how many of the charts are in it; the rest would not be readable."""
    text, drawn = svg(finished)
    write_file(path, text)
    return drawn


def svg(finished: Finished) -> tuple[str, int]:
    """(text, number of charts). Along the parameter with the most values, a chart for each setting of the others."""
    varied = [(name, values) for name, values in finished.sweep.axes if len(values) > 1]
    along = max(varied, key=lambda item: len(item[1]), default=finished.sweep.axes[0])[0]
    others = [name for name, _ in varied if name != along]
    groups: dict[tuple[int, ...], list[AnalysisPoint]] = {}
    for point in by_point(finished.rows):
        groups.setdefault(tuple(point.values[name] for name in others), []).append(point)
    shown = list(groups.items())[:_MOST_CHARTS]
    known = FAMILIES[finished.sweep.family]
    columns = min(_COLUMNS, len(shown)) or 1
    height = -(-len(shown) // columns) * _HEIGHT + 40
    title = f"{finished.sweep.name}: seconds over {along} ({finished.sweep.model} model)"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{columns * _WIDTH}" height="{height}" {_FONT}>',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="8" y="16" font-size="12">{escape(title)}</text>',
    ]
    for index, name in enumerate(finished.sweep.algorithms):
        color, x = _COLORS[index % len(_COLORS)], 8 + 110 * index
        parts.append(f'<text x="{x}" y="32" fill="{color}" font-weight="bold">{escape(name)}</text>')
    for index, (key, points) in enumerate(shown):
        title = ", ".join(f"{name} {known[name].show(value)}" for name, value in zip(others, key, strict=True))
        x, y = index % columns * _WIDTH, index // columns * _HEIGHT + 40
        parts.append(f'<g transform="translate({x},{y})">{_chart(finished, points, along, title)}</g>')
    return "\n".join([*parts, "</svg>"]) + "\n", len(shown)


def _chart(finished: Finished, points: Sequence[AnalysisPoint], along: str, title: str) -> str:
    show = FAMILIES[finished.sweep.family][along].show
    xs = [max(point.values[along], 1) for point in points]
    ys = [seconds for point in points for seconds in point.seconds.values() if seconds > 0]
    low, high = math.floor(math.log10(min(ys, default=1))), math.ceil(math.log10(max(ys, default=10)))
    high = max(high, low + 1)
    first, span = math.log(min(xs)), math.log(max(xs) / min(xs)) or 1.0

    def at(x: float, seconds: float) -> tuple[float, float]:
        right = _LEFT + (math.log(x) - first) / span * (_WIDTH - _LEFT - 16)
        return right, _TOP + (high - math.log10(seconds)) / (high - low) * (_HEIGHT - _BOTTOM - _TOP)

    parts = [f'<text x="{_LEFT}" y="14">{escape(title)}</text>']
    for power in range(low, high + 1):
        _, y = at(min(xs), 10.0**power)
        scale, unit = scale_of(10.0**power, "s")
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - 16}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{_LEFT - 4}" y="{y + 3:.1f}" text-anchor="end">{tick(10.0**power / scale)} {unit}</text>'
        )
    for x in xs:
        right, _ = at(x, 10.0**low)
        parts.append(
            f'<text x="{right:.1f}" y="{_HEIGHT - _BOTTOM + 14}" text-anchor="middle">{escape(show(x))}</text>'
        )
    for index, name in enumerate(finished.sweep.algorithms):
        line = [
            at(x, point.seconds[name])
            for x, point in zip(xs, points, strict=True)
            if point.seconds.get(name, 0) > 0
        ]  # fmt: skip
        color = _COLORS[index % len(_COLORS)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{color}"/>' for x, y in line]
    return "".join(parts)
