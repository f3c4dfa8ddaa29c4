"""Tables that fold words into more lines where they are too wide. Where even that does not do, they come in parts."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Sequence

from testbed.terminal.folding import HARD_BLANK, fold, with_units_held

__all__ = ["table_lines"]

_BETWEEN = 2
"""blanks between columns"""


def table_lines(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    *,
    text: Collection[int] = (0,),
    keys: int = 1,
    indent: int = 2,
    group: bool = False,
) -> Iterator[str]:
    """Lines of at most `width` columns. Columns of numbers stand to the right, those of `text` to the left. Cells are
    folded between words, except numbers, which never are. Where the longest words alone are too wide, the columns come
    in several tables, each with the first `keys` columns. Where even one column has no room next to them, each row
    comes as lines of `name: cell`. `group`: an empty line wherever the first column changes."""
    whole = [
        [with_units_held(cell) if index in text else cell.replace(" ", HARD_BLANK) for index, cell in enumerate(row)]
        for row in rows
    ]
    least = [_longest_word([head[index], *(row[index] for row in whole)]) for index in range(len(head))]
    if sum(least[:keys]) + _BETWEEN * keys + max(least[keys:], default=0) > width - indent:
        yield from _records(head, rows, width, indent)
        return
    for number, part in enumerate(_parts(least, width - indent, keys)):
        if number:
            yield ""
        shown = [[row[index] for index in part] for row in whole]
        sides = ["left" if index in text else "right" for index in part]
        yield from _render([head[index] for index in part], shown, sides, width, indent, group)


def _records(head: Sequence[str], rows: Sequence[Sequence[str]], width: int, indent: int) -> Iterator[str]:
    """A row after the other, a line for each column that has something."""
    for number, row in enumerate(rows):
        if number:
            yield ""
        for name, cell in zip(head, row, strict=True):
            if cell:
                first = " " * indent + (f"{name}: " if name else "")
                yield from (line.rstrip() for line in fold(cell, width, first, " " * (indent + 2)))


def _parts(least: Sequence[int], room: int, keys: int) -> Iterator[list[int]]:
    """Columns of each table."""
    first = list(range(keys))
    part = list(first)
    for index in range(keys, len(least)):
        if part != first and sum(least[at] + _BETWEEN for at in (*part, index)) - _BETWEEN > room:
            yield part
            part = list(first)
        part.append(index)
    yield part


def _render(
    head: list[str], rows: list[list[str]], sides: list[str], width: int, indent: int, group: bool
) -> Iterator[str]:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, _BETWEEN, 0, 0), show_edge=False)
    for name, side, fits in zip(head, sides, _widths([head, *rows], width - indent), strict=True):
        table.add_column(Text(name), justify=side, width=fits, overflow="fold")  # type: ignore[arg-type]
    for number, row in enumerate(rows):
        if group and number and row[0] != rows[number - 1][0]:
            table.add_row()
        table.add_row(*map(Text, row))
    out = io.StringIO()
    Console(file=out, width=10_000, color_system=None, force_terminal=False).print(table)
    yield from (f"{' ' * indent}{line}".rstrip() for line in out.getvalue().replace(HARD_BLANK, " ").splitlines())


def _widths(cells: Sequence[Sequence[str]], room: int) -> list[int]:
    """The widest columns give way first, none below its longest word."""
    columns = list(zip(*cells, strict=True))
    least = [_longest_word(column) for column in columns]
    widths = [max(map(len, column)) for column in columns]
    while sum(widths) + _BETWEEN * (len(widths) - 1) > room:
        spare = [index for index, width in enumerate(widths) if width > least[index]]
        if not spare:
            break
        widths[max(spare, key=lambda index: widths[index])] -= 1
    return widths


def _longest_word(cells: Sequence[str]) -> int:
    return max((len(word) for cell in cells for word in cell.split(" ")), default=0)
