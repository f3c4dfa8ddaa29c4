"""The summary on a terminal, with colour where there is one."""

from __future__ import annotations

import os
import textwrap
from typing import Any, TextIO

from testbed.report.summary import Line, summary_lines

__all__ = ["plain_summary", "print_summary", "wants_color"]

_WIDTH = 110
_STYLES = {
    "title": "bold",
    "head": "bold cyan",
    "pass": "green",
    "fail": "bold red",
    "unknown": "yellow",
    "skipped": "dim",
    "dim": "dim",
    "": "",
}


def wants_color(stream: TextIO, no_color: bool = False) -> bool:
    """A terminal, and nobody said no (https://no-color.org)."""
    return stream.isatty() and not no_color and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def plain_summary(result: dict[str, Any], width: int = _WIDTH) -> str:
    """`result`: the document of result.json. Ends with a newline."""
    return "".join(f"{row}\n" for line in summary_lines(result) for row in _rows(line, width))


def print_summary(result: dict[str, Any], stream: TextIO, *, no_color: bool = False) -> None:
    if not wants_color(stream, no_color):
        stream.write(plain_summary(result))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    for line in summary_lines(result):
        for number, row in enumerate(_rows(line, min(console.width, _WIDTH))):
            text = Text(row)
            if line.label and line.style in ("pass", "fail", "unknown", "skipped"):
                if number == 0:
                    text.stylize(_STYLES[line.style], line.indent, line.indent + len(line.label))
            else:
                text.stylize(_STYLES[line.style])
            console.print(text, soft_wrap=True)


def _rows(line: Line, width: int) -> list[str]:
    """Wrapped, continued under the text's first word."""
    first = " " * line.indent + line.label.ljust(line.label_width)
    hanging = " " * max(len(first), line.indent)
    rows: list[str] = []
    for part in line.text.splitlines() or [""]:
        start = first if not rows else hanging
        rows += textwrap.wrap(
            part, max(width, len(hanging) + 20), initial_indent=start, subsequent_indent=hanging,
            break_long_words=False, break_on_hyphens=False,
        ) or [start.rstrip()]  # fmt: skip
    return rows
