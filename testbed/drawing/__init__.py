"""Pictures of topologies and planned routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from testbed.drawing.dot import draw_dot
    from testbed.drawing.mermaid import draw_mermaid
    from testbed.drawing.picture import Picture, picture_of
    from testbed.drawing.svg import draw_svg

__all__ = ["Picture", "draw_dot", "draw_mermaid", "draw_svg", "picture_of"]

__getattr__ = lazily(
    __name__,
    {
        "Picture": ".picture",
        "draw_dot": ".dot",
        "draw_mermaid": ".mermaid",
        "draw_svg": ".svg",
        "picture_of": ".picture",
    },
)
