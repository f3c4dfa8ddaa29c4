"""`tb bench grid --plan-only`: gradient routes, planned. How rates depend on capacities, how good rounding is; and, at
the sizes of GRID's paper, what `gridsizes` measures. Everything is drawn from fixed seeds; nothing is sent."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from testbed.bench.swept import Say
from testbed.protocols.grid.bench_planned import FoundTable, Planned, generator, run_planned
from testbed.protocols.grid.bench_sizes import DRAWS, growth, scale
from testbed.protocols.grid.bench_slots import slots
from testbed.sweeps.scenario_report import scenario_document, scenario_summary
from testbed.terminal.folding import fold_lines
from testbed.terminal.standard import print_document
from testbed.terminal.stream import columns
from testbed.terminal.ticker import speak
from topologies import LinkShape, grid_triangle
from workloads.errors import ScenarioError

if TYPE_CHECKING:
    import numpy as np

    from topologies.routing.gradients import Problem
    from topologies.routing.gradients.rounding import RateRounding

__all__ = ["TABLES", "drawn", "random_problem", "rounding", "run_plans", "sensitivity", "smallest_rate"]

_G = 1_000_000_000
_CAPACITIES, _INGRESS = range(3, 13), range(6, 13)
"""Gbit/s, of the sensitivity table"""


def smallest_rate(values: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Of the example."""
    from topologies.routing.gradients import Problem, make_plan

    network = grid_triangle(LinkShape(rate_bps=3 * _G), LinkShape(rate_bps=values["server Gbps"] * _G))
    problem = Problem.of(network, ("ps",), float(values["switch Gbps"] * _G))
    return {"min_rate_bps": make_plan(problem, values["variant"], generator(seed)).min_rate_bps}


def sensitivity(say: Say) -> FoundTable:
    """Smallest rate of the example, split (grid-lp) and with one node each (grid-exact), by the capacity of switches
    and the rate of the server's link."""
    table = Planned(
        "plan-sensitivity", "grid-triangle: the slowest worker by capacities; grid-lp may split, grid-exact may not",
        smallest_rate, ("grid-lp", "grid-exact"),
        {"switch Gbps": tuple(_CAPACITIES), "server Gbps": tuple(_INGRESS)}, ("min_rate_bps",),
    )  # fmt: skip
    finished, missed = run_planned(say, table), list[str]()
    found: dict[tuple[str, int, int], float] = {}
    for point, outcome in zip(finished.points, finished.outcomes, strict=True):
        place = str(point.values["variant"]), point.values["switch Gbps"], point.values["server Gbps"]
        found[place] = float(outcome.figures["min_rate_bps"] or 0)
    for (planner, capacity, server), rate in found.items():
        if planner == "grid-exact" and rate > found["grid-lp", capacity, server] * (1 + 1e-6):
            missed.append(f"capacity {capacity}, ingress {server}: one node each beats split")
        if planner == "grid-lp" and rate < found.get((planner, capacity - 1, server), 0.0) * (1 - 1e-6):
            missed.append(f"capacity {capacity}, ingress {server}: more capacity, less rate")
    return FoundTable(finished, missed=tuple(missed))


_DRAWS, _TOPOLOGIES, _DRAWS_EACH = 20_000, 200, 5
_EXAMPLE_EQ1, _EXAMPLE_LINKS = "example, Eq. 1 (T = 3)", "example, links in view"
_RANDOM_EQ1, _RANDOM_LINKS = "random, Eq. 1", "random, links in view"


def drawn(values: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Draws that are feasible before and after repair, and gaps to the bound of the linear program, over all draws."""
    from topologies.routing.gradients import Problem

    what, draws, gaps, scaled = str(values["variant"]), values["draws"], list[float](), list[float]()
    feasible, good, worst = 0, 0, 0.0
    if what in (_EXAMPLE_EQ1, _EXAMPLE_LINKS):
        problems, each = [(Problem.of(grid_triangle(LinkShape(rate_bps=3 * _G)), ("ps",), 9.0 * _G), seed)], draws
    else:
        problems, each = [(random_problem(generator(n)), n) for n in range(draws // _DRAWS_EACH)], _DRAWS_EACH
    for problem, drawn_from in problems:
        one = _rounding(problem, what, drawn_from)
        for _ in range(each):
            found = one.repaired(one.draw())
            feasible += found.feasible
            loads = one.choices.loads(found.assignment) * found.rate_bps
            good += bool((loads <= one.choices.capacity_bps * (1 + 1e-9)).all())
            gaps.append(1 - found.rate_bps / one.bound_bps)
            scaled.append(1 - found.drawn_bps / one.bound_bps)
            worst = max(worst, found.violation)
    return {
        "feasible": feasible, "violation.worst": worst, "gap.scaled": median(scaled), "repaired": good,
        "gap.median": median(gaps), "gap.mean": mean(gaps), "gap.worst": max(gaps),
    }  # fmt: skip


def _rounding(problem: Problem, what: str, seed: int) -> RateRounding:
    from topologies.routing.gradients.grid import eq1_rounding, link_rounding
    from topologies.routing.gradients.linkaware import LinkAware
    from topologies.routing.gradients.network import network_of

    if what in (_EXAMPLE_EQ1, _RANDOM_EQ1):
        return eq1_rounding(problem, generator(seed))
    network = network_of(problem)
    return link_rounding(network, LinkAware(network).solve(), generator(seed))[0]


def rounding(say: Say, draws: int = _DRAWS, topologies: int = _TOPOLOGIES) -> list[FoundTable]:
    """Feasibility before and after repair, and the distance to the bound of the linear program."""
    return [
        _rounded(say, "plan-rounding", (_EXAMPLE_EQ1, _EXAMPLE_LINKS), draws),
        _rounded(say, "plan-rounding-random", (_RANDOM_EQ1, _RANDOM_LINKS), topologies * _DRAWS_EACH),
    ]


def _rounded(say: Say, name: str, variants: tuple[str, ...], draws: int) -> FoundTable:
    table = Planned(
        name, "Randomised rounding: each draw repaired; gaps to the linear program", drawn,
        variants, {"draws": (draws,)},
        ("feasible", "repaired", "gap.scaled", "gap.median", "gap.mean", "gap.worst", "violation.worst"),
    )  # fmt: skip
    finished = run_planned(say, table)
    missed = [
        f"{point.values['variant']}: {draws - int(outcome.figures['repaired'] or 0)} of {draws} infeasible after repair"
        for point, outcome in zip(finished.points, finished.outcomes, strict=True)
        if outcome.figures["repaired"] != draws
    ]
    return FoundTable(finished, missed=tuple(missed))


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


TABLES: dict[str, Callable[[Say, int], list[FoundTable]]] = {
    "sensitivity": lambda say, seeds: [sensitivity(say)],
    "rounding": lambda say, seeds: rounding(say),
    "scale": lambda say, seeds: [scale(say, seeds=range(1, seeds + 1))],
    "slots": lambda say, seeds: [slots(say)],
    "growth": lambda say, seeds: [growth(say)],
}
"""tables by name: (where progress goes, draws of each row where rows are drawn) -> what was found"""


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
    found = [table for name in chosen for table in TABLES[name](speak, DRAWS if seeds is None else seeds)]
    if as_json:
        documents = [
            scenario_document(table.finished) | {"notes": table.notes, "missed": table.missed} for table in found
        ]
        print_document(json.dumps(documents, indent=1))
    else:
        width = columns(sys.stdout)
        print("\n".join(fold_lines((line for table in found for line in _lines(table, width)), width)))
    return 1 if any(table.missed for table in found) else 0


def _lines(table: FoundTable, width: int) -> Iterator[str]:
    yield table.finished.sweep.description
    yield from scenario_summary(table.finished, width)
    yield from table.notes
    for text in table.missed:
        yield f"  MISSED: {text}"
    yield ""
