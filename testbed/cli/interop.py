"""`tb interop`: unmodified rdma_rxe endpoints of a stock kernel all-reduce through our switch node."""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.cli.console import Console
from testbed.cli.values import seed, whole
from testbed.terminal.standard import print_document

if TYPE_CHECKING:
    from testbed.interop.judging import CaseOutcome

__all__ = ["configure_interop", "run_interop"]


def configure_interop(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  sudo ./tb interop                              all cases; the first call fetches a kernel (70 MB) and QEMU
  sudo ./tb interop --cases 'loss/*' --repeat 3
  ./tb interop --list                            the cases
  ./tb interop --cases shape/mtu-4096 --keep     with histories, captures and the guest's logs in runs/

Root is needed only to install missing Debian packages, and for the default state folder.
"""
    parser.add_argument(
        "--cases", action="append", default=[], metavar="PATTERN", help="as 'loss/*'; may be repeated (default: all)"
    )
    parser.add_argument(
        "--repeat", type=whole(1, 1000), default=1, metavar="N", help="all of them N times in one guest, other seeds"
    )
    parser.add_argument("--seed", type=seed, default=1, metavar="N", help="of the first round (default: 1)")
    parser.add_argument(
        "--guests", type=whole(1, 1000), metavar="N", help="guests side by side (default: one per processor, at most 4)"
    )
    parser.add_argument(
        "--where",
        choices=("auto", "qemu", "host", "initial"),
        default="auto",
        help="`qemu`: a stock kernel in guests. `host`: this kernel's rdma_rxe, in a network namespace that tb makes. "
        "`initial`: in the initial namespace, on a machine that is yours alone. "
        "`auto`: host where that works, else qemu",
    )
    parser.add_argument("--list", action="store_true", dest="listing", help="show the cases and end")
    parser.add_argument("--keep", action="store_true", help="keep histories, captures and logs in runs/interop-TIME")
    parser.add_argument(
        "--table", action="store_true", help="print a Markdown table of all cases at the end, and what rule A saves"
    )
    parser.add_argument(
        "--json", action="store_true", help="print the result as JSON alone on stdout; all else on stderr"
    )


def run_interop(args: argparse.Namespace) -> int:
    from testbed.interop.cases import choose_cases

    cases = choose_cases(tuple(args.cases))
    if args.listing:
        for case in cases:
            print(case.id)
        return 0
    from testbed.interop.suite import run_suite

    console = Console.of(args)
    keep = Path.cwd() / "runs" / f"interop-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}" if args.keep else None

    def say(text: str) -> None:
        if console.verbosity >= 0:
            console.stream.write(f"{text}\n")
            console.stream.flush()

    # A signal that ends us must end the guest as well: in order, as Ctrl-C does.
    signal.signal(signal.SIGTERM, _interrupt)
    result = run_suite(
        cases,
        seed=args.seed,
        repeat=args.repeat,
        guests=args.guests,
        where=args.where,
        say=say,
        tell=lambda outcome: say(_line(outcome)),
        keep=keep,
    )
    wrong = [outcome.case for outcome in result.outcomes if outcome.verdict != "pass"]
    say(
        f"{result.verdict}: {len(result.outcomes) - len(wrong)} of {len(result.outcomes)} cases passed in "
        f"{result.total_s:.1f} s (prepared {result.prepared_s:.1f} s, booted {result.booted_s:.1f} s)"
    )
    if wrong:
        say("not passed: " + ", ".join(dict.fromkeys(wrong)))
    if keep is not None:
        say(f"Run directory: {keep}")
    if args.table:
        from testbed.interop.table import markdown_table

        say("\n" + markdown_table(result.outcomes))
    if args.json:
        print_document(json.dumps(result.as_json(), indent=2))
    return result.verdict.exit_code


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _line(outcome: CaseOutcome) -> str:
    traffic = outcome.traffic
    sent = f"{traffic.data_packets:6d} packets, {traffic.retransmissions:5d} again" if traffic else " " * 28
    text = f"{outcome.verdict!s:7} {outcome.case:32} {outcome.strikes:5d} hits {sent} {outcome.seconds:6.2f} s"
    return f"{text}  {outcome.detail}" if outcome.detail else text
