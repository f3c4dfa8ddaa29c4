"""How wide a stream is, whether it may be coloured, and complaints on stderr."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO

from testbed.terminal.activity import hide
from testbed.terminal.folding import fold_laid_out, fold_lines
from testbed.terminal.shellwords import shell_word
from workloads.visible import visible

__all__ = ["PROSE", "columns", "complain", "is_terminal", "near", "prose_columns", "say", "shown_path", "wants_color"]

PROSE = 110
"""Sentences are not wider than that on any terminal: longer lines are hard to follow. Tables take all there is."""
_DEFAULT = 80
"""width of what is no terminal, as other programs have it"""
_LEAST = 40
"""width of what can be laid out at all"""


def columns(stream: TextIO) -> int:
    """COLUMNS where it is set, else the width of the terminal that `stream` is, else 80."""
    columns_text = os.environ.get("COLUMNS", "")
    if columns_text.isascii() and columns_text.isdigit() and int(columns_text):
        return max(_LEAST, int(columns_text[:6]))
    try:
        own = os.get_terminal_size(stream.fileno()).columns
    except (AttributeError, ValueError, OSError):  # no file, closed, no terminal
        own = 0
    return max(_LEAST, own) if own else _DEFAULT


def prose_columns(stream: TextIO) -> int:
    """For sentences."""
    return min(columns(stream), PROSE)


def is_terminal(stream: TextIO) -> bool:
    """A terminal that can move its cursor back."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def wants_color(stream: TextIO, no_color: bool = False) -> bool:
    """Whether the stream is a terminal, and neither `no_color` nor NO_COLOR asks for plain text
    (https://no-color.org)."""
    return is_terminal(stream) and not no_color and not os.environ.get("NO_COLOR")


def complain(*lines: str) -> None:
    """On stderr: folded on a terminal; elsewhere each line stays one, so that it can be searched for."""
    hide()
    width = columns(sys.stderr)
    for line in lines:
        for part in line.splitlines() or [""]:
            rows = fold_laid_out(part, width) if sys.stderr.isatty() else [part]
            sys.stderr.write("".join(f"{row}\n" for row in rows))
    sys.stderr.flush()


def say(*lines: str, stream: TextIO | None = None) -> None:
    """On stdout, or on `stream`, folded to its width."""
    hide()
    where = sys.stdout if stream is None else stream
    where.writelines(f"{row}\n" for row in fold_lines(lines, columns(where)))
    where.flush()


def near(path: Path) -> str:
    """As seen from where the user is, when it is below that."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def shown_path(path: Path) -> str:
    """`near`, in a form that a shell reads where characters of it cannot be seen."""
    found = near(path)
    return found if visible(found) == found else shell_word(found)
