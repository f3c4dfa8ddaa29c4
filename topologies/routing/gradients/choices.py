"""One node and one way per worker, as counts: how often each link and switch is used, so which common rate is possible.

The unit of every load is the rate of one worker. Workers of a site have the same options, so an assignment is
identified by how many of them have chosen which option."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topologies.routing.gradients.filling import Way
from topologies.routing.gradients.network import FlowNetwork

__all__ = ["Assignment", "Choices", "blind_choices", "link_choices"]

Floats = npt.NDArray[np.float64]
Assignment = tuple[int, ...]
"""index of the option, by worker in rank order"""


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    ways: tuple[Way, ...]
    """all options of all sites"""
    site_of: tuple[int, ...]
    """site by worker"""
    options: tuple[tuple[int, ...], ...]
    """options by site: indices into `ways`"""
    use: Floats
    """(options, places): what one worker with that option puts on each link and switch"""
    node: npt.NDArray[np.int64]
    """row of `opened` that each option opens; -1: the server"""
    opened: Floats
    """(aggregators, places): what the merged stream of each puts on each link"""
    capacity_bps: Floats
    """capacity by place"""
    most_bps: float
    """rate that nothing lets a worker exceed: of its own link, or T"""

    def loads(self, assignment: Assignment) -> Floats:
        """By place, in units of one worker's rate."""
        chosen = np.fromiter(assignment, dtype=np.int64)
        nodes = np.unique(self.node[chosen])
        total: Floats = self.use[chosen].sum(axis=0) + self.opened[nodes[nodes >= 0]].sum(axis=0)
        return total

    def rate_bps(self, assignment: Assignment) -> float:
        """The highest common rate that is feasible."""
        return float(min(self.most_bps, 1.0 / np.max(self.loads(assignment) / self.capacity_bps)))


def link_choices(network: FlowNetwork, ways: Sequence[Sequence[Way]], out: dict[str, tuple[int, ...]]) -> Choices:
    """`ways`: by site, the options of its workers; `out`: arcs from each aggregator to the server. Places: arcs, then
    aggregators."""
    nodes = list(out)
    places = len(network.arcs) + len(nodes)
    flat = [way for chosen in ways for way in chosen]
    use = np.zeros((len(flat), places))
    node = np.full(len(flat), -1, dtype=np.int64)
    for row, way in enumerate(flat):
        use[row, list(way.path)] = 1.0
        if way.node in out:
            node[row] = nodes.index(way.node)
            use[row, len(network.arcs) + nodes.index(way.node)] = 1.0
    opened = np.zeros((len(nodes), places))
    for row, name in enumerate(nodes):
        opened[row, list(out[name])] = 1.0
    capacity = [arc.capacity_bps for arc in network.arcs] + [network.problem.capacity_bps(name) for name in nodes]
    used = (use.any(axis=0)) | (opened.any(axis=0))
    return Choices(
        tuple(flat),
        _sites_of(network),
        _numbered(ways),
        use[:, used],
        node,
        opened[:, used],
        np.array(capacity)[used],
        min(site.access_bps for site in network.sites),
    )


def blind_choices(network: FlowNetwork, most_bps: float) -> Choices:
    """As Eq. 1 sees it: switches and the server's link only. `most_bps`: T."""
    problem = network.problem
    (server,) = problem.servers
    nodes = network.aggregators
    ways = [Way(name, ()) for name in (*nodes, server)]
    each = np.eye(len(ways))
    opened = np.zeros((len(nodes), len(ways)))
    opened[:, -1] = 1.0
    capacity = [problem.capacity_bps(name) for name in nodes]
    capacity.append(network.arcs[network.server_arcs[server]].capacity_bps)
    return Choices(
        tuple(ways),
        _sites_of(network),
        tuple(tuple(range(len(ways))) for _ in network.sites),
        each,
        np.array([*range(len(nodes)), -1], dtype=np.int64),
        opened,
        np.array(capacity),
        most_bps,
    )


def _sites_of(network: FlowNetwork) -> tuple[int, ...]:
    found = {worker: index for index, site in enumerate(network.sites) for worker in site.workers}
    return tuple(found[worker] for worker in network.problem.workers)


def _numbered(ways: Sequence[Sequence[Way]]) -> tuple[tuple[int, ...], ...]:
    starts = np.cumsum([0, *(len(chosen) for chosen in ways)])
    return tuple(
        tuple(range(int(start), int(start) + len(chosen))) for start, chosen in zip(starts, ways, strict=False)
    )
