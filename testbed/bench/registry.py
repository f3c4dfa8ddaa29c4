"""Benches by name, and the command's engine."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Callable

from testbed.bench.allreduce import bench_allreduce
from testbed.bench.rows import Row, as_documents
from workloads.errors import ScenarioError

__all__ = ["bench_names", "run_bench"]

_BENCHES: dict[str, Callable[[Callable[[str], None]], list[Row]]] = {"allreduce": bench_allreduce}


def bench_names() -> tuple[str, ...]:
    return tuple(_BENCHES)


def run_bench(name: str, *, as_json: bool = False) -> int:
    """Run it, print its rows, return 0 when every target was met, else 1. Raises ScenarioError for an unknown name."""
    if name not in _BENCHES:
        closest = difflib.get_close_matches(name, _BENCHES, 1)
        hint = f", did you mean {closest[0]}?" if closest else ""
        raise ScenarioError(f"no such bench{hint}", file="tb bench", found=repr(name), allowed=", ".join(_BENCHES))
    rows = _BENCHES[name](lambda text: print(text, file=sys.stderr, flush=True))
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
        target = "" if row.target is None else f"{row.target:.2f} {'met' if row.met else 'MISSED'}"
        median = f"{row.median / 1e6:.2f} M{row.unit}" if row.unit else f"{row.median:.3f}"
        table.add_row(
            row.what, row.peer, median, f"{row.spread:.1%}", str(row.repeats), f"{row.ratio:.3f}", target, row.note
        )
    Console().print(table)
