"""A picture as one self-contained SVG file."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from testbed.drawing.layout import NODE_HEIGHT, NODE_WIDTH, ROW_HEIGHT, Spots, place
from testbed.drawing.picture import Picture, PictureLine, PicturePoint

__all__ = ["COLOURS", "draw_svg"]

COLOURS = {
    "host": ("#dbeafe", "#1d4ed8"),
    "switch": ("#e5e7eb", "#374151"),
    "leaf": ("#dcfce7", "#15803d"),
    "edge": ("#dcfce7", "#15803d"),
    "spine": ("#fef3c7", "#b45309"),
    "aggregation": ("#fef3c7", "#b45309"),
    "core": ("#fee2e2", "#b91c1c"),
    "machine": ("#dcfce7", "#15803d"),
    "rack": ("#fef3c7", "#b45309"),
    "commodity": ("#e5e7eb", "#374151"),
    "accelerator": ("#dcfce7", "#15803d"),
}
"""fill and border by part"""
_LEFT, _RIGHT, _TOP, _BOTTOM = 210, 30, 80, 40
_BOW = 46
"""height at which a link within a row passes over the nodes between its ends"""
_LEAST_SCALE = 0.65
"""scale of what a window is too narrow for; smaller text would be illegible"""
_STYLE = (
    ".topo text{font-family:sans-serif;font-size:13px;text-anchor:middle;fill:#111827}"
    ".topo .title{font-size:16px;font-weight:bold;text-anchor:start}"
    ".topo .band{font-size:12px;text-anchor:start;fill:#4b5563}.topo .detail{font-size:11px;fill:#4b5563}"
    ".topo text.odd{font-size:11px;fill:#b91c1c;paint-order:stroke;stroke:#fff;stroke-width:4px}"
    ".topo path{fill:none;stroke:#9ca3af;stroke-width:1.5}.topo path.odd{stroke:#dc2626}.topo rect{stroke-width:1.5}"
)


def draw_svg(picture: Picture) -> str:
    """Rates and delays that most links of a row have stand at the left; links that differ are red and say so
    themselves."""
    spots = place(picture)
    bottom = max(y for _, y in spots.values())
    body = [*_lines(picture, spots), *_points(picture, spots), *_bands(picture, bottom)]
    least = 8 * len(picture.title) + 60
    width = max(least, _LEFT + max(x for x, _ in spots.values()) + NODE_WIDTH / 2 + _RIGHT)
    height = _TOP + bottom + NODE_HEIGHT / 2 + _BOTTOM
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    fit = f"max-width:100%;min-width:{_LEAST_SCALE * width:.0f}px;height:auto"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="topo" {size} style="{fit}">',
            f"<title>{escape(picture.title)}</title>",
            f"<style>{_STYLE}</style>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            f'<text class="title" x="30" y="32">{escape(picture.title)}</text>',
            *body,
            "</svg>\n",
        )
    )


def _at(spots: Spots, name: str) -> tuple[float, float]:
    x, y = spots[name]
    return x + _LEFT, y + _TOP


def _ends(spots: Spots, lower: str, upper: str) -> tuple[tuple[float, float], tuple[float, float]]:
    """Of a link between two rows: from edge to edge, so that it passes behind no other node of these rows."""
    (x1, y1), (x2, y2) = _at(spots, lower), _at(spots, upper)
    return (x1, y1 - NODE_HEIGHT / 2), (x2, y2 + NODE_HEIGHT / 2)


def _lines(picture: Picture, spots: Spots) -> Iterator[str]:
    """The usual ones first, so that the others lie on top; then what those say."""
    tier = {point.name: point.tier for point in picture.points}
    labels: dict[tuple[float, float], str] = {}
    upwards: dict[tuple[str, int], list[PictureLine]] = {}
    for line in sorted(picture.lines, key=lambda line: not line.usual):
        level, bow = tier[line.a] == tier[line.b], 0.0
        (x1, y1), (x2, y2) = (_at(spots, line.a), _at(spots, line.b)) if level else _ends(spots, line.a, line.b)
        if level and _between(spots, line):
            bow = _BOW
            shape = f"Q{(x1 + x2) / 2:.1f} {y1 - 2 * bow:.1f} {x2:.1f} {y2:.1f}"
        else:
            shape = f"L{x2:.1f} {y2:.1f}"
        mark = "" if line.usual else ' class="odd"'
        yield f'<path{mark} d="M{x1:.1f} {y1:.1f} {shape}"/>'
        if not level:
            upwards.setdefault((line.a, tier[line.b]), []).append(line)
        elif not line.usual:
            labels[(x1 + x2) / 2, y1 - bow] = line.label
    for (lower, _), lines in upwards.items():
        labels |= _labels_above(lower, lines, spots)
    for (x, y), label in labels.items():
        yield f'<text class="odd" x="{x:.1f}" y="{y + 4:.1f}">{escape(label)}</text>'


def _labels_above(lower: str, lines: list[PictureLine], spots: Spots) -> dict[tuple[float, float], str]:
    """What the unusual ones of the links from one node to one row above say. It stands once at the node when all of
    them say the same, else on each."""
    if len({line.label for line in lines}) == 1:
        x, y = _at(spots, lower)
        return {} if lines[0].usual else {(x, y - NODE_HEIGHT / 2 - 14): lines[0].label}
    found = {}
    for number, line in enumerate(line for line in lines if not line.usual):
        ((x1, y1), (x2, y2)), share = _ends(spots, lower, line.b), 0.3 + 0.2 * (number % 3)
        found[x1 + share * (x2 - x1), y1 + share * (y2 - y1)] = line.label
    return found


def _between(spots: Spots, line: PictureLine) -> bool:
    """Whether a node stands between the ends of a link within a row."""
    (x1, y1), (x2, _) = spots[line.a], spots[line.b]
    return any(y == y1 and min(x1, x2) < x < max(x1, x2) for x, y in spots.values())


def _points(picture: Picture, spots: Spots) -> Iterator[str]:
    for point in picture.points:
        x, y = _at(spots, point.name)
        yield from _box(point, x, y)


def _box(point: PicturePoint, x: float, y: float) -> Iterator[str]:
    fill, border = COLOURS[point.part]
    corner = 4 if point.part == "host" else 12
    place = f'x="{x - NODE_WIDTH / 2:.1f}" y="{y - NODE_HEIGHT / 2:.1f}" width="{NODE_WIDTH}" height="{NODE_HEIGHT}"'
    yield f'<rect {place} rx="{corner}" fill="{fill}" stroke="{border}"/>'
    yield f'<text x="{x:.1f}" y="{y - 2:.1f}">{escape(point.name)}</text>'
    yield f'<text class="detail" x="{x:.1f}" y="{y + 13:.1f}">{escape(point.detail)}</text>'


def _bands(picture: Picture, bottom: float) -> Iterator[str]:
    for low, high, label in picture.bands:
        y = _TOP + bottom - (low + high) / 2 * ROW_HEIGHT
        yield f'<text class="band" x="30" y="{y + 4:.1f}">{escape(label)}</text>'
