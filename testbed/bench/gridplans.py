"""`tb bench grid --plan-only`: gradient routes, planned. How rates depend on capacities, how good rounding is; and, at
the sizes of GRID's paper, what `gridsizes` measures. Everything is drawn from fixed seeds; nothing is sent."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from statistics import mean, median
from typing import TYPE_CHECKING

from testbed.bench.gridsizes import DRAWS, growth, scale
from testbed.bench.gridslots import slots
from testbed.bench.gridtable import Say, Table, generator
from testbed.terminal.folding import fold_lines
from testbed.terminal.standard import print_document
from testbed.terminal.stream import columns
from testbed.terminal.tables import table_lines
from testbed.terminal.ticker import speak
from topologies import LinkShape, grid_triangle
from workloads.errors import ScenarioError

if TYPE_CHECKING:
    import numpy as np

    from topologies.routing.gradients import Problem

__all__ = ["TABLES", "random_problem", "rounding", "run_plans", "sensitivity"]

_G = 1_000_000_000
_CAPACITIES, _INGRESS = range(3, 13), range(6, 13)
"""Gbit/s, of the sensitivity table"""


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
                make_plan(problem, name, generator(1)).min_rate_bps / _G for name in ("grid-lp", "grid-exact")
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
    count("example, Eq. 1 (T = 3)", [(eq1_rounding(example, generator(1)), draws)])
    network = network_of(example)
    relaxed, _ = link_rounding(network, LinkAware(network).solve(), generator(1))
    count("example, links in view", [(relaxed, draws)])
    random, links = [], []
    for seed in range(topologies):
        problem = random_problem(generator(seed))
        network = network_of(problem)
        random.append((eq1_rounding(problem, generator(seed)), 5))
        links.append((link_rounding(network, LinkAware(network).solve(), generator(seed))[0], 5))
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


TABLES: dict[str, Callable[[Say, int], Table]] = {
    "sensitivity": lambda say, seeds: sensitivity(say),
    "rounding": lambda say, seeds: rounding(say),
    "scale": lambda say, seeds: scale(say, seeds=range(1, seeds + 1)),
    "slots": lambda say, seeds: slots(say),
    "growth": lambda say, seeds: growth(say),
}
"""tables by name: (where progress goes, draws of each row where rows are drawn) -> table"""


def run_plans(names: str, *, as_json: bool = False, seeds: int | None = None) -> int:
    """`names`: tables by name, with commas, or `all`; `seeds`: draws of each row of `scale`. Prints them. Returns 0
    when all expectations hold, else 1. Raises ScenarioError for names of no table, and for seeds that no table has a
    use for."""
    chosen = list(TABLES) if names == "all" else names.split(",")
    for name in chosen:
        if name not in TABLES:
            raise ScenarioError(
                "no such table", file="tb bench grid", key="--plan-only", found=f"'{name}'",
                allowed=f"all, {', '.join(TABLES)}"
            )  # fmt: skip
    if seeds is not None and "scale" not in chosen:
        raise ScenarioError("only the table scale is drawn that often", file="tb bench grid", key="--seeds")
    draws = DRAWS if seeds is None else seeds
    tables = [TABLES[name](speak, draws) for name in chosen]
    if as_json:
        print_document(json.dumps([asdict(table) for table in tables], indent=1))
    else:
        width = columns(sys.stdout)
        print("\n".join(fold_lines((line for table in tables for line in _lines(table, width)), width)))
    return 1 if any(table.missed for table in tables) else 0


def _lines(table: Table, width: int) -> Iterator[str]:
    yield table.title
    yield from table_lines(table.header, table.rows, width, text=())
    for text in table.missed:
        yield f"  MISSED: {text}"
    yield ""
