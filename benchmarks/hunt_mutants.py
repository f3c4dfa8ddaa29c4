"""How soon the hunter finds each planted bug: `python -m benchmarks.hunt_mutants [--seeds 1 2 3] [--schedules 2000]
[--fabric | --protocol NAME] [--recovery irn] [NAME ...]`.

Prints, per bug and seed, the number of schedules until it was found and the check that found it; the unmutated code
runs the same schedules first (`--survive N` of them). With `--fabric`: the bugs of two-level NetReduce, over drawn
fabrics; with `--protocol`: those of a datagram protocol.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from testbed.hunt.draw import draw_schedule
from testbed.hunt.draw_fabric import FABRIC, RACK
from testbed.hunt.judge import Machines, judge_schedule
from testbed.hunt.protocols import PROTOCOLS
from tests.support.datagram_more_mutants import MORE_NOT_HUNTED
from tests.support.datagram_planted import DATAGRAM_FURTHER, DATAGRAM_NOT_HUNTED, DATAGRAM_PLANTED, DATAGRAM_UNTIMED
from tests.support.endpoint_mutants import ENDPOINT_NOT_HUNTED
from tests.support.grid_planted import GRID_NOT_HUNTED, GRID_PLANTED
from tests.support.hunt_mutants import FABRIC_PLANTED, IRN_PLANTED, NOT_HUNTED, NOT_UNDER_IRN, PLANTED
from tests.support.irn_mutants import IRN_NOT_HUNTED
from tests.support.netreduce_more_mutants import MORE_NOT_HUNTED as NETREDUCE_NOT_HUNTED

GRID = "grid"


def _first(seed: int, schedules: int, machines: Machines, kind: str, recovery: str) -> tuple[int, str] | None:
    """(schedules run, check) of the first failure."""
    for number in range(schedules):
        program = kind if kind in PROTOCOLS else "netreduce"
        failure, _ = judge_schedule(draw_schedule(seed, number, None, program, kind, recovery), machines)
        if failure is not None:
            return number + 1, failure.check
    return None


def _not_hunted(kind: str) -> dict[str, str]:
    more: dict[Any, str] = {}
    if kind == RACK:
        more = NOT_HUNTED | ENDPOINT_NOT_HUNTED | NETREDUCE_NOT_HUNTED | IRN_NOT_HUNTED
    elif kind == "esa":
        more = dict(MORE_NOT_HUNTED)
    return {**{broken.__name__: reason for broken, reason in more.items()}, **DATAGRAM_NOT_HUNTED.get(kind, {})}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"of {', '.join([*PLANTED, *IRN_PLANTED, *FABRIC_PLANTED])}; default: all",
    )
    parser.add_argument("--fabric", action="store_true")
    parser.add_argument("--protocol", choices=("netreduce", *PROTOCOLS), default="netreduce")
    parser.add_argument("--recovery", choices=("", "gbn", "irn"), default="", help="of all rings (default: drawn)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--schedules", type=int, default=2000)
    parser.add_argument("--survive", type=int, default=0, metavar="N")
    args = parser.parse_args()
    kind, planted = (FABRIC, FABRIC_PLANTED) if args.fabric else (RACK, PLANTED | IRN_PLANTED)
    if args.protocol in DATAGRAM_PLANTED:
        kind = args.protocol
        planted = {**DATAGRAM_PLANTED[kind], **DATAGRAM_FURTHER[kind], **DATAGRAM_UNTIMED.get(kind, {})}
    if args.protocol == GRID:
        kind, planted = GRID, GRID_PLANTED
    left_out = dict(GRID_NOT_HUNTED) if kind == GRID else _not_hunted(kind)
    if kind == RACK and args.recovery == "irn":
        left_out |= NOT_UNDER_IRN
    missed = 0
    for seed in args.seeds if args.survive else ():
        found = _first(seed, args.survive, Machines(), kind, args.recovery)
        print(f"unmutated, seed {seed}: {'survives' if found is None else found} {args.survive}", flush=True)
        missed += found is not None
    for name in args.names or [name for name in planted if name not in left_out]:
        texts = []
        for seed in args.seeds:
            found = _first(seed, args.schedules, planted[name], kind, args.recovery)
            missed += found is None
            texts.append(f"not in {args.schedules}" if found is None else f"{found[0]} ({found[1]})")
        print(f"{name:30} {', '.join(texts)}", flush=True)
    for name, reason in left_out.items() if not args.names else ():
        print(f"{name:30} not hunted: {reason}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
