"""A picture as text for Graphviz."""

from __future__ import annotations

from testbed.drawing.picture import Picture
from testbed.drawing.svg import COLOURS

__all__ = ["draw_dot"]


def draw_dot(picture: Picture) -> str:
    """Every link with its label; `dot -Tsvg` draws it."""
    lines = [
        f'graph "{picture.title}" {{',
        f'  label="{picture.title}"; labelloc=t; rankdir=BT; ranksep=1;',
        '  node [shape=box, style="rounded,filled", fontname="sans-serif"];',
        '  edge [fontname="sans-serif", fontsize=10];',
    ]
    for tier in sorted({point.tier for point in picture.points}):
        lines.append("  { rank=same;")
        for point in picture.points:
            if point.tier == tier:
                fill, border = COLOURS[point.part]
                look = f'fillcolor="{fill}", color="{border}"'
                lines.append(f'    "{point.name}" [label="{point.name}\\n{point.detail}", {look}];')
        lines.append("  }")
    lines += [f'  "{line.a}" -- "{line.b}" [label="{line.label}"];' for line in picture.lines]
    return "\n".join((*lines, "}\n"))
