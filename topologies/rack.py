"""A rack: hosts h1..hN, each with one link to switch s1 (port i-1 leads to h_i)."""

from __future__ import annotations

from collections.abc import Mapping

from topologies.assembly import Cable, assemble, host, switch
from topologies.graph import LinkShape, Topology

__all__ = ["rack"]


def rack(hosts: int, shape: LinkShape, overrides: Mapping[str, LinkShape] | None = None) -> Topology:
    """`overrides` gives single links a shape of their own, by link name (`h1-s1`)."""
    nodes = [host(number) for number in range(1, hosts + 1)]
    return assemble("rack", [*nodes, switch("s1")], [Cable(node.name, "s1", shape) for node in nodes], overrides)
