"""`tb test`: linters, type checks, then pytest, each shown; all of them run even when one fails.

Tests that only compute share the processors; those that own parts of the machine (namespaces, guests, the kernel's
programs) run one after the other. Those of the marks `minutes` and `long` are for CI (`python -m testbed.cli.testing`).
`--fast` tries those of the mark `quick`.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from testbed.terminal.shellwords import shell_words
from workloads.errors import HostCapabilityError

__all__ = ["configure_test", "run_test", "steps", "steps_of_ci"]

_TOP = Path(__file__).resolve().parent.parent.parent


_OWNS_THE_MACHINE = "root or mininet or ebpf or rxe"
"""marks (setup.cfg)"""
_FOR_CI = "minutes or long"
"""Marks of tests that `tb test` omits: hunts that take long, further tests of a kind if `tb test` runs others of it,
and tests that cost much."""
_QUICK = "quick"
_NOT_QUICK = "left out by --fast: mypy; tests that own the machine, that cost 0.1 s and more, and cases after the first"
_SPELLED = ("README.md", "docs", "testbed", "switch_nodes", "workloads", "topologies", "playbooks")
_MOST_PROCESSES = 8
_SLOWEST = ["--durations", "12"]
"""The option that prints the slowest tests at the end, so that a growing suite is noticed"""


def steps(pytest_args: list[str], *, fast: bool = False) -> list[list[str]]:
    """The commands, without the interpreter in front. With arguments: pytest as it is."""
    linters = [["ruff", "check"], ["ruff", "format", "--check"], ["codespell_lib", *_SPELLED]]
    if fast:
        return [*linters, ["pytest", "-m", _QUICK, *_shared("loadfile"), *pytest_args]]
    linters.append(["mypy"])
    if pytest_args:
        return [*linters, ["pytest", *pytest_args]]
    # Files stay whole: many share what their first test makes.
    return [*linters, *_pytests(f"not ({_FOR_CI})", "loadfile")]


def steps_of_ci() -> list[list[str]]:
    """What `tb test` leaves out."""
    return _pytests(f"({_FOR_CI})", "worksteal")


def _pytests(which: str, distribution: str) -> list[list[str]]:
    return [
        ["pytest", "-m", f"{which} and not ({_OWNS_THE_MACHINE})", *_shared(distribution), *_SLOWEST],
        ["pytest", "-m", f"{which} and ({_OWNS_THE_MACHINE})", *_SLOWEST],
    ]


def _shared(distribution: str) -> list[str]:
    return ["-n", str(min(os.cpu_count() or 1, _MOST_PROCESSES)), "--dist", distribution]


def configure_test(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  sudo ./tb test\n  ./tb test --fast\n  sudo ./tb test -k requester -x\n"
    parser.add_argument(
        "--fast",
        action="store_true",
        help="linters but mypy, and the first case of each quick test that needs no root; at most 90 s",
    )
    parser.add_argument("pytest_args", nargs="*", metavar="PYTEST_ARG", help="handed to pytest as they are")


def left_out() -> list[str]:
    """What no test here can have tried, whichever were asked for."""
    if importlib.util.find_spec("torch") is not None:
        return []
    why = "TB_NO_TORCH is set" if os.environ.get("TB_NO_TORCH") else "./tb said why when it began"
    return [f"the backend of torch.distributed: PyTorch is not installed ({why})"]


def run_test(args: argparse.Namespace) -> int:
    if not (_TOP / "tests").is_dir():
        raise HostCapabilityError(
            "the tests, which are no part of an installed package", "clone the repository and use its ./tb test"
        )
    return _run(steps(args.pytest_args, fast=args.fast), [_NOT_QUICK] if args.fast else [])


def _run(commands: list[list[str]], untried: Sequence[str] = ()) -> int:
    failed = []
    for step in commands:
        print(f"== {shell_words(step)}", flush=True)
        # -P as in ./tb: the current folder is not searched for modules.
        status = subprocess.run([sys.executable, "-P", "-m", *step], cwd=_TOP, check=False).returncode
        if status:
            failed.append(f"{step[0] if step[0] != 'ruff' else ' '.join(step[:2])} (exit {status})")
    for line in [*untried, *(f"left out: {line}" for line in left_out())]:
        print(f"== {line}", flush=True)
    print(f"== {'failed: ' + ', '.join(failed) if failed else 'all passed'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(_run(steps_of_ci()))
