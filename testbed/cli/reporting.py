"""`tb report`: writes the page of a run again, also of a run that was killed."""

from __future__ import annotations

import argparse

from testbed.cli.console import Console
from testbed.cli.values import named_path
from testbed.terminal.stream import say, shown_path

__all__ = ["configure_report", "run_report"]


def configure_report(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  ./tb report runs/latest\n  ./tb report runs/latest --out page.html\n"
    parser.add_argument("run_dir", metavar="RUN_DIR", type=named_path, help="as runs/latest")
    parser.add_argument(
        "--out", metavar="FILE", type=named_path, help="the page (default: report.html in the run directory)"
    )


def run_report(args: argparse.Namespace) -> int:
    from testbed.runs.reporting import write_report

    path, ended = write_report(args.run_dir, args.out)
    console = Console.of(args)
    if console.verbosity >= 0:
        if not ended:
            say(
                "this run did not end: the page shows what it recorded until then, and has no verdict",
                stream=console.stream,
            )
        say(f"Report: {shown_path(path)}", stream=console.stream)
    return 0
