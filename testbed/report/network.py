"""The network of a run in its page: the topology as a picture, with links that lost packets in red. The hosts of a rack
are one node of a large topology."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from testbed.drawing.picture import Picture, PictureLine, picture_of
from testbed.drawing.svg import draw_svg
from testbed.faults.events import FaultStruck
from testbed.history import Record, of_kind
from testbed.scenario.model import Scenario

__all__ = ["network_html"]


def network_html(scenario: Scenario, history: Sequence[Record], racks: Mapping[str, str]) -> str:
    hits = Counter(record.event.target for record in of_kind(history, FaultStruck))
    picture = picture_of(scenario)
    drawn, lost = dict[str, PictureLine](), Counter[str]()
    for line, link in zip(picture.lines, scenario.topology.links, strict=True):  # two nodes may have several links
        name = _hosts_of(racks[line.a]) if line.a in racks else link.name
        drawn[name] = replace(line, a=name) if line.a in racks else line
        lost[name] += hits[link.name]
    lines = (
        replace(line, usual=not lost[name], label=f"{lost[name]:,} hit" if lost[name] else line.label)
        for name, line in drawn.items()
    )
    drawing = draw_svg(replace(_folded(picture, racks), lines=tuple(lines)))
    return f'<h2>Network</h2>\n<div class="wide">{drawing}</div>\n'


def _hosts_of(switch: str) -> str:
    return f"at {switch}"


def _folded(picture: Picture, racks: Mapping[str, str]) -> Picture:
    """With one node for the hosts of each rack."""
    sizes = Counter(racks.values())
    points = {
        point.name: replace(point, name=point.name, detail=f"{sizes[racks[host]]:,} hosts")
        for host, point in (
            (point.name, replace(point, name=_hosts_of(racks[point.name])))
            for point in picture.points
            if point.name in racks
        )
    }
    return replace(picture, points=(*points.values(), *(point for point in picture.points if point.name not in racks)))
