"""`tb bundle`: finished runs and sweeps as one archive that repeats itself."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from testbed.cli.console import Console
from testbed.cli.values import named_path
from testbed.terminal.folding import fold
from testbed.terminal.stream import columns, shown_path
from workloads.errors import ScenarioError

__all__ = ["configure_bundle", "run_bundle"]


def configure_bundle(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ./tb bundle jct-against-loss -o artifact.zip
  ./tb bundle runs/latest runs/sweeps/jct-against-loss -o artifact.zip --machine
"""
    parser.add_argument(
        "sources", metavar="SOURCE", nargs="+", type=named_path,
        help="run directories, folders of sweeps, or names of sweeps in runs/sweeps",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--out", metavar="FILE", type=named_path, default=Path("artifact.zip"),
        help="the archive (default: artifact.zip)",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace an archive that exists")
    parser.add_argument("--partial", action="store_true", help="also pack sweeps with points that were not computed")
    parser.add_argument(
        "--machine", action="store_true", help="also record the CPU model, the cores and the kernel of this machine"
    )


def run_bundle(args: argparse.Namespace) -> int:
    from testbed.bundle.archive import TOP, archive
    from testbed.bundle.machine import machine
    from testbed.bundle.sources import read_experiments
    from testbed.terminal.numbers import byte_size
    from testbed.terminal.words import amount
    from workloads.trusted import write_named

    _require_free(args.out, args.force)
    experiments = read_experiments(args.sources, partial=args.partial)
    packed = archive(experiments, machine() if args.machine else None)
    write_named(args.out, packed, key="--out")
    console = Console.of(args)
    if console.verbosity < 0:
        return 0
    runs = amount(sum(len(experiment.runs) for experiment in experiments), "run")
    lines = [f"{shown_path(args.out)}: {runs}, {byte_size(len(packed))}"]
    for experiment in experiments:
        if experiment.left_out:
            lines.append(f"  {experiment.name}: {amount(len(experiment.left_out), 'point')} without a result")
        lines += [
            f"  {experiment.name}: {name} is not packed: it may show absolute paths" for name in experiment.hidden
        ]
    lines.append(f"  to repeat it: unzip {shown_path(args.out)}, then python3 {TOP}/repeat.py CHECKOUT")
    for line in lines:
        for part in fold(line, columns(console.stream)):
            print(part, file=console.stream)
    return 0


def _require_free(out: Path, force: bool) -> None:
    """Raises ScenarioError where the archive cannot be put there, before anything is read."""
    if not os.path.lexists(out):
        return
    if out.is_symlink() or not out.is_file():
        found = "a link" if out.is_symlink() else "a folder" if out.is_dir() else "another kind of file"
        raise ScenarioError(
            "is no plain file", file="tb bundle", key="--out", found=f"{shown_path(out)}: {found}", allowed="a new file"
        )
    if not force:
        raise ScenarioError(
            "exists already", file="tb bundle", key="--out", found=shown_path(out),
            allowed="a new file, or --force, which replaces it",
        )  # fmt: skip
