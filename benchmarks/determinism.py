"""Does one scenario with one seed give one history? `python -m benchmarks.determinism`: every built-in at full size, in
processes with different PYTHONHASHSEED that run them in opposite orders; the files are compared byte for byte. Exits 1
when two of them differ."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from testbed.history import sort_history, write_history
from testbed.plan import make_plan
from testbed.scenario import builtin_names, load_scenario
from testbed.worlds.simulated import simulate
from workloads.errors import ScenarioError

__all__ = ["Case", "Comparison", "compare"]

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Case:
    scenario: str
    seed: int
    overrides: tuple[str, ...] = ()
    """as of `--set`"""


@dataclass(frozen=True)
class Comparison:
    """The history files of one case, one per process."""

    case: Case
    size: int
    """bytes of the first"""
    same: bool


def compare(cases: Sequence[Case], folder: Path, hash_seeds: Sequence[str] = ("1", "2")) -> list[Comparison]:
    """Run all cases in one process per hash seed, one process after the other. Raises CalledProcessError when one
    fails."""
    for number, hash_seed in enumerate(hash_seeds):
        place = folder / hash_seed
        place.mkdir()
        # What one run left behind in a process would show in the next: every other process goes through them backwards.
        order = [*enumerate(cases)][:: -1 if number % 2 else 1]
        subprocess.run(
            [sys.executable, "-m", "benchmarks.determinism", "--write", str(place)],
            input=json.dumps([(index, asdict(case)) for index, case in order]),
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            cwd=ROOT,
            text=True,
            check=True,
        )
    found = []
    for index, case in enumerate(cases):
        files = [(folder / hash_seed / f"{index}.jsonl").read_bytes() for hash_seed in hash_seeds]
        found.append(Comparison(case, len(files[0]), len(set(files)) == 1))
    return found


def _write(place: Path, text: str) -> None:
    """What each process does: the cases of `text`, in its order."""
    for index, keys in json.loads(text):
        scenario = load_scenario(keys["scenario"], keys["overrides"], seed=keys["seed"], world="simulated")
        write_history(place / f"{index}.jsonl", sort_history(simulate(make_plan(scenario))))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="SCENARIO", help="all built-ins without")
    parser.add_argument("--seeds", type=int, default=1, help="seeds of each scenario, from 1 (default: 1)")
    parser.add_argument("--processes", type=int, default=2, help="hash seeds to compare, 2 or more (default: 2)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a change, as of `tb run`")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the outcome there")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.write:
        _write(options.write, sys.stdin.read())
        return 0
    if options.seeds < 1 or options.processes < 2:
        parser.error("--seeds wants 1 or more, --processes 2 or more")
    cases, differing, rows = [], 0, []
    try:
        every = [name for name in builtin_names() if "simulated" in load_scenario(name).worlds]
        for name in options.names or every:
            cases += [Case(name, seed, tuple(options.set)) for seed in range(1, options.seeds + 1)]
            load_scenario(name, options.set, world="simulated")
    except ScenarioError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="ina-determinism-") as folder:
            (found,) = compare([case], Path(folder), [str(seed) for seed in range(1, options.processes + 1)])
        differing += not found.same
        rows.append({"scenario": case.scenario, "seed": case.seed, "bytes": found.size, "same": found.same})
        outcome = "the same" if found.same else "DIFFERENT"
        print(f"{case.scenario:32} seed {case.seed}: {found.size} bytes, {outcome}", flush=True)
    print(f"{len(cases)} scenarios and seeds, {options.processes} processes each: {differing} differ")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
