"""Racks under spines for drawn schedules: few hosts, uneven racks, one link that differs; and what is simpler than
one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from testbed.hunt.draw_link import other_shape
from topologies import LinkShape, Topology, rack, spine_leaf

__all__ = ["FABRIC", "RACK", "draw_fabric", "draw_levels", "plain_fabric", "smaller_fabrics"]

RACK, FABRIC = "rack", "fabric"
"""what is drawn: one switch, or leaves and spines"""
_MOST_HOSTS = 8
_SPRAYED = 0.4
_LATER_KEYS = ", queue_full='drop', priority='none', drop_low_above_packets=None, red=None, weights=None"


def draw_fabric(draw: Random, shape: LinkShape) -> Topology:
    """2 to 4 racks of 1 to 3 hosts, 2 to 8 in all, under 1 to 3 spines. Uplinks are like the hosts' links, or slower,
    or longer."""
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
        plain = spine_leaf(counts, spines, shape, uplink, {link.name: other_shape(draw, link.shape)})
    return _sprayed(plain) if spines > 1 else plain


def _sprayed(topology: Topology) -> Topology:
    """A part of all fabrics sprays, with one way that is longer than the others, by anything from a packet to many
    round trips. Drawn from what is drawn already, so that nothing else of a schedule depends on it."""
    # The seed is the topology as it was when old seeds got their meaning: before links had these.
    draw = Random(repr(topology).replace(_LATER_KEYS, ""))
    if draw.random() >= _SPRAYED:
        return topology
    far = draw.choice([link.name for link in topology.links if link.b.startswith("spine")])
    delay_ns = draw.choice((0, 100_000, 1_000_000, 5_000_000))
    links = tuple(
        replace(link, shape=replace(link.shape, delay_ns=link.shape.delay_ns + delay_ns)) if link.name == far else link
        for link in topology.links
    )
    return replace(topology, links=links, multipath="spray")


def draw_levels(draw: Random, hosts: int, shape: LinkShape, two_levels: float) -> Topology:
    """For so many hosts: a rack, or, in a share `two_levels`, leaves of at least one host each under one or two
    spines."""
    if hosts < 3 or not two_levels or draw.random() >= two_levels:
        overrides = {f"h{draw.randint(1, hosts)}-s1": other_shape(draw, shape)} if draw.random() < 0.25 else {}
        return rack(hosts, shape, overrides)
    leaves = min(hosts, draw.choice((2, 2, 3)))
    cuts = sorted(draw.sample(range(1, hosts), leaves - 1))
    counts = [end - start for start, end in zip([0, *cuts], [*cuts, hosts], strict=True)]
    uplink = other_shape(draw, shape) if draw.random() < 0.3 else shape
    return spine_leaf(counts, draw.choice((1, 1, 2)), shape, uplink)


def smaller_fabrics(topology: Topology, shape: LinkShape) -> Iterator[Topology]:
    """One rack, one spine or one host less; single links lose what makes them differ; at last none sprays."""
    counts, spines, uplink = _shape_of(topology)
    smaller: list[tuple[list[int], int]] = []
    if len(counts) > 2:
        smaller += [(counts[:at] + counts[at + 1 :], spines) for at in range(len(counts))]
    if spines > 1:
        smaller.append((counts, spines - 1))
    for at, count in enumerate(counts):
        if count > 1:
            smaller.append(([*counts[:at], count - 1, *counts[at + 1 :]], spines))
    for fewer, tops in smaller:
        yield replace(spine_leaf(fewer, tops, shape, uplink), multipath=topology.multipath)
    if topology.multipath != "flow":
        yield replace(topology, multipath="flow")


def plain_fabric(topology: Topology, shape: LinkShape) -> Topology | None:
    """The same with links that are all alike; None when they are."""
    counts, spines, _ = _shape_of(topology)
    plain = replace(spine_leaf(counts, spines, shape), multipath=topology.multipath)
    return plain if plain != topology else None


def _shape_of(topology: Topology) -> tuple[list[int], int, LinkShape]:
    """(hosts by leaf, spines, shape of the first uplink)"""
    leaves = [node.name for node in topology.nodes if node.part == "leaf"]
    counts = [sum(link.b == leaf for link in topology.links) for leaf in leaves]
    uplink = next(link.shape for link in topology.links if link.a == leaves[0])
    return counts, len(topology.switches) - len(leaves), uplink
