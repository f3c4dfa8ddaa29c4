"""GOAT: sub-models are placed on switches, within their memory, so that few packets cross the network.

    min sum_g b(g) (sum_w sum_s y[w,g,s] D_w(s) + sum_s x[g,s] D_s(PS))
    sum_s x[g,s] >= 1,  sum_s y[w,g,s] = 1,  y <= x,  sum_g x[g,s] b(g) <= B(s)

Fang et al., IWQoS 2023. Distances are links on a shortest way.

A Problem does not know sub-models and memory. So for a plan (D) the gradient is cut into as many equal sub-models as
switches aggregate, and each switch has room for one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from topologies.routing.gradients.decompose import route_of
from topologies.routing.gradients.linear import LinearProgram, NoSolution, Solution
from topologies.routing.gradients.network import FlowNetwork, network_of
from topologies.routing.gradients.plan import Merge, Route, RoutingPlan, Stream
from topologies.routing.gradients.problem import Infeasible, Problem

__all__ = ["GoatPlacement", "place_submodels", "plan_goat"]

_EXACT_CHOICES = 2_000
"""choices of (worker, sub-model, switch) up to which the integer program is solved; above, its relaxation is rounded"""
_MOST_CHOICES = 200_000


@dataclass(frozen=True, slots=True)
class GoatPlacement:
    owners: tuple[tuple[str, tuple[str, ...]], ...]
    """(sub-model, switches that aggregate it)"""
    sends: tuple[tuple[str, str, str], ...]
    """(worker, sub-model, switch, or the server where the rounding left it none)"""
    cost: float
    """bytes times links, as above"""
    network: FlowNetwork

    def packets(self) -> dict[str, float]:
        """What each switch sends on, in units of sub-model size 1: its own sums, and what it passes along."""
        (server,) = self.network.problem.servers
        sent: dict[str, float] = {}
        for worker, _, node in self.sends:
            self._walk(sent, self.network.home[worker], node)
        for _, switches in self.owners:
            for switch in switches:
                self._walk(sent, switch, server)
        return sent

    def _walk(self, sent: dict[str, float], start: str, end: str) -> None:
        for arc in self.network.path(start, end):
            tail = self.network.arcs[arc].tail
            sent[tail] = sent.get(tail, 0.0) + 1


def place_submodels(
    problem: Problem, sizes: Mapping[str, int], memory: Mapping[str, int], rng: np.random.Generator | None = None
) -> GoatPlacement:
    """`sizes`: bytes by sub-model; `memory`: bytes by switch. Without `rng` the integer program is solved. With it, its
    relaxation is rounded as in the paper: each sub-model draws its switches by their shares, among those with memory
    left.

    Raises Infeasible, naming the switches, where the sub-models do not fit."""
    network = network_of(problem)
    if len(problem.servers) != 1:
        raise ValueError("GOAT knows one server")
    (server,) = problem.servers
    away = {name: {other: float(hops) for other, hops in network.distances(name).items()} for name in network.switches}
    program = LinearProgram()
    whole = rng is None
    holds: dict[tuple[str, str], int] = {}
    picks: dict[tuple[str, str, str], int] = {}
    for g_index, (model, size) in enumerate(sizes.items()):
        for s_index, switch in enumerate(memory):
            # Of equally good placements the one in the order of both lists.
            order = 1e-6 * size * abs(g_index - s_index)
            cost = size * (away[switch][network.home[server]] + 1) + order
            holds[model, switch] = program.variable(cost, 1.0, whole=whole)
        for worker in problem.workers:
            for switch in memory:
                cost = size * (away[network.home[worker]][switch] + 1)
                picks[worker, model, switch] = program.variable(cost, 1.0, whole=whole)
                program.at_most([(picks[worker, model, switch], 1.0), (holds[model, switch], -1.0)], 0.0)
            program.equal([(picks[worker, model, switch], 1.0) for switch in memory], 1.0)
        program.at_least([(holds[model, switch], 1.0) for switch in memory], 1.0)
    for switch, size in memory.items():
        program.at_most([(holds[model, switch], float(sizes[model])) for model in sizes], float(size))
    try:
        solution = program.solve()
    except NoSolution:
        text = f"sub-models of {sum(sizes.values())} bytes do not fit the memory of {sum(memory.values())} bytes"
        raise Infeasible(text, tuple(memory)) from None
    if rng is None:
        owners = {g: tuple(s for s in memory if solution.values[holds[g, s]] > 0.5) for g in sizes}
    else:
        owners = _rounded(solution, holds, sizes, memory, rng)
    sends = {
        (worker, model): min(
            owners[model],
            key=lambda switch, worker=worker: away[network.home[worker]][switch],  # type: ignore[misc]
            default=server,
        )
        for worker in problem.workers
        for model in sizes
    }
    cost = sum(
        sizes[model] * (away[network.home[worker]].get(node, away[network.home[worker]][network.home[server]] + 1) + 1)
        for (worker, model), node in sends.items()
    ) + sum(sizes[model] * (away[s][network.home[server]] + 1) for model, found in owners.items() for s in found)
    return GoatPlacement(tuple(owners.items()), tuple((w, g, s) for (w, g), s in sends.items()), cost, network)


def plan_goat(problem: Problem, rng: np.random.Generator) -> RoutingPlan:
    """Every worker sends each sub-model to the switch that has it, along a shortest way, all as fast as links and
    switches allow. Raises ValueError where there is more than one server, and where the network is too large for the
    linear program."""
    network = network_of(problem)
    switches = network.aggregators
    models = [f"g{number}" for number in range(1, len(switches) + 1)]
    choices = len(problem.workers) * len(models) * len(switches)
    if choices > _MOST_CHOICES:
        raise ValueError(
            f"planner goat: {choices:,} choices of worker, sub-model and switch are too many (at most "
            f"{_MOST_CHOICES:,})"
        )
    exact = choices <= _EXACT_CHOICES
    placed = place_submodels(problem, dict.fromkeys(models, 1), dict.fromkeys(switches, 1), None if exact else rng)
    (server,) = problem.servers
    share = 1 / len(models)
    streams = [
        Stream(worker, server, node, (_way(network, worker, network.home[worker], node, share * count),))
        for (worker, node), count in Counter((worker, node) for worker, _, node in placed.sends).items()
    ]
    used = Counter(node for _, node in {(model, node) for _, model, node in placed.sends if node != server})
    merges = [
        Merge(switch, server, (_way(network, switch, switch, server, share * count),)) for switch, count in used.items()
    ]
    note = f"{len(models)} equal sub-models, {'exact' if exact else 'rounded'}"
    whole = RoutingPlan(problem, "goat", tuple(streams), tuple(merges), float("inf"), note=note)
    rate_bps = min(
        load.capacity_bps / load.load_bps for load in (*whole.link_loads, *whole.switch_loads) if load.load_bps > 0
    )
    return replace(
        whole,
        streams=tuple(replace(stream, routes=_faster(stream.routes, rate_bps)) for stream in streams),
        merges=tuple(replace(merge, routes=_faster(merge.routes, rate_bps)) for merge in merges),
    )


def _way(network: FlowNetwork, sender: str, start: str, end: str, rate: float) -> Route:
    return route_of(network, sender, start, network.path(start, end), rate)


def _faster(routes: tuple[Route, ...], factor: float) -> tuple[Route, ...]:
    return tuple(replace(route, rate_bps=route.rate_bps * factor) for route in routes)


def _rounded(
    solution: Solution,
    holds: Mapping[tuple[str, str], int],
    sizes: Mapping[str, int],
    memory: Mapping[str, int],
    rng: np.random.Generator,
) -> dict[str, tuple[str, ...]]:
    """Sub-models that find no memory any more have no switch: their workers send to the server."""
    left = dict(memory)
    owners: dict[str, tuple[str, ...]] = {}
    for model, size in sorted(sizes.items(), key=lambda item: -item[1]):
        shares = {switch: max(0.0, float(solution.values[holds[model, switch]])) for switch in memory}
        chosen: list[str] = []
        for _ in range(max(1, int(sum(shares.values()) + 1e-9))):
            fits = [switch for switch in memory if left[switch] >= size and switch not in chosen]
            weights = np.array([shares[switch] + 1e-12 for switch in fits])
            if fits:
                chosen.append(fits[int(rng.choice(len(fits), p=weights / weights.sum()))])
                left[chosen[-1]] -= size
        owners[model] = tuple(chosen)
    return {model: owners[model] for model in sizes}
