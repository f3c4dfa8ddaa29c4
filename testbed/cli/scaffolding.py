"""`tb new`: packages for parts of the user's own."""

from __future__ import annotations

import argparse
from pathlib import Path

from testbed.cli.console import Console
from testbed.cli.values import named_path
from testbed.terminal.stream import shown_path

__all__ = ["configure_new", "run_new"]


def configure_new(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ./tb new protocol thirds
  ./tb new protocol thirds --out ~/thirds
"""
    parser.add_argument("kind", choices=("protocol",), help="what the package adds")
    parser.add_argument("name", metavar="NAME", help="of the protocol: small letters, digits and _")
    parser.add_argument("--out", metavar="DIR", type=named_path, help="folder of the package (default: NAME)")


def run_new(args: argparse.Namespace) -> int:
    from testbed.scaffold.protocol import files_of_protocol, write_package

    files = files_of_protocol(args.name)
    folder: Path = args.out or Path(args.name)
    write_package(folder, files)
    console = Console.of(args)
    if console.verbosity >= 0:
        print(f"{shown_path(folder)}: {len(files)} files")
        print(f"next: install it (pip install -e {shown_path(folder)}), then read {shown_path(folder)}/README.md")
    return 0
