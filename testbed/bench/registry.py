"""Benches by name, and the command's engine."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass

from testbed.bench.allreduce import bench_allreduce
from testbed.bench.evolution import bench_evolution
from testbed.bench.fabric import bench_fabric
from testbed.bench.grid import bench_grid
from testbed.bench.gridfabrics import bench_fabrics
from testbed.bench.hierarchical import bench_hierarchical
from testbed.bench.ina import bench_ina
from testbed.bench.loss import bench_loss
from testbed.bench.options import BenchOptions, refuse_options
from testbed.bench.papers import bench_papers
from testbed.bench.peers import bench_peers
from testbed.bench.rows import Report, Row, as_documents
from testbed.runs.calibration import machine_name
from testbed.terminal.numbers import quantity
from testbed.terminal.standard import print_document
from testbed.terminal.stream import columns
from testbed.terminal.tables import table_lines
from testbed.terminal.ticker import speak
from workloads.errors import ScenarioError

__all__ = ["Bench", "bench_world", "require_plans", "run_bench"]

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Bench:
    name: str
    """name, as in `tb bench NAME`"""
    run: Callable[[Say, str, BenchOptions], Report | list[Row]]
    """(where progress goes, world, options) -> rows"""
    worlds: tuple[str, ...]
    """worlds that it can measure in; the first one is the default"""
    options: tuple[str, ...] = ()
    """names of the fields of BenchOptions that it uses"""
    plans: bool = False
    """whether it can make plans alone, without a run (`--plan-only`)"""


def _factor(options: BenchOptions) -> int | None:
    """None: left to the machine."""
    return None if options.dilation in (None, "auto") else int(options.dilation)


def _bench_grid(say: Say, world: str, options: BenchOptions) -> list[Row]:
    rows = bench_grid(say, world, options.slower)
    return rows + bench_fabrics(say) if world == "simulated" else rows


_NO_OPTIONS = BenchOptions()
_BENCHES = {
    bench.name: bench
    for bench in (
        Bench(
            "allreduce",
            lambda say, world, options: bench_allreduce(say, dilation=_factor(options)),
            ("emulated",),
            ("dilation",),
        ),
        Bench("evolution", bench_evolution, ("simulated", "emulated"), ("quick", "processes", "csv")),
        Bench("fabric", lambda say, world, options: bench_fabric(say, world), ("simulated", "emulated")),
        Bench("grid", _bench_grid, ("simulated", "emulated"), ("slower",), plans=True),
        Bench("hierarchical", lambda say, world, options: bench_hierarchical(say, world), ("simulated", "emulated")),
        Bench("ina", bench_ina, ("simulated", "emulated"), ("quick", "processes", "seeds", "csv", "repeats")),
        Bench("loss", bench_loss, ("simulated", "emulated"), ("quick", "processes", "seeds", "csv")),
        Bench("papers", bench_papers, ("simulated",), ("quick", "processes", "seeds", "csv")),
        Bench(
            "peers",
            lambda say, world, options: bench_peers(say, options, _factor(options)),
            ("emulated",),
            ("quick", "csv", "repeats", "dilation", "plot"),
        ),
    )
}


def require_plans(name: str) -> None:
    """Raises ScenarioError unless bench `name` can make plans alone."""
    if not _BENCHES[name].plans:
        able = ", ".join(bench.name for bench in _BENCHES.values() if bench.plans)
        raise ScenarioError(f"only the bench {able} makes plans", file="tb bench", key="--plan-only", found=f"'{name}'")


def bench_world(name: str, world: str | None = None) -> str:
    """The world that bench `name` measures in; `world`: what the user asks for. Raises ScenarioError for an unknown
    name, and for a world that the bench does not measure in."""
    if name not in _BENCHES:
        closest = difflib.get_close_matches(name, _BENCHES, 1)
        hint = f", did you mean {closest[0]}?" if closest else ""
        raise ScenarioError(f"no such bench{hint}", file="tb bench", found=repr(name), allowed=", ".join(_BENCHES))
    worlds = _BENCHES[name].worlds
    if world is not None and world not in worlds:
        problem = f"{name} does not measure in that world"
        raise ScenarioError(problem, file="tb bench", key="--world", found=repr(world), allowed=", ".join(worlds))
    return world or worlds[0]


def run_bench(
    name: str, *, as_json: bool = False, world: str | None = None, options: BenchOptions = _NO_OPTIONS
) -> int:
    """Run it, print its rows, return 0 when every target was met, else 1. Raises ScenarioError as `bench_world`, and
    for options that the bench does not have."""
    chosen, bench = bench_world(name, world), _BENCHES[name]
    refuse_options(name, options, {known: other.options for known, other in _BENCHES.items()})
    found = bench.run(speak, chosen, options)
    report = found if isinstance(found, Report) else Report(found)
    if as_json:
        print_document(json.dumps(as_documents(report.rows, machine_name()), indent=1))
    else:
        for line in report.lines(columns(sys.stdout)):
            print(line)
        # Tables of its own hold what is for information.
        shown = [row for row in report.rows if report.tables is None or row.target is not None]
        if shown:
            _show(shown)
    return 0 if all(row.met for row in report.rows) else 1


def _show(rows: list[Row]) -> None:
    head = ("measured", "against", "median", "spread", "runs", "ratio", "dilation", "twin", "target", "note")
    cells = []
    for row in rows:
        median = quantity(row.median, row.unit)
        spread, runs, ratio = f"{row.spread:.1%}", f"{row.repeats:,}", f"{row.ratio:.3f}"
        twin = "" if row.deviation is None else f"{row.deviation:+.1%}"
        cells.append((row.what, row.peer, median, spread, runs, ratio, str(row.dilation), twin, _target(row), row.note))
    for line in table_lines(head, cells, columns(sys.stdout), text=(0, 1, 8, 9), indent=0):
        print(line)
    for world in sorted({row.world for row in rows}):
        print("in virtual time: the same on every machine" if world == "simulated" else f"on {machine_name()}")


def _target(row: Row) -> str:
    if row.target is None:
        return ""
    wanted = f"{row.target:.2f}" if row.most is None else f"{row.target:.2f}-{row.most:.2f}"
    return f"{wanted} {'met' if row.met else 'MISSED'}"
