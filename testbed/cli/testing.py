"""`tb test`: linters, type checks, then pytest, each shown; all of them run even when one fails."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

__all__ = ["configure_test", "run_test"]

_TOP = Path(__file__).resolve().parent.parent.parent


def steps(pytest_args: list[str]) -> list[list[str]]:
    """The commands, without the interpreter in front."""
    return [["ruff", "check"], ["ruff", "format", "--check"], ["mypy"], ["pytest", *pytest_args]]


def configure_test(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  sudo ./tb test\n  sudo ./tb test -k requester -x\n"
    parser.add_argument("pytest_args", nargs="*", metavar="PYTEST_ARG", help="handed to pytest as they are")


def run_test(args: argparse.Namespace) -> int:
    failed = []
    for step in steps(args.pytest_args):
        print(f"== {shlex.join(step)}", flush=True)
        # -P as in ./tb: the current folder is not searched for modules.
        status = subprocess.run([sys.executable, "-P", "-m", *step], cwd=_TOP, check=False).returncode
        if status:
            failed.append(f"{step[0] if step[0] != 'ruff' else ' '.join(step[:2])} (exit {status})")
    print(f"== {'failed: ' + ', '.join(failed) if failed else 'all passed'}", flush=True)
    return 1 if failed else 0
