"""What a picture of a topology says, before anything is drawn: texts of nodes and links, and the tiers they stand
in."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from testbed.reading.units import format_duration, format_rate
from testbed.scenario.model import Scenario
from topologies import LinkShape, Role
from topologies.routing import tiers

__all__ = ["Picture", "PictureLine", "PicturePoint", "picture_of"]


@dataclass(frozen=True, slots=True)
class PicturePoint:
    """A node."""

    name: str
    detail: str
    """under its name: a host's rank, what a switch is"""
    part: str
    """`host`, or what a switch is: switch, leaf, spine, ..., commodity, accelerator"""
    tier: int
    """links to the nearest host"""


@dataclass(frozen=True, slots=True)
class PictureLine:
    """A link; `a` does not stand above `b`."""

    a: str
    b: str
    label: str
    """rate, delay and jitter"""
    usual: bool
    """most links between these two tiers say the same"""


@dataclass(frozen=True, slots=True)
class Picture:
    title: str
    points: tuple[PicturePoint, ...]
    lines: tuple[PictureLine, ...]
    """lines in the order of the topology's links"""
    bands: tuple[tuple[int, int, str], ...]
    """(lower tier, upper tier, label of most links between them), from the hosts upwards"""


def picture_of(scenario: Scenario) -> Picture:
    """The topology must be connected, as every loaded one is."""
    topology, height = scenario.topology, tiers(scenario.topology)
    ranks = {host.name: rank for part in scenario.parts for rank, host in enumerate(part.ranks)}
    points = []
    for node in topology.nodes:
        part = str(node.role) if node.role is Role.HOST else node.part or "switch"
        detail = f"rank {ranks[node.name]}" if node.name in ranks else part
        points.append(PicturePoint(node.name, detail, part, height[node.name]))
    drawn = []
    for link in topology.links:
        a, b = sorted((link.a, link.b), key=lambda end: height[end])
        drawn.append((a, b, (height[a], height[b]), _label(link.shape)))
    counts: dict[tuple[int, int], Counter[str]] = {}
    for _, _, band, label in drawn:
        counts.setdefault(band, Counter())[label] += 1
    usual = {band: found.most_common(1)[0][0] for band, found in sorted(counts.items())}
    size = f"{len(topology.hosts)} hosts, {len(topology.switches)} switch{'es' if len(topology.switches) > 1 else ''}"
    return Picture(
        f"{scenario.name}: {topology.kind}, {size}; {' + '.join(part.job.protocol for part in scenario.parts)}",
        tuple(points),
        tuple(PictureLine(a, b, label, label == usual[band]) for a, b, band, label in drawn),
        tuple((low, high, label) for (low, high), label in usual.items()),
    )


def _label(shape: LinkShape) -> str:
    text = format_rate(shape.rate_bps)
    if shape.delay_ns:
        text += f", {format_duration(shape.delay_ns)}"
    if shape.jitter_ns:
        text += f" ± {format_duration(shape.jitter_ns)}"
    return text
