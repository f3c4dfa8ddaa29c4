"""What guided hunts reach in each protocol: `python -m benchmarks.hunt_coverage [--schedules 1000] [--seed 1]
[--jobs 1] [KIND ...]`.

Writes `docs/assets/coverage.json`, from which the site makes its page of coverage. Kinds that are not named keep what
the file holds. Prints one line for each kind. Exit code 1: a schedule broke a rule.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from testbed.hunt.draw_fabric import FABRIC, RACK
from testbed.hunt.guided import run_guided
from testbed.hunt.guided_summary import guided_document
from testbed.hunt.protocols import PROTOCOLS, hunted_of
from testbed.hunt.runner import Prey
from testbed.hunt.state import ChunkStore
from testbed.hunt.summary import steps_document
from testbed.manual.coverage import DATA


def reached(kind: str, seed: int, schedules: int, jobs: int) -> dict[str, Any]:
    hunted = hunted_of(kind)
    prey = Prey(seed, schedules, program="netreduce" if hunted is None else hunted.program, kind=kind)
    found, corpus = run_guided(prey, jobs, ChunkStore())
    if found.failure is not None:
        raise SystemExit(f"{kind}: schedule {found.number} of seed {seed} breaks {found.failure}")
    return {
        "seed": seed,
        "schedules": schedules,
        "struck": dict(sorted(found.coverage.struck.items())),
        "transitions": steps_document(kind, found.coverage.transitions),
        "guided": guided_document(corpus, kind),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {RACK}, {FABRIC}, {', '.join(PROTOCOLS)}")
    parser.add_argument("--schedules", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    known: dict[str, Any] = json.loads(DATA.read_text()) if DATA.exists() else {}
    for kind in args.kinds or [RACK, FABRIC, *PROTOCOLS]:
        known[kind] = reached(kind, args.seed, args.schedules, args.jobs)
        DATA.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
        guided, steps = known[kind]["guided"], known[kind]["transitions"]
        print(f"{kind:20} {guided['behaviours']:6,} behaviours, never taken: {len(steps['never'])}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
