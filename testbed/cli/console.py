"""What the person at the terminal wants to see: handed to whatever reports progress."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from typing import TextIO

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
        color = stream.isatty() and not args.no_color and not os.environ.get("NO_COLOR")
        return cls(stream, -1 if args.quiet else args.verbose, color)
