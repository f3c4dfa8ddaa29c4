"""Every built-in scenario with many seeds: `python -m benchmarks.soak --seeds 20`. Exits 1 when one verdict, exit code
or sum is not the expected one, and 64 when a scenario is not valid.

Other programs on the same jobs: `python -m benchmarks.soak jobs-8 --set switch.program=esa --set job.protocol=esa`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXIT_CODES = {"pass": 0, "fail": 1, "unknown": 2}


@dataclass(frozen=True)
class Outcome:
    """What one run said."""

    seed: int
    exit_code: int
    seconds: float
    document: dict[str, Any]
    stderr: str

    def wrong(self, expected: str) -> str | None:
        """Why this is not what the scenario promises; None when it is."""
        verdict = self.document.get("verdict", "none")
        if verdict == expected and self.exit_code == EXIT_CODES[expected]:
            return None
        checks = [
            f"{check['name']}: {check['verdict']} ({check['detail']})"
            for check in self.document.get("checks", [])
            if check["verdict"] != "pass"
        ]
        return f"seed {self.seed}: exit {self.exit_code}, verdict {verdict}; {'; '.join(checks) or self.stderr[-400:]}"


def run(name: str, seed: int, folder: Path, world: str, overrides: Sequence[str] = ()) -> Outcome:
    command = [sys.executable, "-m", "testbed", "run", name, "--seed", str(seed), "--json", "--world", world]
    command += [word for override in overrides for word in ("--set", override)]
    started = time.monotonic()
    done = subprocess.run(
        [*command, "--out", str(folder / f"{name}-{seed}")], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    seconds = time.monotonic() - started
    try:
        document = json.loads(done.stdout)
    except json.JSONDecodeError:
        document = {}
    return Outcome(seed, done.returncode, seconds, document, done.stderr)


def strikes(outcomes: list[Outcome]) -> Iterator[str]:
    """`name: min..max` over the seeds, for each fault of the scenario."""
    counts: dict[str, list[int]] = {}
    for outcome in outcomes:
        for fault in outcome.document.get("faults", []):
            counts.setdefault(fault["name"], []).append(fault["strikes"])
    for fault_name, numbers in counts.items():
        yield f"{fault_name}: {min(numbers)}..{max(numbers)}"


def fidelity(outcomes: Sequence[Outcome]) -> str:
    """In how many runs the machine kept up, so that their times mean something."""
    held = sum(outcome.document.get("fidelity", {}).get("verdict") == "pass" for outcome in outcomes)
    return f"fidelity held in {held}/{len(outcomes)}"


def late(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Why the machine did not keep up, for each run in which it did not."""
    for outcome in outcomes:
        reasons = outcome.document.get("fidelity", {}).get("reasons", [])
        if reasons:
            more = f"; and {len(reasons) - 1} more" if len(reasons) > 1 else ""
            yield f"seed {outcome.seed}, fidelity: {reasons[0]}{more}"


def main() -> int:
    from testbed.scenario import builtin_names, load_scenario
    from workloads.errors import ScenarioError

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--world", default="emulated")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="as of `tb run`; may be repeated",
    )
    parser.add_argument("names", nargs="*", help="scenarios; all built-ins without")
    options = parser.parse_args()
    names = options.names or builtin_names()
    try:
        scenarios = {name: load_scenario(name, options.overrides) for name in names}
    except ScenarioError as error:
        print(f"soak: {error}", file=sys.stderr)
        return error.exit_code
    failures: list[str] = []
    verdicts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="ina-soak-") as folder:
        for name, scenario in scenarios.items():
            if options.world not in scenario.worlds and not options.names:
                print(f"{name:32} not for the {options.world} world", flush=True)
                continue
            expected = scenario.expect
            with ThreadPoolExecutor(options.jobs) as pool:
                one_run = partial(run, name, folder=Path(folder), world=options.world, overrides=options.overrides)
                outcomes = list(pool.map(one_run, range(1, options.seeds + 1)))
            wrong = [text for outcome in outcomes if (text := outcome.wrong(expected))]
            failures += [f"{name}: {text}" for text in wrong]
            verdicts.update(outcome.document.get("verdict", "none") for outcome in outcomes)
            seconds = median(outcome.seconds for outcome in outcomes)
            print(
                f"{name:32} expect {expected:7} {len(outcomes) - len(wrong)}/{len(outcomes)} as expected, "
                f"median {seconds:.1f} s; {fidelity(outcomes)}; strikes "
                f"{', '.join(strikes(outcomes)) or 'none planned'}",
                flush=True,
            )
            for text in [*wrong, *late(outcomes)]:
                print(f"    {text}", flush=True)
    print(f"{sum(verdicts.values())} runs: {dict(verdicts)}; {len(failures)} not as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
