"""Gradient routes at the sizes of GRID's paper: how planners compare, and how long they take."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import mean, median
from typing import TYPE_CHECKING

from testbed.bench.gridtable import Say, Table, generator
from testbed.terminal.numbers import seconds
from topologies import LinkShape, Topology, fat_tree, spine_leaf

if TYPE_CHECKING:
    from topologies.routing.gradients import Problem

__all__ = ["DRAWS", "FABRICS", "fabric_problem", "growth", "scale"]

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


def scale(say: Say, counts: Sequence[int] = (20, 40, 60, 80, 100), seeds: Sequence[int] = range(1, DRAWS + 1)) -> Table:
    """Rates of the slowest worker: mean and median over the seeds, lowest and highest. The means must be in order and
    fall: draws whose nearest switches take all have ATP and SwitchML alike."""
    rows, missed = [], []
    for name, build in FABRICS.items():
        topology, before = build(), dict[str, float]()
        for count in counts:
            drawn: dict[str, list[float]] = {planner: [] for planner in (_BOUND, *_ORDER)}
            for seed in seeds:
                for planner, rate in _rates(fabric_problem(topology, count, seed)).items():
                    drawn[planner].append(rate)
                say(f"scale: {name}, {count} workers, seed {seed}")
            means = {planner: mean(rates) for planner, rates in drawn.items()}
            if not _ordered([means[planner] for planner in _ORDER]):
                missed.append(f"{name}, {count} workers: not in the order {' > '.join(_ORDER)}")
            rising = [planner for planner in means if means[planner] > before.get(planner, float("inf")) * _EQUAL]
            missed += [f"{name}, {count} workers: {planner} is faster than with fewer" for planner in rising]
            before = means
            kept = sum(_ordered([drawn[planner][place] for planner in _ORDER]) for place in range(len(seeds)))
            cells = [
                f"{means[planner]:.2f}, {median(rates):.2f} ({min(rates):.2f}-{max(rates):.2f})"
                for planner, rates in drawn.items()
            ]
            rows.append((name, str(count), *cells, f"{kept} of {len(seeds)}"))
    header = (
        "fabric",
        "workers",
        "GRID, split",
        "GRID",
        "ATP-like",
        "SwitchML-like",
        "Geryon-like",
        "strictly in order",
    )
    title = (
        f"Gbit/s of the slowest worker, mean, median (lowest-highest) of {len(seeds)} draws of switches, capacities "
        "and hosts; "
        f"{_PROGRAMMABLE:.0%} of the switches aggregate"
    )
    return Table(title, header, tuple(rows), tuple(missed))


def _rates(problem: Problem) -> dict[str, float]:
    from topologies.routing.gradients import make_plan

    return {planner: make_plan(problem, planner, generator(1)).min_rate_bps / _G for planner in (_BOUND, *_ORDER)}


def _ordered(falling: Sequence[float]) -> bool:
    return all(more > less * _EQUAL for more, less in pairwise(falling))


_SIZES = ((32, 4), (125, 8), (250, 15), (375, 22), (500, 30))
_MOST_S = 30.0
_GROWTH = ("geryon", "atp", "grid-lp", "grid")
"""planners; the last one's gap to its bound is reported, too"""
_SHARES = (_PROGRAMMABLE, 1.0)


def growth(say: Say, sizes: Sequence[tuple[int, int]] = _SIZES, shares: Sequence[float] = _SHARES) -> Table:
    """Seconds per plan; all hosts but the server are workers, and a share of the switches, then all, aggregate. Targets
    are for CPU time, which others on the machine leave alone."""
    from topologies.routing.gradients import make_plan

    rows, missed = [], []
    for share in shares:
        for hosts, leaves in sizes:
            per_leaf = [hosts // leaves + (index < hosts % leaves) for index in range(leaves)]
            topology = spine_leaf(per_leaf, leaves, LinkShape(rate_bps=_FABRIC_BPS))
            problem = fabric_problem(topology, hosts - 1, 1, share)
            what = f"{hosts} hosts, {2 * leaves} switches, {len(problem.aggregators)} of them sum"
            cells = []
            for planner in _GROWTH:
                began, worked = time.perf_counter(), time.process_time()
                plan = make_plan(problem, planner, generator(1))
                passed, taken = time.perf_counter() - began, time.process_time() - worked
                cells.append(f"{seconds(taken)} / {seconds(passed)} ({plan.min_rate_bps / _G:.3g})")
                if taken > _MOST_S:
                    missed.append(f"{what}: {planner} took {seconds(taken)} of CPU")
                say(f"growth: {what}, {planner}: {seconds(taken)}")
            notes = [f"{plan.bound_bps / _G:.3g}", f"{1 - plan.min_rate_bps / plan.bound_bps:.0%}"]
            rows.append((str(hosts), str(2 * leaves), str(len(problem.aggregators)), *cells, *notes))
    header = ("servers", "switches", "that sum", *_GROWTH, "LP bound", f"gap of {_GROWTH[-1]}")
    title = (
        "CPU seconds / seconds to plan (and Gbit/s of the slowest worker); grid has one node per worker, its bound may "
        "split"
    )
    return Table(title, header, tuple(rows), tuple(missed))
