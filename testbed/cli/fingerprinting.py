"""`tb fingerprint`: in which order, width and rounding a reducer adds."""

from __future__ import annotations

import argparse
import json

from testbed.cli.console import Console
from testbed.cli.values import duration, seed, whole
from testbed.terminal.activity import State, doing
from testbed.terminal.folding import fold_lines
from testbed.terminal.standard import print_document
from testbed.terminal.stream import columns
from testbed.terminal.words import amount

__all__ = ["configure_fingerprint", "run_fingerprint"]

_VECTORS = 100_000
_LEAST, _MOST = 4096, 10_000_000
_MOST_RANKS = 64


def configure_fingerprint(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ./tb fingerprint netreduce
  ./tb fingerprint ring --set topology.hosts=8
  ./tb fingerprint mine.py:Adder --scenario switchml
  ./tb fingerprint torch:gloo --ranks 3
  ./tb fingerprint 'command:./sum.sh {in} {out}'
"""
    parser.add_argument(
        "target", metavar="TARGET",
        help="a switch program, a protocol, a scenario, FILE.py:CLASS, torch:BACKEND, or command:WORDS with {in} and "
        "{out}",
    )  # fmt: skip
    parser.add_argument(
        "--scenario", metavar="SCENARIO", help="the network of FILE.py:CLASS and torch:ina (default: rack)"
    )
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE",
        help="change one key of the scenario; may be repeated",
    )  # fmt: skip
    parser.add_argument("--seed", type=seed, metavar="N", help="of the scenario")
    parser.add_argument(
        "--ranks", type=whole(2, _MOST_RANKS), metavar="N", help="of a command or torch backend (default: 4)"
    )
    parser.add_argument(
        "--dtype", choices=("float32", "int32"), help="of a command or torch backend (default: float32)"
    )
    parser.add_argument(
        "--vectors", type=whole(_LEAST, _MOST), default=_VECTORS, metavar="N",
        help=f"fresh random vectors to predict; elements of each gradient (default: {_VECTORS:,})",
    )  # fmt: skip
    parser.add_argument("--draw", type=seed, default=1, metavar="N", help="seed of the fresh vectors (default: 1)")
    parser.add_argument(
        "--timeout", type=duration(least_ns=10**6), default=60 * 10**9, metavar="TIME",
        help="of one call of a command, or one sum of a torch backend (default: 60s)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="the finding as JSON alone on stdout")


def run_fingerprint(args: argparse.Namespace) -> int:
    from testbed.fingerprint.infer import fingerprint
    from testbed.fingerprint.targets.named import TargetOptions, open_target

    console = Console.of(args)
    options = TargetOptions(
        args.vectors, args.timeout / 1e9, args.scenario, tuple(args.overrides), args.seed, args.ranks, args.dtype
    )
    runs = [0]
    with doing(lambda: State(f"{amount(runs[0], 'gradient')} summed")), open_target(args.target, options) as reducer:
        finding = fingerprint(reducer, args.target, args.draw, lambda count: runs.__setitem__(0, count))
    if console.verbosity >= 0:
        for line in fold_lines(finding.lines(), columns(console.stream)):
            print(line, file=console.stream)
    if args.json:
        print_document(json.dumps(finding.document(), indent=2))
    return finding.exit_code
