"""The summary on a terminal, with colour where there is one."""

from __future__ import annotations

from typing import Any, TextIO

from testbed.report.summary import Line, summary_lines
from testbed.terminal.folding import fold
from testbed.terminal.stream import PROSE, prose_columns, wants_color

__all__ = ["plain_summary", "print_summary"]

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


def plain_summary(result: dict[str, Any], width: int = PROSE) -> str:
    """`result`: the document of result.json. Ends with a newline."""
    return "".join(f"{row}\n" for line in summary_lines(result) for row in _rows(line, width))


def print_summary(result: dict[str, Any], stream: TextIO, *, no_color: bool = False) -> None:
    if not wants_color(stream, no_color):
        stream.write(plain_summary(result, prose_columns(stream)))
        return
    from rich.console import Console
    from rich.text import Text

    width = prose_columns(stream)
    console = Console(file=stream, highlight=False)
    for line in summary_lines(result):
        for number, row in enumerate(_rows(line, width)):
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
        rows += fold(part, max(width, len(hanging) + 20), start, hanging)
    return rows
