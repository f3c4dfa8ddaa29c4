"""What the person at the terminal wants to see. `run_scenario` is handed a Console and tells it the run."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from testbed.plan import Plan
    from testbed.report.progress import Progress

__all__ = ["Console"]


@dataclass(frozen=True, slots=True)
class Console:
    """`tb -q`, `-v`, `--no-color`, `--json`, as values."""

    stream: TextIO
    """where people read: stdout, or stderr when stdout is for JSON alone"""
    verbosity: int = 0
    """-1 quiet, 0 normal, 1 verbose, 2 everything"""
    no_color: bool = False

    @classmethod
    def of(cls, args: argparse.Namespace) -> Console:
        stream = sys.stderr if getattr(args, "json", False) else sys.stdout
        return cls(stream, -1 if args.quiet else args.verbose, args.no_color)

    def progress(self, plan: Plan) -> Progress | None:
        """To be called with each record, and closed at the end; None when quiet."""
        if self.verbosity < 0:
            return None
        from testbed.report.progress import Progress

        return Progress(plan, self.stream, no_color=self.no_color)

    def note(self, line: str) -> None:
        """One line for people; nothing when quiet."""
        if self.verbosity >= 0:
            print(line, file=self.stream, flush=True)

    def summary(self, document: dict[str, Any]) -> None:
        """`document`: that of result.json."""
        from testbed.report.terminal import print_summary

        print_summary(document, self.stream, no_color=self.no_color)
