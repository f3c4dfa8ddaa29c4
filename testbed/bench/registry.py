"""Benches by name, and the command's engine."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from testbed.bench.allreduce import bench_allreduce
from testbed.bench.fabric import bench_fabric
from testbed.bench.grid import bench_grid
from testbed.bench.hierarchical import bench_hierarchical
from testbed.bench.rows import Row, as_documents
from workloads.errors import ScenarioError

__all__ = ["Bench", "bench_names", "bench_world", "run_bench"]

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Bench:
    run: Callable[[Say, str], list[Row]]
    """(where progress goes, world) -> rows"""
    worlds: tuple[str, ...]
    """that it can measure in; the first one unless asked otherwise"""


_BENCHES: dict[str, Bench] = {
    "allreduce": Bench(lambda say, world: bench_allreduce(say), ("emulated",)),
    "fabric": Bench(bench_fabric, ("simulated", "emulated")),
    "grid": Bench(bench_grid, ("simulated", "emulated")),
    "hierarchical": Bench(bench_hierarchical, ("simulated", "emulated")),
}


def bench_names() -> tuple[str, ...]:
    return tuple(_BENCHES)


def bench_world(name: str, world: str | None = None) -> str:
    """The world that bench `name` measures in; `world`: what the user asks for. Raises ScenarioError for an unknown name, and
    for a world that the bench does not measure in."""
    if name not in _BENCHES:
        closest = difflib.get_close_matches(name, _BENCHES, 1)
        hint = f", did you mean {closest[0]}?" if closest else ""
        raise ScenarioError(f"no such bench{hint}", file="tb bench", found=repr(name), allowed=", ".join(_BENCHES))
    worlds = _BENCHES[name].worlds
    if world is not None and world not in worlds:
        problem = f"{name} does not measure in that world"
        raise ScenarioError(problem, file="tb bench", key="--world", found=repr(world), allowed=", ".join(worlds))
    return world or worlds[0]


def run_bench(name: str, *, as_json: bool = False, world: str | None = None, slower: int = 1) -> int:
    """Run it, print its rows, return 0 when every target was met, else 1. `slower`: the rates of bench grid are divided by that.
    Raises ScenarioError as `bench_world`."""
    chosen = bench_world(name, world)
    run = _BENCHES[name].run
    if slower != 1:
        if name != "grid" or not 1 <= slower <= 100:
            raise ScenarioError(
                "rates cannot be divided by that", file="tb bench", key="--slower", found=str(slower),
                allowed="1 .. 100, for the bench grid",
            )  # fmt: skip
        run = partial(bench_grid, slower=slower)
    rows = run(lambda text: print(text, file=sys.stderr, flush=True), chosen)
    if as_json:
        print(json.dumps(as_documents(rows), indent=1))
    else:
        _show(rows)
    return 0 if all(row.met for row in rows) else 1


def _show(rows: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("measured", "against", "median", "spread", "runs", "ratio", "target", "note")
    for row in rows:
        median = f"{row.median / 1e6:.2f} M{row.unit}" if row.unit else f"{row.median:.3f}"
        if row.unit == "s":
            median = f"{row.median:.4f} s"
        table.add_row(
            row.what,
            row.peer,
            median,
            f"{row.spread:.1%}",
            str(row.repeats),
            f"{row.ratio:.3f}",
            _target(row),
            row.note,
        )
    Console().print(table)


def _target(row: Row) -> str:
    if row.target is None:
        return ""
    wanted = f"{row.target:.2f}" if row.most is None else f"{row.target:.2f}-{row.most:.2f}"
    return f"{wanted} {'met' if row.met else 'MISSED'}"
