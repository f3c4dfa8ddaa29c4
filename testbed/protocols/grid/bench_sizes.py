"""Gradient routes at the sizes of GRID's paper: how planners compare, and how long they take."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from statistics import mean
from typing import TYPE_CHECKING, Any

from testbed.bench.swept import Say
from testbed.protocols.grid.bench_planned import FoundTable, Planned, generator, run_planned
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.terminal.numbers import seconds
from topologies import LinkShape, Topology, fat_tree, spine_leaf

if TYPE_CHECKING:
    from topologies.routing.gradients import Problem

__all__ = ["DRAWS", "FABRICS", "effort", "fabric_problem", "growth", "rate", "scale"]

DRAWS = 10
"""draws of switches, capacities and hosts, for each row of `scale`"""
_G = 1_000_000_000
_FABRIC_BPS = 100 * _G
_PROGRAMMABLE = 0.2
_LEAST_BPS, _MOST_BPS = 100 * _G, 3200 * _G
"""bounds of a programmable switch's capacity, uniform (GRID section 6: 20 % of the switches, 100 G to 3.2 T)"""
FABRICS: dict[str, Callable[[], Topology]] = {
    "fat tree 80/192": lambda: fat_tree(8, LinkShape(rate_bps=_FABRIC_BPS), hosts_per_edge=6),
    "leaf-spine 30+30/500": lambda: spine_leaf([17] * 20 + [16] * 10, 30, LinkShape(rate_bps=_FABRIC_BPS)),
}
_ORDER = ("grid", "atp", "switchml", "geryon")
_BOUND = "grid-lp"
_EQUAL = 1 + 1e-6


def fabric_problem(topology: Topology, workers: int, seed: int, share: float = _PROGRAMMABLE) -> Problem:
    """The first `workers` of hosts in a random order, so that more workers contain fewer; the same switches for all.
    `share`: of switches that can aggregate."""
    from topologies.routing.gradients import Problem

    rng = generator(seed)
    hosts = [str(name) for name in rng.permutation([host.name for host in topology.hosts])]
    switches = [switch.name for switch in topology.switches]
    chosen = rng.permutation(switches)[: max(1, round(share * len(switches)))]
    capacities = {str(name): float(rng.uniform(_LEAST_BPS, _MOST_BPS)) for name in chosen}
    return Problem.of(topology, (hosts[0],), capacities, tuple(hosts[1 : workers + 1]))


@cache
def _fabric(name: str) -> Topology:
    return FABRICS[name]()


@lru_cache(maxsize=1)
def _drawn(fabric: str, workers: int, seed: int) -> Problem:
    return fabric_problem(_fabric(fabric), workers, seed)


def rate(values: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Of the slowest worker."""
    from topologies.routing.gradients import make_plan

    problem = _drawn(values["fabric"], values["workers"], seed)
    return {"min_rate_bps": make_plan(problem, values["variant"], generator(1)).min_rate_bps}


def scale(
    say: Say, counts: Sequence[int] = (20, 40, 60, 80, 100), seeds: Sequence[int] = range(1, DRAWS + 1)
) -> FoundTable:
    """Rates of the slowest worker. The means over the seeds must be in order and fall: draws whose nearest switches
    take all have ATP and SwitchML alike."""
    title = f"Slowest worker, draws of switches, capacities and hosts; {_PROGRAMMABLE:.0%} of the switches aggregate"
    axes = {"fabric": tuple(FABRICS), "workers": tuple(counts)}
    table = Planned("plan-scale", title, rate, (_BOUND, *_ORDER), axes, ("min_rate_bps",), tuple(seeds))
    finished = run_planned(say, table)
    notes, missed = list[str](), list[str]()
    before: dict[tuple[str, str], float] = {}
    for (fabric, count), drawn in _by_place(finished).items():
        where = f"{fabric}, {count} workers"
        means = {planner: mean(rates) for planner, rates in drawn.items()}
        if not _ordered([means[planner] for planner in _ORDER]):
            missed.append(f"{where}: not in the order {' > '.join(_ORDER)}")
        for planner, value in means.items():
            if value > before.get((fabric, planner), float("inf")) * _EQUAL:
                missed.append(f"{where}: {planner} is faster than with fewer")
            before[fabric, planner] = value
        kept = sum(_ordered([drawn[planner][place] for planner in _ORDER]) for place in range(len(seeds)))
        told = ", ".join(f"{planner} {value / _G:.2f}" for planner, value in means.items())
        notes.append(f"{where}: means in Gbit/s: {told}; strictly in order: {kept} of {len(seeds)}")
    return FoundTable(finished, tuple(notes), tuple(missed))


def _by_place(finished: FinishedScenarios) -> dict[tuple[str, int], dict[str, list[float]]]:
    """(fabric, workers) -> planner -> rates, by seed."""
    found: dict[tuple[str, int], dict[str, list[float]]] = {}
    for point, outcome in zip(finished.points, finished.outcomes, strict=True):
        values = point.values
        planners = found.setdefault((values["fabric"], values["workers"]), {})
        planners.setdefault(values["variant"], []).append(float(outcome.figures["min_rate_bps"] or 0))
    return found


def _ordered(falling: Sequence[float]) -> bool:
    return all(more > less * _EQUAL for more, less in pairwise(falling))


_LEAVES = {32: 4, 125: 8, 250: 15, 375: 22, 500: 30}
"""hosts -> leaves, and spines"""
_MOST_S = 30.0
_GROWTH = ("geryon", "atp", "grid-lp", "grid")
"""planners; grid has one node per worker, its bound may split"""
_SHARES = (_PROGRAMMABLE, 1.0)


def effort(values: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Seconds per plan; all hosts but the server are workers, and a share of the switches aggregate."""
    from topologies.routing.gradients import make_plan

    hosts, share = values["hosts"], values["share"]
    leaves = _LEAVES[hosts]
    per_leaf = [hosts // leaves + (index < hosts % leaves) for index in range(leaves)]
    topology = spine_leaf(per_leaf, leaves, LinkShape(rate_bps=_FABRIC_BPS))
    problem = fabric_problem(topology, hosts - 1, seed, share)
    began, worked = time.perf_counter(), time.process_time()
    plan = make_plan(problem, values["variant"], generator(1))
    passed, taken = time.perf_counter() - began, time.process_time() - worked
    return {
        "cpu_s": taken, "wall_s": passed, "min_rate_bps": plan.min_rate_bps, "switches": 2 * leaves,
        "aggregating": len(problem.aggregators), "bound_bps": plan.bound_bps,
        "gap": 1 - plan.min_rate_bps / plan.bound_bps,
    }  # fmt: skip


def growth(say: Say, hosts: Sequence[int] = tuple(_LEAVES), shares: Sequence[float] = _SHARES) -> FoundTable:
    """Targets are for CPU time, which others on the machine leave alone."""
    table = Planned(
        "plan-growth", "Seconds to plan, by hosts and share of the switches that aggregate",
        effort,
        _GROWTH, {"share": shares, "hosts": hosts}, ("cpu_s", "wall_s", "min_rate_bps", "gap"),
    )  # fmt: skip
    finished = run_planned(say, table)
    missed = []
    for point, outcome in zip(finished.points, finished.outcomes, strict=True):
        values, taken = point.values, float(outcome.figures["cpu_s"] or 0)
        if taken > _MOST_S:
            counts = f"{outcome.figures['switches']} switches, {outcome.figures['aggregating']} of them sum"
            what = f"{values['hosts']} hosts, {counts}"
            missed.append(f"{what}: {values['variant']} took {seconds(taken)} of CPU")
    return FoundTable(finished, missed=tuple(missed))
