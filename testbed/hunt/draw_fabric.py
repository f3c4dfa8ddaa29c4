"""Racks under spines for drawn schedules: few hosts, uneven racks, one link that differs."""

from __future__ import annotations

from random import Random

from testbed.hunt.draw_link import other_shape
from topologies import LinkShape, Topology, spine_leaf

__all__ = ["FABRIC", "RACK", "draw_fabric"]

RACK, FABRIC = "rack", "fabric"
"""what is drawn: one switch, or leaves and spines"""
_MOST_HOSTS = 8


def draw_fabric(draw: Random, shape: LinkShape) -> Topology:
    """2 to 4 racks of 1 to 3 hosts, 2 to 8 in all, under 1 to 3 spines. Uplinks are like the hosts' links, or slower, or
    longer."""
    counts: list[int] = []
    for _ in range(draw.choices((2, 3, 4), (62, 26, 12))[0]):
        counts.append(draw.choices((1, 2, 3), (46, 38, 16))[0])
    while sum(counts) > _MOST_HOSTS:
        counts[counts.index(max(counts))] -= 1
    spines = draw.choices((1, 2, 3), (35, 45, 20))[0]
    uplink = other_shape(draw, shape) if draw.random() < 0.3 else shape
    plain = spine_leaf(counts, spines, shape, uplink)
    if draw.random() < 0.2:
        link = draw.choice(plain.links)
        return spine_leaf(counts, spines, shape, uplink, {link.name: other_shape(draw, link.shape)})
    return plain
