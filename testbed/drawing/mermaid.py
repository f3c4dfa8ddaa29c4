"""A picture as text for mermaid, which many readers of Markdown draw."""

from __future__ import annotations

from testbed.drawing.picture import Picture
from testbed.drawing.svg import COLOURS

__all__ = ["draw_mermaid"]


def draw_mermaid(picture: Picture) -> str:
    """A flowchart from the hosts upwards; every link with its label."""
    lines = ["---", f'title: "{picture.title}"', "---", "flowchart BT"]
    lines += [f'  {_id(point.name)}["{point.name}<br/>{point.detail}"]:::{point.part}' for point in picture.points]
    lines += [f'  {_id(line.a)} ---|"{line.label}"| {_id(line.b)}' for line in picture.lines]
    parts = dict.fromkeys(point.part for point in picture.points)
    lines += [f"  classDef {part} fill:{COLOURS[part][0]},stroke:{COLOURS[part][1]}" for part in parts]
    return "\n".join((*lines, ""))


def _id(name: str) -> str:
    """A node may be called `end`, which is a word of mermaid's own."""
    return f"n_{name}"
