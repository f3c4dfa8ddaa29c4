"""Which proof finds each planted bug of the card's hardware? `python -m benchmarks.card_bugs [BUG ...]`.

Prints a table in Markdown: the bug, the first golden trace that shows it, and what is wrong there. The design without a
bug goes through the same traces first. Exits 1 if a bug is not found, or the right design is refuted."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from switch_nodes.fpga.rtl.names import PLANTS
from switch_nodes.fpga.rtl.parameters import RtlParameters
from switch_nodes.fpga.rtl.simulation.building import built_library
from tests.support.rtl import TRACES, proof_of, trace_of, what_is_wrong

__all__ = ["main"]

_MOST = 90
"""characters of what is wrong"""


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bugs", nargs="*", metavar="BUG", help=f"of {', '.join(PLANTS)}; default: all")
    args = parser.parse_args(words)
    if unknown := [name for name in args.bugs if name not in PLANTS]:
        parser.error(f"no planted bug: {', '.join(unknown)}")
    library = built_library(RtlParameters(planted=True), tell=lambda line: print(line, file=sys.stderr))
    wrong = 0
    for name, sets, seed in TRACES:
        found = what_is_wrong(library, *trace_of(name, sets, seed), seed=seed)
        wrong += bool(found)
        print(f"no bug, {name}: {'; '.join(found) or 'as the reference'}", flush=True)
    print("| bug | what is wrong | trace | what it shows |", "|---|---|---|---|", sep="\n")
    for bug in args.bugs or PLANTS:
        proof = proof_of(library, bug)
        wrong += proof is None
        trace, shown = proof or ("none", "nothing: not found")
        print(f"| {bug} | {PLANTS[bug]} | {trace} | {shown[:_MOST]} |", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
