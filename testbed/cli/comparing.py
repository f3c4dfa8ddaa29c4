"""`tb compare`: finished runs side by side."""

from __future__ import annotations

import argparse

from testbed.cli.console import Console
from testbed.cli.values import named_path
from testbed.terminal.folding import fold_lines
from testbed.terminal.standard import print_document
from testbed.terminal.stream import columns

__all__ = ["configure_compare", "run_compare"]


def configure_compare(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ./tb compare runs/20260101-120000-rack-1 runs/latest
  ./tb compare runs/latest runs/sweeps/jct-against-loss/points/0123456789abcdef --html compared.html
"""
    parser.add_argument(
        "run_dirs",
        metavar="RUN_DIR",
        nargs="+",
        type=named_path,
        help="run directories, or points of a sweep (its folder points/)",
    )
    parser.add_argument("--html", metavar="FILE", type=named_path, help="also write a page, with all that is equal too")
    parser.add_argument("--json", action="store_true", help="print everything as JSON alone on stdout")


def run_compare(args: argparse.Namespace) -> int:
    from testbed.comparison.model import compare_runs
    from testbed.comparison.text import comparison_json, comparison_page, comparison_text
    from workloads.trusted import write_named

    found = compare_runs(args.run_dirs)
    if args.html is not None:
        write_named(args.html, comparison_page(found), key="--html")
    if args.json:
        print_document(comparison_json(found))
        return 0
    console = Console.of(args)
    if console.verbosity >= 0:
        width = columns(console.stream)
        for line in fold_lines(comparison_text(found, width), width):
            print(line, file=console.stream)
    return 0
