"""Benches by name, and the command's engine."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Callable
from functools import cache

from testbed.bench.contract import Bench, MeasuredProtocol
from testbed.bench.loss import bench_loss
from testbed.bench.options import BenchOptions, refuse_options
from testbed.bench.papers import bench_papers
from testbed.bench.peers import bench_peers
from testbed.bench.rows import Report, Row, as_documents
from testbed.runs.calibration import machine_name
from testbed.scenario.protocols.known import protocols
from testbed.terminal.numbers import quantity
from testbed.terminal.standard import print_document
from testbed.terminal.stream import columns
from testbed.terminal.tables import table_lines
from testbed.terminal.ticker import speak
from workloads.errors import ScenarioError

__all__ = ["bench_world", "benches", "plans_of", "run_bench"]


_NO_OPTIONS = BenchOptions()
_SHARED = (
    Bench("loss", bench_loss, ("simulated", "emulated"), ("quick", "processes", "seeds", "csv")),
    Bench("papers", bench_papers, ("simulated",), ("quick", "processes", "seeds", "csv")),
    Bench(
        "peers",
        lambda say, world, options: bench_peers(say, options, options.factor),
        ("emulated",),
        ("quick", "csv", "repeats", "dilation", "plot"),
    ),
)
"""those that compare protocols"""


@cache
def benches() -> dict[str, Bench]:
    """By name, in the order of the alphabet: the shared ones, and those of protocols."""
    known = [each for each in protocols() if isinstance(each, MeasuredProtocol)]
    found = [*_SHARED, *(bench for protocol in known for bench in protocol.benches())]
    return {bench.name: bench for bench in sorted(found, key=lambda bench: bench.name)}


def plans_of(name: str) -> Callable[[str, int | None, bool], int]:
    """What makes the plans of bench `name` (`Bench.plans`). Raises ScenarioError unless it can make plans alone."""
    plans = benches()[name].plans
    if plans is None:
        able = ", ".join(bench.name for bench in benches().values() if bench.plans)
        raise ScenarioError(f"only the bench {able} makes plans", file="tb bench", key="--plan-only", found=f"'{name}'")
    return plans


def bench_world(name: str, world: str | None = None) -> str:
    """The world that bench `name` measures in; `world`: what the user asks for. Raises ScenarioError for an unknown
    name, and for a world that the bench does not measure in."""
    if name not in benches():
        closest = difflib.get_close_matches(name, benches(), 1)
        hint = f", did you mean {closest[0]}?" if closest else ""
        raise ScenarioError(f"no such bench{hint}", file="tb bench", found=repr(name), allowed=", ".join(benches()))
    worlds = benches()[name].worlds
    if world is not None and world not in worlds:
        problem = f"{name} does not measure in that world"
        raise ScenarioError(problem, file="tb bench", key="--world", found=repr(world), allowed=", ".join(worlds))
    return world or worlds[0]


def run_bench(
    name: str, *, as_json: bool = False, world: str | None = None, options: BenchOptions = _NO_OPTIONS
) -> int:
    """Run it, print its rows, return 0 when every target was met, else 1. Raises ScenarioError as `bench_world`, and
    for options that the bench does not have."""
    chosen, bench = bench_world(name, world), benches()[name]
    refuse_options(name, options, {known: other.options for known, other in benches().items()})
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
