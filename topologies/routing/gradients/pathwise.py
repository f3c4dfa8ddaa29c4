"""The linear form of the link-aware program for large networks, way by way: only ways that pay are in it.

Flows on arcs (`linkaware`) need a variable for every receiver and arc: 110,000 where all of 60 switches aggregate, far
too many. Here a variable is one way from a site to a node, or from a node to a server. It begins with one way each. The
prices of links and switches then show whether any other way could make the slowest worker faster, and the cheapest ones
join. When there is none, the rate is the optimum of all ways (column generation; Dantzig and Wolfe 1960). A switch pays
when what the sites would save there, all together, is more than its merged stream costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import numpy.typing as npt

from topologies.routing.gradients.decompose import route_of
from topologies.routing.gradients.linear import LinearProgram, Solution
from topologies.routing.gradients.linkaware import Allowed, LinkAware, Optimum
from topologies.routing.gradients.network import FlowNetwork
from topologies.routing.gradients.plan import Merge, Route, Stream

__all__ = ["MOST_ARC_FLOWS", "relaxed"]

MOST_ARC_FLOWS = 5_000
"""arcs x receivers up to which flows on arcs are faster"""
_KEEP = 1 - 1e-9
"""share of the optimal rate, while links are spared"""
_PAYS = 1e-7
"""share of the price of a rate: less is the solver's tolerance"""
_TINY = 1e-9
"""price of a link in addition to its own: of ways that cost the same, the shortest"""
_DUST = 1e-7
"""share of a worker's rate: such a share is none"""

_MORE = 4
"""ways in addition to the cheapest one that join with it"""

Path = tuple[int, ...]
_Send = tuple[int, str, str, Path]
"""(site, node, server, arcs)"""
_Forward = tuple[str, str, Path]
"""(switch, server, arcs)"""


def relaxed(
    network: FlowNetwork, allowed: Allowed = lambda site, node, server: True, rounds: int | None = None
) -> Optimum:
    """The optimum of the linear form: gradients may be split between nodes and ways. `rounds`: of ways that join in
    large networks, at most; then it is a plan, and no bound. Raises NoSolution."""
    receivers = len(network.aggregators) + len(network.problem.servers)
    if len(network.arcs) * receivers <= MOST_ARC_FLOWS:
        return LinkAware(network, allowed).solve()
    return _PathWise(network, allowed).solve(rounds)


@dataclass
class _Rows:
    """Which row of the program is what."""

    shares: dict[tuple[int, str], int] = field(default_factory=dict)
    """(site, server)"""
    inputs: dict[tuple[int, str, str], int] = field(default_factory=dict)
    """(site, switch, server): no faster than what the switch sends on"""
    arcs: dict[int, int] = field(default_factory=dict)
    switches: dict[str, int] = field(default_factory=dict)
    access: int = 0


class _PathWise:
    def __init__(self, network: FlowNetwork, allowed: Allowed) -> None:
        self.network, self.allowed = network, allowed
        self.servers = network.problem.servers
        self.unit = max(network.arcs[arc].capacity_bps for arc in network.server_arcs.values())
        self.sends: dict[_Send, None] = {}
        self.forwards: dict[_Forward, None] = {}
        self.counts = [float(len(site.workers)) for site in network.sites]
        self.slowest = min(network.sites, key=lambda site: site.access_bps)
        for number, site in enumerate(network.sites):
            for server in self.servers:
                for place, node in enumerate((*network.aggregators, server)):
                    if allowed(site, node, server):
                        path = network.path(site.switch, node, number + place * (node != server))
                        self.sends[number, node, server, path] = None
                        if node != server:
                            self.forwards.setdefault((node, server, network.path(node, server, place)), None)

    def solve(self, rounds: int | None = None) -> Optimum:
        for passed in count():
            program, rates, rows = self._program()
            for variable in rates.values():
                program.price(variable, -1.0)
            solution = program.solve(interior=True)
            if passed == rounds or -solution.cost >= self._most() * _KEEP or not self._grow(solution, rows):
                break
        binds = self._binding(solution, rows)
        program.forget_costs()
        for variable in rates.values():
            program.at_least([(variable, 1.0)], float(solution.values[variable]) * _KEEP)
        sends, forwards = self._variables(len(rates))
        for (number, _, _, path), variable in sends.items():
            program.price(variable, self.counts[number] * len(path))
        for (_, _, path), variable in forwards.items():
            program.price(variable, float(len(path)))
        return self._optimum(program.solve(interior=True), -solution.cost * self.unit, binds)

    def _most(self) -> float:
        """Rate that no ways whatsoever exceed: each server gets one whole stream at least."""
        return min(
            self.slowest.access_bps,
            sum(self.network.arcs[arc].capacity_bps for arc in self.network.server_arcs.values()),
        ) / self.unit  # fmt: skip

    def _variables(self, first: int) -> tuple[dict[_Send, int], dict[_Forward, int]]:
        sends = {send: first + place for place, send in enumerate(self.sends)}
        return sends, {forward: first + len(sends) + place for place, forward in enumerate(self.forwards)}

    def _program(self) -> tuple[LinearProgram, dict[str, int], _Rows]:
        """(program without a cost, variable of each server's rate, rows)"""
        program, rows, network = LinearProgram(), _Rows(), self.network
        rates = {server: program.variable() for server in self.servers}
        sends, forwards = self._variables(len(rates))
        for _ in (*sends, *forwards):
            program.variable()
        shares: dict[tuple[int, str], list[tuple[int, float]]] = {}
        inputs: dict[tuple[int, str, str], list[tuple[int, float]]] = {}
        outputs: dict[tuple[str, str], list[tuple[int, float]]] = {}
        arcs: dict[int, list[tuple[int, float]]] = {}
        switches: dict[str, list[tuple[int, float]]] = {}
        for (number, node, server, path), variable in sends.items():
            workers = self.counts[number]
            shares.setdefault((number, server), []).append((variable, -1.0))
            if node != server:
                inputs.setdefault((number, node, server), []).append((variable, 1.0))
                switches.setdefault(node, []).append((variable, workers))
            for arc in path:
                arcs.setdefault(arc, []).append((variable, workers))
        for (node, server, path), variable in forwards.items():
            outputs.setdefault((node, server), []).append((variable, -1.0))
            for arc in path:
                arcs.setdefault(arc, []).append((variable, 1.0))
        for share, terms in shares.items():
            rows.shares[share] = program.at_most([(rates[share[1]], 1.0), *terms], 0.0)
        for entry, terms in inputs.items():
            rows.inputs[entry] = program.at_most([*terms, *outputs[entry[1:]]], 0.0)
        for arc, terms in arcs.items():
            rows.arcs[arc] = program.at_most(terms, network.arcs[arc].capacity_bps / self.unit)
        for switch, terms in switches.items():
            rows.switches[switch] = program.at_most(terms, network.problem.capacity_bps(switch) / self.unit)
        rows.access = program.at_most([(rate, 1.0) for rate in rates.values()], self.slowest.access_bps / self.unit)
        return program, rates, rows

    def _grow(self, solution: Solution, rows: _Rows) -> bool:
        """Adds the cheapest ways that would pay; False: no way would."""
        prices = -solution.prices
        costs = _Costs(self.network, {arc: float(prices[row]) for arc, row in rows.arcs.items()})
        worth = {share: float(prices[row]) for share, row in rows.shares.items()}
        least = _PAYS * sum(worth.values())
        before = len(self.sends) + len(self.forwards)
        for server in self.servers:
            for number, site in enumerate(self.network.sites):
                saved = worth[number, server] - self.counts[number] * costs.of(site.switch, server)
                if saved > least and self.allowed(site, server, server):
                    for path in costs.ways(site.switch, server, worth[number, server] / self.counts[number], number):
                        self.sends[number, server, server, path] = None
            for node in self.network.aggregators:
                price = float(prices[rows.switches[node]]) if node in rows.switches else 0.0
                savings = {
                    number: worth[number, server] - self.counts[number] * (costs.of(site.switch, node) + price)
                    for number, site in enumerate(self.network.sites)
                    if self.allowed(site, node, server)
                }
                if sum(max(0.0, saved) for saved in savings.values()) - costs.of(node, server) <= least:
                    continue
                for path in costs.ways(node, server, sum(max(0.0, saved) for saved in savings.values())):
                    self.forwards[node, server, path] = None
                for number, saved in savings.items():
                    if saved > 0:
                        most = worth[number, server] / self.counts[number] - price
                        for path in costs.ways(self.network.sites[number].switch, node, most, number):
                            self.sends[number, node, server, path] = None
        return len(self.sends) + len(self.forwards) > before

    def _binding(self, solution: Solution, rows: _Rows) -> tuple[str, ...]:
        def has_price(row: int) -> bool:
            return abs(float(solution.prices[row])) > 1e-9

        access = f"{self.slowest.workers[0]}->{self.slowest.switch}"
        return (
            *(name for name in self.network.aggregators if name in rows.switches and has_price(rows.switches[name])),
            *([access] if has_price(rows.access) else []),
            *(self.network.arcs[arc].name for arc in sorted(rows.arcs) if has_price(rows.arcs[arc])),
        )

    def _optimum(self, solution: Solution, rate_bps: float, binds: tuple[str, ...]) -> Optimum:
        sends, forwards = self._variables(len(self.servers))
        parts: dict[tuple[int, str, str], dict[Path, float]] = {}
        for (number, node, server, path), variable in sends.items():
            if solution.values[variable] > _DUST * rate_bps / self.unit:
                parts.setdefault((number, node, server), {})[path] = float(solution.values[variable]) * self.unit
        totals: dict[tuple[int, str], float] = {}
        for (number, _, server), ways in parts.items():
            totals[number, server] = totals.get((number, server), 0.0) + sum(ways.values())
        rates = {server: float(solution.values[place]) * self.unit for place, server in enumerate(self.servers)}
        streams, fastest = [], dict[tuple[str, str], float]()
        for (number, node, server), ways in parts.items():
            site, scale = self.network.sites[number], rates[server] / totals[number, server]
            if node != server:
                fastest[node, server] = max(fastest.get((node, server), 0.0), scale * sum(ways.values()))
            for worker in site.workers:
                routes = tuple(self._route(worker, site.switch, path, rate * scale) for path, rate in ways.items())
                streams.append(Stream(worker, server, node, routes))
        order = {worker: rank for rank, worker in enumerate(self.network.problem.workers)}
        streams.sort(key=lambda stream: order[stream.worker])
        merges = tuple(self._merge(key, rate, forwards, solution) for key, rate in fastest.items())
        return Optimum(rate_bps, tuple(streams), merges, binds)

    def _merge(self, key: tuple[str, str], rate_bps: float, forwards: dict[_Forward, int], solution: Solution) -> Merge:
        found = {
            path: float(solution.values[variable]) for (*ends, path), variable in forwards.items() if tuple(ends) == key
        }
        kept = {path: value for path, value in found.items() if value > _DUST * rate_bps / self.unit}
        total = sum(kept.values())
        routes = (self._route(key[0], key[0], path, rate_bps * value / total) for path, value in kept.items())
        return Merge(*key, tuple(routes))

    def _route(self, sender: str, start: str, path: Path, rate_bps: float) -> Route:
        return route_of(self.network, sender, start, path, rate_bps)


class _Costs:
    """Cheapest ways to every receiver, at given prices of arcs."""

    def __init__(self, network: FlowNetwork, prices: dict[int, float]) -> None:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        self.network, self.prices = network, prices
        self.index = {name: place for place, name in enumerate(network.switches)}
        self.last = {server: prices.get(arc, 0.0) for server, arc in network.server_arcs.items()}
        self.goals = {name: place for place, name in enumerate((*network.aggregators, *self.last))}
        self.arc_of = dict[tuple[int, int], int]()
        cost = dict[tuple[int, int], float]()
        for arc, tail, head in self._inner():
            price = prices.get(arc, 0.0) + _TINY
            if price < cost.get((head, tail), float("inf")):
                cost[head, tail], self.arc_of[head, tail] = price, arc
        rows, columns = np.array(list(cost)).reshape(-1, 2).T
        graph = csr_array((list(cost.values()), (rows, columns)), shape=(len(self.index), len(self.index)))
        homes = [self.index[network.home.get(name, name)] for name in self.goals]
        found: tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]] = dijkstra(
            graph, indices=homes, return_predecessors=True
        )
        self.distances, self.before = found

    def _inner(self) -> Iterator[tuple[int, int, int]]:
        for number, arc in enumerate(self.network.arcs):
            if arc.head in self.index:
                yield number, self.index[arc.tail], self.index[arc.head]

    def of(self, switch: str, goal: str) -> float:
        return float(self.distances[self.goals[goal], self.index[switch]]) + self.last.get(goal, 0.0)

    def ways(self, switch: str, goal: str, most: float, turn: int = 0) -> list[Path]:
        """The cheapest way, and some of the shortest that cost less than `most`. Another `turn` gets other ways of
        those that cost the same, because a link that all sites got would be full at once."""
        shortest = self.network.paths(switch, goal)
        ranked = sorted(
            (sum(self.prices.get(arc, 0.0) for arc in path), (place - turn) % len(shortest), path)
            for place, path in enumerate(shortest)
        )
        return [self.path(switch, goal), *(path for cost, _, path in ranked[:_MORE] if cost < most)]

    def path(self, switch: str, goal: str) -> Path:
        """Backwards from the goal is how it was searched: each step leads from a switch to the one before."""
        here, end = self.index[switch], self.index[self.network.home.get(goal, goal)]
        path = []
        while here != end:
            nearer = int(self.before[self.goals[goal], here])
            path.append(self.arc_of[nearer, here])
            here = nearer
        return (*path, self.network.server_arcs[goal]) if goal in self.last else tuple(path)
