"""Guided hunts against random ones: `python -m benchmarks.bench_guided [--seeds 11 12 13] [--schedules 2000] [--cpu 30]
[--minutes 30] [--out FILE] [KIND ...]`.

Each planted bug of the tests is hunted twice for each seed, one search right after the other, with the same budgets of
schedules and CPU seconds. The order of the two alternates. Prints a table by kind of hunt, of early and late bugs, and
of all; and each bug that one search found at least twice as late as the other. Early and late bugs: those that the
random hunts of `tests/data/found.json` find within 50 schedules or later. Their seed is 1, and seeds here are others,
so that no search is judged by the run that chose the bug.

`--out` keeps one JSON line for each pair; pairs that it holds do not run again. `--minutes` ends it between two pairs,
and the table is of what is done.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from math import exp, inf, log
from pathlib import Path
from random import Random
from statistics import mean, median, stdev
from typing import Any

from scipy.stats import t

from testbed.hunt.draw_fabric import FABRIC, RACK
from testbed.hunt.guided import run_guided
from testbed.hunt.judge import Machines
from testbed.hunt.runner import Prey, run_hunt
from testbed.hunt.state import GUIDED, RANDOM, ChunkStore
from testbed.kernel.garbage import spared
from tests.support.datagram_planted import DATAGRAM_FURTHER, DATAGRAM_PLANTED
from tests.support.dlcp_mutants import DLCP_PLANTED
from tests.support.grid_planted import GRID_PLANTED
from tests.support.hunt_mutants import FABRIC_PLANTED, HELD_PLANTED, IRN_PLANTED, ORDER_PLANTED, PLANTED
from tests.support.ps_planted import PS_PLANTED
from tests.support.repair_mutants import REPAIR_PLANTED

HELD = "fabric irn-held"
KINDS: Mapping[str, Mapping[str, Machines]] = {
    RACK: {**PLANTED, **IRN_PLANTED},
    FABRIC: {**FABRIC_PLANTED, **ORDER_PLANTED},
    HELD: HELD_PLANTED,
    **{name: {**planted, **DATAGRAM_FURTHER[name]} for name, planted in DATAGRAM_PLANTED.items()},
    "grid": GRID_PLANTED,
    "dlcp": DLCP_PLANTED,
    "repair": REPAIR_PLANTED,
    "ps": PS_PLANTED,
}
_LEAST_S = 0.001
_LATE = 50
"""schedules"""
_FOUND = Path(__file__).resolve().parents[1] / "tests" / "data" / "found.json"


class _Spent(Exception):
    """The CPU time of a search is used up."""


def _prey(kind: str, seed: int, schedules: int) -> Prey:
    if kind in (RACK, FABRIC, HELD):
        return Prey(seed, schedules, kind=kind.partition(" ")[0], recovery="irn-held" if kind == HELD else "")
    return Prey(seed, schedules, program="forward" if kind == "dlcp" else kind, kind=kind)


def search(how: str, prey: Prey, machines: Machines, cpu_s: float) -> dict[str, Any]:
    """One search: schedules until the bug was found (None: it was not), the check that failed, and CPU seconds."""
    begin = time.process_time()

    def tell(done: int) -> None:
        if time.process_time() - begin > cpu_s:
            raise _Spent

    try:
        if how == GUIDED:
            found, _ = run_guided(prey, 1, ChunkStore(), tell, machines)
        else:
            found = run_hunt(prey, 1, ChunkStore(), tell, machines)
        number, check = found.number, found.failure and found.failure.check
    except _Spent:
        number, check = None, None
    return {
        "schedules": None if number is None else number + 1,
        "check": check,
        "cpu_s": round(time.process_time() - begin, 4),
    }


def pairs(kinds: list[str], seeds: list[int], names: list[str]) -> Iterator[tuple[int, str, str]]:
    """Seeds in the outer loop, and bugs in a drawn order, so that a bench that is broken off has bugs of all kinds."""
    bugs = [(kind, name) for kind in kinds for name in KINDS[kind] if not names or name in names]
    Random(0).shuffle(bugs)
    for seed in seeds:
        yield from ((seed, kind, name) for kind, name in bugs)


def table(rows: list[dict[str, Any]], budget: int) -> Iterator[str]:
    """Lines of Markdown. A search that missed a bug counts with its whole budget of schedules and its CPU time."""
    yield (
        "| kind | bugs | pairs | found random | found guided | median schedules | CPU s ratio (95 %) | later than 2x |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    parts = {kind: [row for row in rows if row["kind"] == kind] for kind in dict.fromkeys(row["kind"] for row in rows)}
    late = late_bugs()
    parts |= {
        "early bugs": [row for row in rows if (row["kind"], row["bug"]) not in late],
        "late bugs": [row for row in rows if (row["kind"], row["bug"]) in late],
        "all": rows,
    }
    for kind, mine in parts.items():
        bugs = _by_bug(mine)
        if not bugs:
            continue
        ratios = [_median_of(each, GUIDED, "cpu_s") / _median_of(each, RANDOM, "cpu_s") for each in bugs.values()]
        schedules = [
            f"{median(_median_of(each, how, 'schedules', budget) for each in bugs.values()):g}"
            for how in (RANDOM, GUIDED)
        ]
        counts = [sum(row[how]["schedules"] is not None for row in mine) for how in (RANDOM, GUIDED)]
        ratio, low, high = _geometric_mean(ratios)
        yield (
            f"| {kind} | {len(bugs)} | {len(mine)} | {counts[0]} | {counts[1]} | {schedules[0]} : {schedules[1]} | "
            f"{ratio:.2f} ({low:.2f} to {high:.2f}) | {sum(each > 2 for each in ratios)} |"
        )


def late_bugs() -> set[tuple[str, str]]:
    """(kind, name) of the bugs that the tests' random hunts find after `_LATE` schedules."""
    found: dict[str, int] = json.loads(_FOUND.read_text(encoding="utf-8"))
    late = {key.partition(" ")[2] for key, number in found.items() if number >= _LATE}
    return {(kind, name) for kind, planted in KINDS.items() for name in planted if f"{kind} {name}" in late}


def _geometric_mean(ratios: list[float]) -> tuple[float, float, float]:
    """With its interval of 95 %, by Student's t on the logarithms. One ratio has none."""
    logs = list(map(log, ratios))
    if len(logs) < 2:
        return ratios[0], 0.0, inf
    half = float(t.ppf(0.975, len(logs) - 1)) * stdev(logs) / len(logs) ** 0.5
    return exp(mean(logs)), exp(mean(logs) - half), exp(mean(logs) + half)


def _by_bug(rows: list[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    bugs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        bugs.setdefault((row["kind"], row["bug"]), []).append(row)
    return bugs


def _median_of(rows: list[dict[str, Any]], how: str, what: str, missing: float = 0) -> float:
    return median(max(_LEAST_S, missing if row[how][what] is None else row[how][what]) for row in rows)


def different(rows: list[dict[str, Any]], budget: int) -> Iterator[str]:
    """Bugs whose medians differ twofold or more."""
    for (kind, name), mine in sorted(_by_bug(rows).items()):
        plain, guided = (_median_of(mine, how, "schedules", budget) for how in (RANDOM, GUIDED))
        if max(plain, guided) >= 2 * min(plain, guided) and max(plain, guided) > 32:
            times = "{:.1f} : {:.1f} s".format(*(_median_of(mine, how, "cpu_s") for how in (RANDOM, GUIDED)))
            yield f"{kind:16} {name:40} {plain:g} : {guided:g} schedules, {times}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; default: all")
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12, 13])
    parser.add_argument("--schedules", type=int, default=2000)
    parser.add_argument("--cpu", type=float, default=30.0, metavar="S", help="of one search (default: 30)")
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--names", nargs="+", default=[], metavar="BUG")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.out.open()] if args.out and args.out.exists() else []
    done = {(row["seed"], row["kind"], row["bug"]) for row in rows}
    end = time.monotonic() + 60 * args.minutes
    with spared():
        for count, (seed, kind, name) in enumerate(pairs(args.kinds or list(KINDS), args.seeds, args.names)):
            if (seed, kind, name) in done or time.monotonic() > end:
                continue
            prey, row = _prey(kind, seed, args.schedules), {"seed": seed, "kind": kind, "bug": name}
            for how in (RANDOM, GUIDED) if count % 2 else (GUIDED, RANDOM):
                row[how] = search(how, prey, KINDS[kind][name], args.cpu)
            rows.append(row)
            if args.out:
                with args.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    for line in (*table(rows, args.schedules), "", *different(rows, args.schedules)):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
