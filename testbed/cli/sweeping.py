"""`tb sweep`: a grid of models and algorithms, in parallel, resumable."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

from testbed.cli.console import Console
from testbed.terminal.folding import fold_lines
from testbed.terminal.statusline import StatusLine
from testbed.terminal.stream import columns

__all__ = ["configure_sweep", "run_sweep"]

_LINE_EVERY = 0.1
"""of the work: how often progress is told where there is no terminal"""


def configure_sweep(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ./tb sweep netreduce-scale --plot
  ./tb sweep netreduce-65536 --jobs 2
  ./tb sweep my.yaml --model message --out /tmp/my --json
"""
    parser.add_argument("sweep", metavar="SWEEP", help="a built-in's name (`tb list sweeps`) or a YAML file")
    parser.add_argument("--model", help="formula, flow, message or packet (default: as the file says)")
    parser.add_argument("--jobs", type=_jobs, metavar="J", help="processes (default: one per processor)")
    parser.add_argument("--out", metavar="DIR", type=Path, help="where results are kept (default: runs/sweeps/NAME)")
    parser.add_argument("--plot", action="store_true", help="also draw plot.svg")
    parser.add_argument("--json", action="store_true", help="print results.json alone on stdout; all else on stderr")


def run_sweep(args: argparse.Namespace) -> int:
    from testbed.sweeps import engine, load_sweep
    from testbed.sweeps.plot import write_svg
    from testbed.sweeps.report import summary, to_json, write_files

    sweep = load_sweep(args.sweep, args.model)
    folder = args.out or Path("runs") / "sweeps" / sweep.name
    console = Console.of(args)
    tell, close = _progress(console)
    try:
        finished = engine.run_sweep(sweep, folder, args.jobs or os.cpu_count() or 1, tell)
    finally:
        close()
    as_json, as_csv = write_files(finished, folder)
    if console.verbosity >= 0:
        for line in fold_lines(summary(finished, columns(console.stream)), columns(console.stream)):
            print(line, file=console.stream)
        print(f"\nResults: {as_json}, {as_csv}", file=console.stream)
    if args.plot:
        drawn = write_svg(finished, folder / "plot.svg")
        if console.verbosity >= 0:
            print(f"Plot: {folder / 'plot.svg'} ({drawn} charts)", file=console.stream)
    if args.json:
        print(to_json(finished), end="")
    return 0


def _progress(console: Console) -> tuple[Callable[[int, int, int], None], Callable[[], None]]:
    """(on_progress, to be called at the end): a bar on a terminal, a line for every tenth elsewhere."""
    if console.verbosity < 0:
        return lambda done, total, reused: None, lambda: None
    if not console.color:
        told = [0.0]

        def line(done: int, total: int, reused: int) -> None:
            if total and done < total and done / total >= told[0] + _LINE_EVERY:
                told[0] = done / total
                print(f"{done:,} of {total:,} results", file=console.stream, flush=True)

        return line, lambda: None
    bar = StatusLine(console.stream)
    began = time.monotonic()

    def show(done: int, total: int, reused: int) -> None:
        computed = done - reused
        left = (time.monotonic() - began) / computed * (total - done) if computed else 0.0
        bar.show(done / max(1, total), f"{done:,} of {total:,} results, about {left:.0f} s to go")

    return show, bar.close


def _jobs(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= 1024:
        raise argparse.ArgumentTypeError(f"found {text!r}; allowed: a whole number from 1 to 1024")
    return int(text)
