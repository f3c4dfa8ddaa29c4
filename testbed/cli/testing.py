"""`tb test`: linters, type checks, then pytest, each shown; all of them run even when one fails.

Tests that only compute share the processors; those that own parts of the machine (namespaces, guests, the kernel's
programs) run one after the other. Those of the mark `minutes` are for CI (`python -m testbed.cli.testing`).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from testbed.terminal.shellwords import shell_words
from workloads.errors import HostCapabilityError

__all__ = ["configure_test", "run_test", "steps", "steps_of_ci"]

_TOP = Path(__file__).resolve().parent.parent.parent


_OWNS_THE_MACHINE = "root or mininet or ebpf or rxe"
"""marks (setup.cfg)"""
_FOR_CI = "minutes"
"""mark of tests that `tb test` omits: hunts that take long, and further tests of a kind if `tb test` runs others of
it"""
_MOST_PROCESSES = 8
_SLOWEST = ["--durations", "12"]
"""option that prints the slowest tests at the end, so that a growing suite is noticed"""


def steps(pytest_args: list[str]) -> list[list[str]]:
    """The commands, without the interpreter in front. With arguments: pytest as it is."""
    linters = [["ruff", "check"], ["ruff", "format", "--check"], ["mypy"]]
    if pytest_args:
        return [*linters, ["pytest", *pytest_args]]
    # Files stay whole: many share what their first test makes.
    return [*linters, *_pytests(f"not {_FOR_CI}", "loadfile")]


def steps_of_ci() -> list[list[str]]:
    """What `tb test` leaves out."""
    return _pytests(_FOR_CI, "worksteal")


def _pytests(which: str, distribution: str) -> list[list[str]]:
    processes = str(min(os.cpu_count() or 1, _MOST_PROCESSES))
    shared = ["-n", processes, "--dist", distribution]
    return [
        ["pytest", "-m", f"{which} and not ({_OWNS_THE_MACHINE})", *shared, *_SLOWEST],
        ["pytest", "-m", f"{which} and ({_OWNS_THE_MACHINE})", *_SLOWEST],
    ]


def configure_test(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  sudo ./tb test\n  sudo ./tb test -k requester -x\n"
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
    return _run(steps(args.pytest_args))


def _run(commands: list[list[str]]) -> int:
    failed = []
    for step in commands:
        print(f"== {shell_words(step)}", flush=True)
        # -P as in ./tb: the current folder is not searched for modules.
        status = subprocess.run([sys.executable, "-P", "-m", *step], cwd=_TOP, check=False).returncode
        if status:
            failed.append(f"{step[0] if step[0] != 'ruff' else ' '.join(step[:2])} (exit {status})")
    for line in left_out():
        print(f"== left out: {line}", flush=True)
    print(f"== {'failed: ' + ', '.join(failed) if failed else 'all passed'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(_run(steps_of_ci()))
