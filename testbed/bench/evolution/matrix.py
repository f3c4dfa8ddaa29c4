"""The matrix: as lines of a terminal, as CSV, and as a page."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from io import StringIO

from testbed.bench.evolution.cells import MODELS, SKEWS, Cell
from testbed.bench.evolution.runs import Figures
from testbed.terminal.tables import table_lines

__all__ = ["best_of", "matrix_csv", "matrix_lines", "matrix_page", "note_of_scale", "wins"]

Found = Mapping[Cell, Figures]
Column = tuple[str, str, str, str, str]
_PLACE = ("fabric", "server", "ranks", "skew", "model")
_COLUMNS = (
    *_PLACE, "scheme", "iteration_s", "ratio_to_best", "communication_s", "busiest_link", "busiest_link_gradients",
    "busiest_link_bytes",
)  # fmt: skip
_ALIKE = 1.01
"""a scheme that is so near to the best wins, too"""
_CSS = """
body{font:14px/1.4 system-ui,sans-serif;margin:1.5rem auto;max-width:90rem;padding:0 1rem;color:#1b1f24;background:#fff}
.wide{overflow-x:auto}table{border-collapse:collapse}th,td{border:1px solid #d5dae0;padding:.3rem .5rem}
td{text-align:right}td small{display:block;color:#5c6670}.best{background:#e3f5e6;font-weight:600}th{text-align:left}
@media(prefers-color-scheme:dark){body{color:#e6e9ec;background:#14171a}th,td{border-color:#3a4046}.best{background:#16351d}}
"""


def note_of_scale() -> str:
    scales = ", ".join(f"{model.name} by {model.scale}" for model in MODELS)
    return (
        "sizes and link rates (10 Gbit/s at hosts) are divided alike, so times are those of the whole model: "
        f"{scales}. Every packet is simulated in virtual time. Computing takes 100 ms in every cell"
    )


def by_column(found: Found) -> dict[Column, dict[str, Figures]]:
    columns: dict[Column, dict[str, Figures]] = {}
    for cell, figures in found.items():
        columns.setdefault(cell.column, {})[cell.scheme.name] = figures
    return columns


def best_of(column: Mapping[str, Figures]) -> float:
    """Iteration time of the best scheme, s."""
    return min(figures.iteration_s for figures in column.values())


def wins(found: Found) -> dict[str, tuple[int, float]]:
    """By scheme: columns in which it is the best or within 1 % of it, and its largest ratio to the best."""
    columns, names = by_column(found), dict.fromkeys(cell.scheme.name for cell in found)
    ratios = {name: [each[name].iteration_s / best_of(each) for each in columns.values()] for name in names}
    return {name: (sum(ratio <= _ALIKE for ratio in each), max(each)) for name, each in ratios.items()}


def matrix_lines(found: Found, width: int) -> Iterator[str]:
    """Tables by model and skew, of at most `width` columns."""
    columns, names = by_column(found), list(dict.fromkeys(cell.scheme.name for cell in found))
    yield f"Scale: {note_of_scale()}."
    for model in MODELS:
        for skew in SKEWS:
            part = {
                column: each for column, each in columns.items() if (column[3], column[4]) == (f"{skew} %", model.name)
            }
            if not part:
                continue
            yield ""
            yield f"{model.name}, one worker late by {skew} % of computing: iteration in ms (times the best)"
            yield from _table(
                part,
                names,
                width,
                lambda figures, best: f"{1000 * figures.iteration_s:.0f} ({figures.iteration_s / best:.2f})",
            )
    yield ""
    last = MODELS[-1].name
    yield f"{last}, bytes on the busiest link and direction, in gradients"
    part = {column: each for column, each in columns.items() if column[3:] == (f"{SKEWS[0]} %", last)}
    yield from _table(part, names, width, lambda figures, best: f"{figures.busiest:.2f}")
    yield ""
    yield f"Of {len(columns)} columns"
    lines = [[name, str(count), f"{worst:.2f}"] for name, (count, worst) in wins(found).items()]
    yield from table_lines(("", "best in", "at worst, times the best"), lines, width, text=(0,))


def _table(
    part: Mapping[Column, Mapping[str, Figures]],
    names: Sequence[str],
    width: int,
    show: Callable[[Figures, float], str],
) -> Iterator[str]:
    rows = [[_shown(column), *(show(each[name], best_of(each)) for name in names)] for column, each in part.items()]
    yield from table_lines(("where", *names), rows, width, text=(0,))


def _shown(column: Column) -> str:
    fabric, server, ranks = column[:3]
    return fabric if server == "-" else f"{fabric}, server {server}, {ranks}"


def matrix_csv(found: Found) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    columns = by_column(found)
    for cell, figures in found.items():
        best = best_of(columns[cell.column])
        writer.writerow([
            *cell.column, cell.scheme.name, f"{figures.iteration_s:.6f}", f"{figures.iteration_s / best:.4f}",
            f"{figures.communication_s:.6f}", figures.busiest_link, f"{figures.busiest:.4f}",
            round(figures.busiest * cell.model.elements * 4),
        ])  # fmt: skip
    return text.getvalue()


def matrix_page(found: Found) -> str:
    columns, names = by_column(found), list(dict.fromkeys(cell.scheme.name for cell in found))
    head = "".join(f"<th>{escape(name)}</th>" for name in (*_PLACE, *names))
    body = []
    for column, each in columns.items():
        best = best_of(each)
        cells = "".join(_cell(each[name], best) for name in names)
        body.append("<tr>" + "".join(f"<th>{escape(word)}</th>" for word in column) + cells + "</tr>\n")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width,initial-scale=1"><title>Which optimisation is best where</title>'
        f"<style>{_CSS}</style></head><body>\n<h1>Which optimisation is best where</h1>\n"
        "<p>Iteration time, its ratio to the best in its line, and gradients on the busiest link; "
        f'{escape(note_of_scale())}.</p>\n<div class="wide"><table>\n<tr>{head}</tr>\n{"".join(body)}</table></div>'
        "\n</body></html>\n"
    )


def _cell(figures: Figures, best: float) -> str:
    ratio = figures.iteration_s / best
    kind = ' class="best"' if ratio <= _ALIKE else ""
    return (
        f"<td{kind}>{1000 * figures.iteration_s:.0f} ms<small>{ratio:.2f} &middot; "
        f"{figures.busiest:.2f} n on {escape(figures.busiest_link)}</small></td>"
    )
