"""The link-aware program: which node aggregates how much of whose gradient, and along which arcs, so that the slowest
worker is as fast as possible. Linear when gradients may be split, mixed-integer when each has one node and one way.

    max r    sum_n x[w,n] = r,  x[w,s] <= y[s],  sum_w x[w,s] <= C_s,  flows within the links

Workers of a site (`network.Site`) are one: the average of an optimal plan over their permutations is optimal too. Flows
are kept per receiver: a flow to one receiver falls apart into paths from its senders, and only its sums load the links.
In the integer form everything is counted in units of r, and 1/r is minimised, which is linear again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from topologies.routing.gradients.decompose import Share, routes_of
from topologies.routing.gradients.linear import LinearProgram, Solution
from topologies.routing.gradients.network import FlowNetwork, Site
from topologies.routing.gradients.plan import Merge, Stream

__all__ = ["Allowed", "LinkAware", "Optimum"]

Allowed = Callable[[Site, str, str], bool]
"""(site, node, server) -> whether workers of the site may send the server's share to that node"""

_KEEP = 1 - 1e-9
"""share of the optimal rate, while the second aim is pursued"""

_SWEPT = 1e-7
"""share of a worker's rate"""


@dataclass(frozen=True, slots=True)
class Optimum:
    rate_bps: float
    """rate of each worker, to all servers together"""
    streams: tuple[Stream, ...]
    merges: tuple[Merge, ...]
    binds: tuple[str, ...]
    """arcs and switches with a price: with more of any of them the rate would be higher (of the linear form)"""
    proved: bool = True


@dataclass
class LinkAware:
    network: FlowNetwork
    allowed: Allowed = lambda site, node, server: True
    whole: bool = False
    """each worker has one node and one way; all servers get equal shares"""
    one_node: bool = False
    """each worker has one node per server, but ways may be split and shares may differ; sites must be single workers"""
    time_limit_s: float | None = None

    program: LinearProgram = field(init=False, default_factory=LinearProgram)
    _sends: dict[tuple[int, str, str], int] = field(init=False, default_factory=dict)
    """(site, node, server) -> x, per worker (linear form) or in workers (integer form)"""
    _merged: dict[tuple[str, str], int] = field(init=False, default_factory=dict)
    _flows: dict[str, dict[int, int]] = field(init=False, default_factory=dict)
    """receiver -> arc -> variable"""
    _picks: list[int] = field(init=False, default_factory=list)
    """variables of `one_node`: whether a worker uses a node"""
    _names: dict[int, str] = field(init=False, default_factory=dict)
    """row -> what it is the capacity of"""

    def __post_init__(self) -> None:
        problem = self.network.problem
        self._unit = max(self.network.arcs[arc].capacity_bps for arc in self.network.server_arcs.values())
        if self.whole:
            self._time = self.program.variable()
        else:
            self._rates = {server: self.program.variable() for server in problem.servers}
        self._add_sends()
        self._add_flows()
        self._add_capacities()

    def bound_bps(self) -> tuple[float, tuple[str, ...]]:
        """(smallest rate, what binds) without any routes: one program only, of the linear form."""
        solution = self._fastest()
        rate = sum(solution.values[variable] for variable in self._rates.values())
        return float(rate) * self._unit, self._binding(solution)

    def solve(self) -> Optimum:
        """Of all fastest plans one that loads the links least; workers that come first stay nearer. Raises
        NoSolution."""
        first = self._fastest()
        self.program.forget_costs()
        if self.whole:
            self.program.at_most([(self._time, 1.0)], first.values[self._time] / _KEEP)
        else:
            for variable in self._rates.values():
                self.program.at_least([(variable, 1.0)], first.values[variable] * _KEEP)
        for pick in self._picks:
            # The nodes stay: to choose among equally fast sets of them would take far longer than to find one.
            self.program.equal([(pick, 1.0)], float(round(first.values[pick])))
        for arcs in self._flows.values():
            for variable in arcs.values():
                self.program.price(variable, 1.0)
        solution = self.program.solve(time_limit_s=self.time_limit_s)
        return self._optimum(first, solution)

    def _fastest(self) -> Solution:
        if self.whole:
            self.program.price(self._time, 1.0)
        else:
            for variable in self._rates.values():
                self.program.price(variable, -1.0)
        return self.program.solve(time_limit_s=self.time_limit_s)

    def _add_sends(self) -> None:
        problem = self.network.problem
        for index, site in enumerate(self.network.sites):
            count = len(site.workers)
            if self.one_node and count != 1:
                raise ValueError("a site of several workers cannot choose for each")
            for server in problem.servers:
                nodes = [n for n in (*self.network.aggregators, server) if self.allowed(site, n, server)]
                chosen = {}
                for node in nodes:
                    x = self.program.variable(most=count if self.whole else float("inf"), whole=self.whole)
                    self._sends[index, node, server] = chosen[node] = x
                    if node != server:
                        y = self._merge(node, server)
                        # In the integer form y is 0 or 1, and any worker of the site opens the switch.
                        self.program.at_most([(x, 1.0), (y, -float(count) if self.whole else -1.0)], 0.0)
                if self.whole:
                    self.program.equal([(x, 1.0) for x in chosen.values()], count)
                else:
                    self.program.equal([*((x, 1.0) for x in chosen.values()), (self._rates[server], -1.0)], 0.0)
                if self.one_node:
                    picks = [self.program.variable(most=1, whole=True) for _ in chosen]
                    self._picks += picks
                    self.program.equal([(pick, 1.0) for pick in picks], 1)
                    for x, pick in zip(chosen.values(), picks, strict=True):
                        self.program.at_most([(x, 1.0), (pick, -site.access_bps / self._unit)], 0.0)

    def _merge(self, switch: str, server: str) -> int:
        if (switch, server) not in self._merged:
            most = 1.0 if self.whole else float("inf")
            self._merged[switch, server] = self.program.variable(most=most, whole=self.whole)
        return self._merged[switch, server]

    def _supplies(self, receiver: str) -> Iterator[tuple[str, int, float]]:
        """(switch where it enters, variable, how many of it) of all that is sent to `receiver`."""
        for (index, node, _), x in self._sends.items():
            if node == receiver:
                site = self.network.sites[index]
                yield site.switch, x, 1.0 if self.whole else float(len(site.workers))
        for (switch, server), y in self._merged.items():
            if server == receiver:
                yield switch, y, 1.0

    def _add_flows(self) -> None:
        """One flow per receiver, conserved at every switch but the receiver itself."""
        network, servers = self.network, self.network.problem.servers
        for receiver in (*dict.fromkeys(switch for switch, _ in self._merged), *servers):
            last = network.server_arcs.get(receiver)
            flows = {
                index: self.program.variable(whole=self.whole)
                for index, arc in enumerate(network.arcs)
                if (index == last or arc.head not in servers) and arc.tail != receiver
            }
            self._flows[receiver] = flows
            balance: dict[str, list[tuple[int, float]]] = {name: [] for name in network.switches if name != receiver}
            for index, variable in flows.items():
                arc = network.arcs[index]
                if arc.tail in balance:
                    balance[arc.tail].append((variable, 1.0))
                if arc.head in balance:
                    balance[arc.head].append((variable, -1.0))
            for switch, variable, count in self._supplies(receiver):
                if switch in balance:
                    balance[switch].append((variable, -count))
            for terms in balance.values():
                self.program.equal(terms, 0.0)

    def _limit(self, name: str, terms: list[tuple[int, float]], capacity_bps: float) -> None:
        capacity = capacity_bps / self._unit
        if self.whole:
            row = self.program.at_most([*terms, (self._time, -capacity)], 0.0)
        else:
            row = self.program.at_most(terms, capacity)
        self._names[row] = name

    def _add_capacities(self) -> None:
        problem, network = self.network.problem, self.network
        for switch in dict.fromkeys(switch for switch, _ in self._merged):
            terms = [
                (x, 1.0 if self.whole else float(len(network.sites[index].workers)))
                for (index, node, _), x in self._sends.items()
                if node == switch
            ]
            self._limit(switch, terms, problem.capacity_bps(switch))
        slowest = min(network.sites, key=lambda site: site.access_bps)
        name = f"{slowest.workers[0]}->{slowest.switch}"
        if self.whole:
            # The time itself: a worker's whole stream, one share per server, crosses its own link.
            self._names[
                self.program.at_most([(self._time, -slowest.access_bps / self._unit)], -len(problem.servers))
            ] = name
        else:
            self._limit(name, [(rate, 1.0) for rate in self._rates.values()], slowest.access_bps)
        for index, arc in enumerate(network.arcs):
            terms = [(flows[index], 1.0) for flows in self._flows.values() if index in flows]
            if terms:
                self._limit(arc.name, terms, arc.capacity_bps)

    def _binding(self, solution: Solution) -> tuple[str, ...]:
        return tuple(name for row, name in self._names.items() if abs(solution.prices[row]) > 1e-9)

    def _optimum(self, first: Solution, solution: Solution) -> Optimum:
        if self.whole:
            unit = self._unit / float(first.values[self._time])
            rate = unit * len(self.network.problem.servers)
            values = [round(value) * unit for value in solution.values]
        else:
            unit = self._unit / _KEEP
            rate = float(sum(solution.values[variable] for variable in self._rates.values())) * unit
            values = [max(0.0, float(value)) * unit for value in solution.values]
            self._sweep(values)
        shares = self._shares(values, unit)
        merged: dict[tuple[str, str], float] = {}
        for worker_share, node, server in shares:
            if node != server:
                merged[node, server] = max(merged.get((node, server), 0.0), worker_share.rate_bps)
        streams: list[Stream] = []
        merges: list[Merge] = []
        for receiver, arcs in self._flows.items():
            flow = {arc: values[variable] for arc, variable in arcs.items()}
            mine = [(share, server) for share, node, server in shares if node == receiver]
            aggregates = [Share(s, s, rate) for (s, server), rate in merged.items() if server == receiver]
            routes = routes_of(self.network, receiver, flow, [share for share, _ in mine] + aggregates)
            streams += [
                Stream(share.sender, server, receiver, ways)
                for (share, server), ways in zip(mine, routes, strict=False)
                if ways
            ]
            merges += [
                Merge(share.sender, receiver, ways)
                for share, ways in zip(aggregates, routes[len(mine) :], strict=True)
                if ways
            ]
        order = {worker: rank for rank, worker in enumerate(self.network.problem.workers)}
        streams.sort(key=lambda stream: order[stream.worker])
        return Optimum(rate, tuple(streams), tuple(merges), self._binding(first), first.proved)

    def _sweep(self, values: list[float]) -> None:
        """Shares so small that they are the solver's tolerance go to the other shares of the same workers. A server
        whose whole share is as small gets nothing."""
        groups: dict[tuple[int, str], list[int]] = {}
        for (index, _, server), x in self._sends.items():
            groups.setdefault((index, server), []).append(x)
        each = sum(values[rate] for rate in self._rates.values())
        for variables in groups.values():
            total = sum(values[x] for x in variables)
            if total <= _SWEPT * each:
                for x in variables:
                    values[x] = 0.0
                continue
            for x in variables:
                if values[x] < _SWEPT * total:
                    values[x] = 0.0
            kept = sum(values[x] for x in variables)
            for x in variables:
                values[x] *= total / kept

    def _shares(self, values: list[float], unit: float) -> list[tuple[Share, str, str]]:
        """(what a worker sends, node, server). In the integer form the first workers of a site have the nearest
        nodes."""
        found: list[tuple[Share, str, str]] = []
        taken: dict[tuple[int, str], int] = {}
        away = [self.network.distances(site.switch) for site in self.network.sites]

        def nearness(key: tuple[int, str, str]) -> tuple[int, str, int]:
            index, node, server = key
            home = self.network.home.get(node, node)
            return index, server, away[index].get(home, len(self.network.switches)) + (node == server)

        for index, node, server in sorted(self._sends, key=nearness):
            site, rate = self.network.sites[index], values[self._sends[index, node, server]]
            workers = site.workers
            if self.whole:
                first = taken.get((index, server), 0)
                taken[index, server] = first + round(rate / unit)
                workers, rate = workers[first : taken[index, server]], unit
            found += [(Share(worker, site.switch, rate), node, server) for worker in workers]
        return found
