"""What the person at the terminal wants to see: handed to whatever reports progress."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TextIO

from testbed.terminal.stream import wants_color

__all__ = ["Console"]


@dataclass(frozen=True, slots=True)
class Console:
    """`tb -q`, `-v`, `--no-color`, `--json`, as values."""

    stream: TextIO
    """where people read: stdout, or stderr when stdout is for JSON alone"""
    verbosity: int
    """-1 quiet, 0 normal, 1 verbose, 2 everything"""
    color: bool
    """colours and live progress; False: plain lines"""

    @classmethod
    def of(cls, args: argparse.Namespace) -> Console:
        stream = sys.stderr if getattr(args, "json", False) else sys.stdout
        return cls(stream, -1 if args.quiet else args.verbose, wants_color(stream, args.no_color))
