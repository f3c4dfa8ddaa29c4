"""The k-ary fat tree (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation switches."""

from __future__ import annotations

from collections.abc import Mapping

from topologies.assembly import Cable, assemble, host, switch
from topologies.graph import LinkShape, Topology

__all__ = ["fat_tree"]


def fat_tree(
    k: int,
    shape: LinkShape,
    uplink: LinkShape | None = None,
    core: LinkShape | None = None,
    overrides: Mapping[str, LinkShape] | None = None,
    hosts_per_edge: int | None = None,
) -> Topology:
    """k^3/4 hosts h1.., k^2/2 switches edge1.. and as many agg1.., k^2/4 switches core1..; numbers run through all
    pods, hosts edge by edge. Aggregation switch i of every pod leads to cores i k/2 + 1 .. (i+1) k/2.

    `hosts_per_edge`: another number than k/2. `shape`: of host links; `uplink`: edge to aggregation; `core`:
    aggregation to core; each the one below by default. Raises ValueError when k is odd or below 2."""
    if k < 2 or k % 2:
        raise ValueError("k of a fat tree is an even number, 2 or more")
    half, uplink = k // 2, uplink or shape
    core, below = core or uplink, hosts_per_edge or half
    edges = [switch(f"edge{number}", "edge") for number in range(1, k * half + 1)]
    aggregations = [switch(f"agg{number}", "aggregation") for number in range(1, k * half + 1)]
    cores = [switch(f"core{number}", "core") for number in range(1, half * half + 1)]
    hosts = [host(number) for number in range(1, k * half * below + 1)]
    cables = [Cable(node.name, edges[index // below].name, shape) for index, node in enumerate(hosts)]
    for pod in range(k):
        mine = slice(pod * half, (pod + 1) * half)
        cables += [Cable(low.name, high.name, uplink) for low in edges[mine] for high in aggregations[mine]]
    for index, low in enumerate(aggregations):
        first = index % half * half
        cables += [Cable(low.name, high.name, core) for high in cores[first : first + half]]
    return assemble("fat_tree", [*hosts, *edges, *aggregations, *cores], cables, overrides)
