"""How marks are drawn in an SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape

from testbed.report.timeline.model import KINDS, Mark, Timeline
from testbed.report.timeline.scale import show_time

__all__ = ["HIDDEN", "draw_marks", "legend_of"]

_STEP, _LANES = 5, 24
"""pixels from one place for marks to the next, for so many lanes: bounds how many there are"""
_TOLD = 3
_SHAPES = {
    "fail": '<path d="M-5-5H5V5H-5Z" fill="{color}"/><path d="M-2.5-2.5L2.5 2.5M-2.5 2.5L2.5-2.5" stroke="#fff"/>',
    "fault": '<path d="M-4-4L4 4M-4 4L4-4" stroke="{color}" stroke-width="2.2"/>',
    "timeout": '<path d="M-5-4H5L0 5Z" fill="{color}"/>',
    "back": '<circle r="3.6" fill="{color}"/>',
    "nak": '<path d="M-4 4H4L0-4Z" fill="{color}"/>',
    "trimmed": '<path d="M-4-3H4M-2 1H2" stroke="{color}" stroke-width="2"/>',
    "reject": '<path d="M-3.5-3.5H3.5V3.5H-3.5Z" fill="none" stroke="{color}" stroke-width="2"/>',
    "inferred": '<path d="M0-4.5L4 0L0 4.5L-4 0Z" fill="{color}"/>',
    "odd": '<circle r="2.4" fill="none" stroke="{color}" stroke-width="1.4"/>',
}
_TICKS = {"result": 9, "ack": 5, "ignored": 6, "replay": 6}
"""kinds drawn as a line from the bottom of the lane, and how long it is"""
HIDDEN = {"post", "turn", "step", "sum"}
"""kinds that the bars show, or that are too many"""
_HEIGHT_OF = {
    "fault": 0.28, "fail": 0.5, "timeout": 0.62, "back": 0.72, "nak": 0.72, "trimmed": 0.6, "reject": 0.28, "odd": 0.45,
}  # fmt: skip
"""height in the lane, so that the loss and what it brings stand apart"""


def draw_marks(
    marks: Iterable[Mark], x: Callable[[int], float], y: float, height: float, timeline: Timeline
) -> Iterator[str]:
    """One drawing per kind and place; `y` and `height` are the lane's. The weightiest kinds come last, on top."""
    places: dict[tuple[str, int], list[Mark]] = {}
    step = _STEP * max(1, len(timeline.qps) / _LANES)
    for mark in marks:
        if mark.kind not in HIDDEN:
            places.setdefault((mark.kind, round(x(mark.t) / step)), []).append(mark)
    weight = {kind: number for number, kind in enumerate(KINDS)}
    for (kind, _), found in sorted(places.items(), key=lambda item: (-weight[item[0][0]], item[0][1])):
        at, color = x(found[0].t), KINDS[kind].color
        title = f"<title>{escape(_title(found, timeline))}</title>"
        if kind in _TICKS:
            length = min(height - 2, _TICKS[kind] + min(len(found) - 1, 4))
            yield (
                f'<path d="M{at:.1f} {y + height - length:.1f}v{length:.1f}" stroke="{color}" stroke-width="1.8">'
                f"{title}</path>"
            )
        else:
            middle = y + height * (_HEIGHT_OF.get(kind, 0.5) if height > 20 else 0.5)
            shape = _SHAPES[kind].format(color=color)
            yield f'<g transform="translate({at:.1f} {middle:.1f})">{shape}{title}</g>'


def legend_of(kinds: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(symbol, meaning) of each kind that is drawn; symbols stand left of (14, 0)."""
    used = set(kinds)
    for name, kind in KINDS.items():
        if name not in used or name in HIDDEN:
            continue
        if name in _TICKS:
            yield f'<path d="M7 1v-9" stroke="{kind.color}" stroke-width="1.8"/>', kind.meaning
        else:
            yield f'<g transform="translate(7 -4)">{_SHAPES[name].format(color=kind.color)}</g>', kind.meaning


def _title(marks: Sequence[Mark], timeline: Timeline) -> str:
    whole = timeline.stop - timeline.start
    lines = [
        f"{show_time(mark.t, whole)} {mark.label}{f' {mark.number}' if mark.number >= 0 else ''} {mark.detail}".rstrip()
        for mark in marks[:_TOLD]
    ]
    if len(marks) > _TOLD:
        lines.append(f"and {len(marks) - _TOLD} more until {show_time(marks[-1].t, whole)}")
    return "\n".join(lines)
