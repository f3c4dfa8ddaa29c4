"""Text folded between words. No word is ever cut: one that is longer than the line stands on a line of its own. A
number stays on one line with its unit."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

__all__ = ["HARD_BLANK", "fold", "fold_laid_out", "fold_lines", "joined", "paragraphs", "with_units_held"]

HARD_BLANK = "\ue000"
"""stands for a blank at which text is not folded"""

_UNIT = re.compile(r"(?<=\d) (?=(?:(?:[mun]?s|min|h|%|bytes?|[kMGT]?(?:B|bps|bits?(?:/s)?))(?![\w/])))")
"""the blank between a number and its unit"""
_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
_COMMANDS = ("replay: ", "tb: run it again: ")
"""what begins so is a command: a shell would run its first line"""
_MOST_HANGING = 0.6
"""share of the width: text that begins further to the right would have no room under itself"""


def fold(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """At least one line; the first begins with `first`, the others with `rest`. A command to be copied stays one
    line."""
    if f"{first}{text}".lstrip().startswith(_COMMANDS):
        return [f"{first}{text}"]
    rows = textwrap.wrap(
        with_units_held(text), width, initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return [row.replace(HARD_BLANK, " ") for row in rows] or [first.rstrip()]


def with_units_held(text: str) -> str:
    """With `HARD_BLANK` between each number and its unit."""
    return _UNIT.sub(HARD_BLANK, text)


def joined(text: str) -> list[str]:
    """The paragraphs of a text that its author broke into lines, each in one line. Empty lines separate them, and lines
    that are indented stay as they are."""
    found: list[str] = []
    open_ = False
    for line in text.rstrip().splitlines():
        own = not line.strip() or line[:1].isspace()
        if open_ and not own:
            found[-1] += f" {line.strip()}"
        else:
            found.append(line.rstrip())
        open_ = not own
    return found


def fold_laid_out(line: str, width: int) -> list[str]:
    """A line that has columns of its own (two or more blanks between them) goes on under its last column, else under
    its first word, two to the right."""
    if len(line) <= width:
        return [line]
    indent = len(line) - len(line.lstrip())
    gaps = [gap.end() for gap in _GAP.finditer(line) if gap.end() <= width * _MOST_HANGING]
    at = gaps[-1] if gaps else indent
    hanging = " " * (at if gaps else indent + 2)
    return fold(line[at:], width, line[:at], hanging)


def fold_lines(lines: Iterable[str], width: int) -> Iterator[str]:
    for line in lines:
        yield from fold_laid_out(line, width)


def paragraphs(text: str, width: int) -> Iterator[str]:
    """A text that its author broke into lines, folded again; what is prose stays flush."""
    for line in joined(text):
        prose = not line[:1].isspace() and not _GAP.search(line)
        yield from fold(line, width) if prose else fold_laid_out(line, width)
