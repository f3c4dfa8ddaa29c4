"""Rates over ways that are fixed: max-min fair. A worker could be faster only if a slower one became slower still."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from topologies.routing.gradients.decompose import route_of
from topologies.routing.gradients.linear import LinearProgram
from topologies.routing.gradients.network import FlowNetwork, Site
from topologies.routing.gradients.plan import Merge, Route, Stream

__all__ = ["Filled", "Way", "fill"]

_KEEP = 1 - 1e-9
_DUST = 1e-7
"""share of the largest capacity: such a rate is none"""


@dataclass(frozen=True, slots=True)
class Way:
    """Where a worker may send a server's share."""

    node: str
    path: tuple[int, ...]
    """arcs from the worker's switch; none where that is the node"""


@dataclass(frozen=True, slots=True)
class Filled:
    streams: tuple[Stream, ...]
    merges: tuple[Merge, ...]


@dataclass(frozen=True, slots=True)
class _Group:
    """Workers with the same ways to one server."""

    site: Site
    server: str
    ways: tuple[Way, ...]
    workers: tuple[str, ...]


def fill(
    network: FlowNetwork,
    ways: Mapping[tuple[str, str], tuple[Way, ...]],
    out: Mapping[tuple[str, str], tuple[int, ...]],
) -> Filled:
    """`ways`: of each (worker, server), one or several, among which its rate may be split. `out`: arcs from each
    (switch, server) that a way leads to. First the rates, slowest first; then, with these, as little load on links as
    possible."""
    return _Filling(network, _groups(network, ways), out).run()


def _groups(network: FlowNetwork, ways: Mapping[tuple[str, str], tuple[Way, ...]]) -> list[_Group]:
    found: list[_Group] = []
    for site in network.sites:
        alike: dict[tuple[str, tuple[Way, ...]], list[str]] = {}
        for worker in site.workers:
            for server in network.problem.servers:
                alike.setdefault((server, ways[worker, server]), []).append(worker)
        found += [_Group(site, server, chosen, tuple(members)) for (server, chosen), members in alike.items()]
    return found


class _Filling:
    def __init__(
        self, network: FlowNetwork, groups: list[_Group], out: Mapping[tuple[str, str], tuple[int, ...]]
    ) -> None:
        self.network, self.groups, self.out = network, groups, out
        self.unit = max(network.arcs[arc].capacity_bps for arc in network.server_arcs.values())
        self.fixed: dict[int, float] = {}

    def run(self) -> Filled:
        """Each round raises all rates that are still free, together. It fixes those that a price stands on: raising one
        of them would lower the rest. A round fixes one group at least."""
        while len(self.fixed) < len(self.groups):
            program, lowest = self._program()
            program.price(lowest, -1.0)
            solution = program.solve()
            level = float(solution.values[lowest])
            free = [index for index in range(len(self.groups)) if index not in self.fixed]
            stuck = [index for index in free if abs(solution.prices[self.demand_rows[index]]) > 1e-9]
            for index in stuck or free:
                self.fixed[index] = level
        program, _ = self._program()
        for index, group in enumerate(self.groups):
            for way, variable in zip(group.ways, self.sends[index], strict=True):
                program.price(variable, len(group.workers) * (len(way.path) + 1.0))
        for key, variable in self.merged.items():
            program.price(variable, float(len(self.out[key])))
        return self._filled([float(value) for value in program.solve().values])

    def _program(self) -> tuple[LinearProgram, int]:
        """(rows for the ways and all rates that are fixed, the lowest of the others)"""
        program = LinearProgram()
        lowest = program.variable()
        self.sends = [[program.variable() for _ in group.ways] for group in self.groups]
        self.merged: dict[tuple[str, str], int] = {}
        self.demand_rows: dict[int, int] = {}
        used: dict[int | str, list[tuple[int, float]]] = {}
        access: dict[str, list[int]] = {}
        for index, group in enumerate(self.groups):
            count = float(len(group.workers))
            for way, variable in zip(group.ways, self.sends[index], strict=True):
                for arc in way.path:
                    used.setdefault(arc, []).append((variable, count))
                if way.node == group.server:
                    continue
                used.setdefault(way.node, []).append((variable, count))
                key = way.node, group.server
                if key not in self.merged:
                    self.merged[key] = program.variable()
                    for arc in self.out[key]:
                        used.setdefault(arc, []).append((self.merged[key], 1.0))
                program.at_most([(variable, 1.0), (self.merged[key], -1.0)], 0.0)
            terms = [(variable, 1.0) for variable in self.sends[index]]
            if index in self.fixed:
                program.at_least(terms, self.fixed[index] * _KEEP)
            else:
                self.demand_rows[index] = program.at_least([*terms, (lowest, -1.0)], 0.0)
            for worker in group.workers:
                access.setdefault(worker, []).extend(self.sends[index])
        alike = {tuple(variables): worker for worker, variables in access.items()}
        for variables, worker in alike.items():
            rate = float(self.network.access[worker].shape.rate_bps)
            program.at_most([(variable, 1.0) for variable in variables], rate / self.unit)
        for place, load in used.items():
            capacity = self._capacity(place)
            program.at_most(load, capacity / self.unit)
        return program, lowest

    def _capacity(self, place: int | str) -> float:
        if isinstance(place, str):
            return self.network.problem.capacity_bps(place)
        return self.network.arcs[place].capacity_bps

    def _filled(self, values: list[float]) -> Filled:
        streams: list[Stream] = []
        fastest: dict[tuple[str, str], float] = {}
        for index, group in enumerate(self.groups):
            by_node: dict[str, list[tuple[Way, float]]] = {}
            for way, variable in zip(group.ways, self.sends[index], strict=True):
                if values[variable] > _DUST:
                    by_node.setdefault(way.node, []).append((way, values[variable] * self.unit / _KEEP))
            for node, parts in by_node.items():
                for worker in group.workers:
                    routes = tuple(
                        route_of(self.network, worker, group.site.switch, way.path, rate) for way, rate in parts
                    )
                    streams.append(Stream(worker, group.server, node, routes))
                if node != group.server:
                    rate = sum(rate for _, rate in parts)
                    fastest[node, group.server] = max(fastest.get((node, group.server), 0.0), rate)
        merges = tuple(
            Merge(switch, server, (self._merge_route(switch, server, rate),))
            for (switch, server), rate in fastest.items()
        )
        order = {worker: rank for rank, worker in enumerate(self.network.problem.workers)}
        return Filled(tuple(sorted(streams, key=lambda stream: order[stream.worker])), merges)

    def _merge_route(self, switch: str, server: str, rate: float) -> Route:
        return route_of(self.network, switch, switch, self.out[switch, server], rate)
