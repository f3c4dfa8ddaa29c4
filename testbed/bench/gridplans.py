"""`tb bench grid --plan-only`: gradient routes, planned. How rates depend on capacities, how good rounding is, how planning time
grows, how planners compare at the sizes of GRID's paper. Everything is drawn from fixed seeds; nothing is sent."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import mean, median
from typing import TYPE_CHECKING

from topologies import LinkShape, Topology, fat_tree, grid_triangle, spine_leaf
from workloads.errors import ScenarioError

if TYPE_CHECKING:
    import numpy as np

    from topologies.routing.gradients import Problem

__all__ = ["TABLES", "Table", "run_plans"]

Say = Callable[[str], None]
_G = 1_000_000_000
_FABRIC_BPS = 100 * _G
_PROGRAMMABLE = 0.2
_CAPACITIES, _INGRESS = range(3, 13), range(6, 13)
"""Gbit/s, of the sensitivity table"""
_LEAST_BPS, _MOST_BPS = 100 * _G, 3200 * _G
"""of a programmable switch's capacity, uniform (GRID section 6: 20 % of the switches, 100 G to 3.2 T)"""


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    missed: tuple[str, ...] = ()
    """what should hold and does not"""


def sensitivity(say: Say) -> Table:
    """Smallest rate of the example, split / one node each, by switch capacity and the rate of the server's link."""
    from topologies.routing.gradients import Problem, make_plan

    rows, missed = [], []
    before: list[float] | None = None
    for capacity in _CAPACITIES:
        split = []
        cells = []
        for server in _INGRESS:
            shape = LinkShape(rate_bps=3 * _G)
            network = grid_triangle(shape, LinkShape(rate_bps=server * _G))
            problem = Problem.of(network, ("ps",), float(capacity * _G))
            loose, whole = (
                make_plan(problem, name, _generator(1)).min_rate_bps / _G for name in ("grid-lp", "grid-exact")
            )
            split.append(loose)
            cells.append(f"{loose:.4g} / {whole:.4g}")
            if whole > loose * (1 + 1e-6):
                missed.append(f"capacity {capacity}, ingress {server}: one node each beats split")
        if any(now < then * (1 - 1e-6) for now, then in zip(split, before or split, strict=True)):
            missed.append(f"capacity {capacity}: more capacity, less rate")
        before = split
        rows.append((str(capacity), *cells))
        say(f"sensitivity: switch capacity {capacity}")
    header = ("switch Gbps", *(f"PS {server}" for server in _INGRESS))
    return Table(
        "grid-triangle, Gbit/s of the slowest worker: split / one node each", header, tuple(rows), tuple(missed)
    )


def rounding(say: Say, draws: int = 20_000, topologies: int = 200) -> Table:
    """Feasibility before and after repair, and the distance to the bound of the linear program."""
    from topologies.routing.gradients import Problem
    from topologies.routing.gradients.grid import eq1_rounding, link_rounding
    from topologies.routing.gradients.linkaware import LinkAware
    from topologies.routing.gradients.network import network_of
    from topologies.routing.gradients.rounding import Rounding

    rows, missed = [], []

    def count(what: str, parts: Sequence[tuple[Rounding, int]]) -> None:
        feasible = good = total = 0
        gaps, drawn, worst = [], [], 0.0
        for one, number in parts:
            for _ in range(number):
                found = one.repaired(one.draw())
                total += 1
                feasible += found.feasible
                loads = one.choices.loads(found.assignment) * found.rate_bps
                good += bool((loads <= one.choices.capacity_bps * (1 + 1e-9)).all())
                gaps.append(1 - found.rate_bps / one.bound_bps)
                drawn.append(1 - found.drawn_bps / one.bound_bps)
                worst = max(worst, found.violation)
        rows.append(
            (what, str(total), str(feasible), f"{worst:.2f}x", f"{median(drawn):.1%}", str(good), f"{median(gaps):.2%}",
             f"{mean(gaps):.2%}", f"{max(gaps):.2%}")
        )  # fmt: skip
        if good != total:
            missed.append(f"{what}: {total - good} of {total} infeasible after repair")
        say(f"rounding: {what} done")

    example = Problem.of(grid_triangle(LinkShape(rate_bps=3 * _G)), ("ps",), 9.0 * _G)
    count("example, Eq. 1 (T = 3)", [(eq1_rounding(example, _generator(1)), draws)])
    network = network_of(example)
    relaxed, _ = link_rounding(network, LinkAware(network).solve(), _generator(1))
    count("example, links in view", [(relaxed, draws)])
    random, links = [], []
    for seed in range(topologies):
        problem = random_problem(_generator(seed))
        network = network_of(problem)
        random.append((eq1_rounding(problem, _generator(seed)), 5))
        links.append((link_rounding(network, LinkAware(network).solve(), _generator(seed))[0], 5))
    count(f"{topologies} random, Eq. 1", random)
    count(f"{topologies} random, links in view", links)
    header = ("what", "draws", "feasible", "worst", "gap scaled", "repaired ok", "gap median", "mean", "worst gap")
    return Table(
        "randomised rounding: each draw repaired; gaps to the linear program", header, tuple(rows), tuple(missed)
    )


def random_problem(rng: np.random.Generator) -> Problem:
    """3 to 6 switches, a tree and some chords; 4 to 10 workers."""
    from topologies import Cable, assemble, host, switch
    from topologies.routing.gradients import Problem

    switches = [f"s{number}" for number in range(1, int(rng.integers(3, 7)) + 1)]
    hosts = [host(number) for number in range(1, int(rng.integers(4, 11)) + 2)]
    pairs = {(f"s{int(rng.integers(1, number))}", f"s{number}") for number in range(2, len(switches) + 1)}
    for _ in range(int(rng.integers(0, len(switches)))):
        a, b = sorted(rng.choice(len(switches), 2, replace=False).tolist())
        pairs.add((switches[a], switches[b]))

    def shape() -> LinkShape:
        return LinkShape(rate_bps=int(rng.integers(1, 11)) * _G)

    cables = [Cable(node.name, str(rng.choice(switches)), shape()) for node in hosts]
    cables += [Cable(a, b, shape()) for a, b in sorted(pairs)]
    capacities = {name: float(rng.integers(0, 13)) * _G for name in switches}
    capacities[switches[0]] += _G
    topology = assemble("random", [*hosts, *map(switch, switches)], cables)
    return Problem.of(topology, (hosts[-1].name,), capacities)


def _generator(seed: int) -> np.random.Generator:
    import numpy as np

    return np.random.default_rng(seed)


_FABRICS: dict[str, Callable[[], Topology]] = {
    "fat tree 80/192": lambda: fat_tree(8, LinkShape(rate_bps=_FABRIC_BPS), hosts_per_edge=6),
    "leaf-spine 30+30/500": lambda: spine_leaf([17] * 20 + [16] * 10, 30, LinkShape(rate_bps=_FABRIC_BPS)),
}


def fabric_problem(topology: Topology, workers: int, seed: int) -> Problem:
    """The first `workers` of hosts in a random order, so that more workers contain fewer; the same switches for all."""
    from topologies.routing.gradients import Problem

    rng = _generator(seed)
    hosts = [str(name) for name in rng.permutation([host.name for host in topology.hosts])]
    switches = [switch.name for switch in topology.switches]
    chosen = rng.permutation(switches)[: max(1, round(_PROGRAMMABLE * len(switches)))]
    capacities = {str(name): float(rng.uniform(_LEAST_BPS, _MOST_BPS)) for name in chosen}
    return Problem.of(topology, (hosts[0],), capacities, tuple(hosts[1 : workers + 1]))


_ORDER = ("grid", "atp", "switchml", "geryon")
_BOUND = "grid-lp"


def scale(say: Say, counts: Sequence[int] = (20, 40, 60, 80, 100), seeds: Sequence[int] = (1, 2)) -> Table:
    """Rates of the slowest worker, mean over the seeds."""
    from topologies.routing.gradients import make_plan

    rows, missed = [], []
    for name, build in _FABRICS.items():
        topology, before = build(), dict[str, float]()
        for count in counts:
            problems = [fabric_problem(topology, count, seed) for seed in seeds]
            rates = {
                planner: mean(make_plan(problem, planner, _generator(1)).min_rate_bps for problem in problems) / _G
                for planner in (_BOUND, *_ORDER)
            }
            values = [rates[planner] for planner in _ORDER]
            if any(more <= less * (1 + 1e-6) for more, less in pairwise(values)):
                missed.append(f"{name}, {count} workers: not in the order {' > '.join(_ORDER)}")
            rising = [planner for planner in rates if rates[planner] > before.get(planner, float("inf")) * (1 + 1e-6)]
            missed += [f"{name}, {count} workers: {planner} is faster than with fewer" for planner in rising]
            before = rates
            rows.append((name, str(count), *(f"{value:.3f}" for value in rates.values())))
            say(f"scale: {name}, {count} workers")
    header = ("fabric", "workers", "GRID, split", "GRID", "ATP-like", "SwitchML-like", "Geryon-like")
    title = f"Gbit/s of the slowest worker, mean of {len(seeds)} draws of switches, capacities and hosts"
    return Table(title, header, tuple(rows), tuple(missed))


_SIZES = ((32, 4), (125, 8), (250, 15), (375, 22), (500, 30))
_MOST_S = 30.0


def growth(say: Say, sizes: Sequence[tuple[int, int]] = _SIZES) -> Table:
    """Seconds per plan; all hosts but the server are workers. Targets are for CPU time, which others on the machine leave alone."""
    from topologies.routing.gradients import make_plan

    rows, missed = [], []
    for hosts, leaves in sizes:
        per_leaf = [hosts // leaves + (index < hosts % leaves) for index in range(leaves)]
        problem = fabric_problem(spine_leaf(per_leaf, leaves, LinkShape(rate_bps=_FABRIC_BPS)), hosts - 1, 1)
        cells = []
        for planner in ("geryon", "atp", "grid-lp", "grid"):
            began, worked = time.perf_counter(), time.process_time()
            plan = make_plan(problem, planner, _generator(1))
            passed, taken = time.perf_counter() - began, time.process_time() - worked
            cells.append(f"{taken:.2f} s / {passed:.2f} s ({plan.min_rate_bps / _G:.3g})")
            if taken > _MOST_S:
                missed.append(f"{hosts} hosts, {2 * leaves} switches: {planner} took {taken:.1f} s of CPU")
            say(f"growth: {hosts} hosts, {planner}: {taken:.2f} s")
        rows.append((str(hosts), str(2 * leaves), str(len(problem.aggregators)), *cells))
    header = ("servers", "switches", "that sum", "geryon", "atp", "grid-lp", "grid")
    return Table("CPU seconds / seconds to plan (and Gbit/s of the slowest worker)", header, tuple(rows), tuple(missed))


TABLES: dict[str, Callable[[Say], Table]] = {
    "sensitivity": sensitivity,
    "rounding": rounding,
    "scale": scale,
    "growth": growth,
}


def run_plans(names: str, *, as_json: bool = False) -> int:
    """`names`: tables by name, with commas, or `all`. Prints them; 0 when all that should hold does, else 1."""
    chosen = list(TABLES) if names == "all" else names.split(",")
    for name in chosen:
        if name not in TABLES:
            raise ScenarioError(
                "no such table", file="tb bench grid", key="--plan-only", found=f"'{name}'", allowed=f"all, {', '.join(TABLES)}"
            )  # fmt: skip
    tables = [TABLES[name](lambda text: print(text, file=sys.stderr, flush=True)) for name in chosen]
    if as_json:
        print(json.dumps([asdict(table) for table in tables], indent=1))
    else:
        print("\n".join(line for table in tables for line in _lines(table)))
    return 1 if any(table.missed for table in tables) else 0


def _lines(table: Table) -> Iterator[str]:
    yield table.title
    rows = [table.header, *table.rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.header))]
    for row in rows:
        yield "  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
    for text in table.missed:
        yield f"  MISSED: {text}"
    yield ""
