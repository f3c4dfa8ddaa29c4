"""Two tiers: hosts h1..hN under leaves leaf1..leafL, every leaf linked to every spine spine1..spineS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from topologies.assembly import Cable, assemble, host, switch
from topologies.graph import LinkShape, Topology

__all__ = ["spine_leaf"]


def spine_leaf(
    hosts_per_leaf: Sequence[int],
    spines: int,
    shape: LinkShape,
    uplink: LinkShape | None = None,
    overrides: Mapping[str, LinkShape] | None = None,
    oversubscription: float | None = None,
) -> Topology:
    """Hosts are numbered leaf by leaf, so that the ranks of a rack are contiguous. Ports of a leaf: its hosts, then the
    spines; port r of a spine leads to leaf r+1.

    `uplink`: shape of the links from leaf to spine (default: `shape`). `oversubscription`: rate of all hosts of a leaf
    over the rate of all its uplinks; it gives each leaf's uplinks their rate. `overrides`: shapes of single links, by
    name."""
    leaves = [switch(f"leaf{number}", "leaf") for number in range(1, len(hosts_per_leaf) + 1)]
    tops = [switch(f"spine{number}", "spine") for number in range(1, spines + 1)]
    homes = [leaf for leaf, count in zip(leaves, hosts_per_leaf, strict=True) for _ in range(count)]
    hosts = [host(number) for number in range(1, len(homes) + 1)]
    cables = [Cable(node.name, leaf.name, shape) for node, leaf in zip(hosts, homes, strict=True)]
    for leaf, count in zip(leaves, hosts_per_leaf, strict=True):
        up = uplink or shape
        if oversubscription is not None:
            up = replace(up, rate_bps=max(1, round(count * shape.rate_bps / (spines * oversubscription))))
        cables += [Cable(leaf.name, top.name, up) for top in tops]
    return assemble("spine_leaf", [*hosts, *leaves, *tops], cables, overrides)
