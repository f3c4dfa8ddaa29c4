"""The matrix as lines of a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from testbed.protocols.ps.bench_evolution.cells import MODELS, SKEWS, Cell
from testbed.protocols.ps.bench_evolution.runs import EvolutionFigures
from testbed.terminal.tables import table_lines

__all__ = ["best_of", "by_column", "matrix_lines", "wins"]

Found = Mapping[Cell, EvolutionFigures]
Column = tuple[str, str, str, str, str]
_ALIKE = 1.01
"""a scheme that is so near to the best wins, too"""


def note_of_scale() -> str:
    scales = ", ".join(f"{model.name} by {model.scale}" for model in MODELS)
    return (
        "sizes and link rates (10 Gbit/s at hosts) are divided alike, so times are those of the whole model: "
        f"{scales}. Every packet is simulated in virtual time. Computing takes 100 ms in every cell"
    )


def by_column(found: Found) -> dict[Column, dict[str, EvolutionFigures]]:
    columns: dict[Column, dict[str, EvolutionFigures]] = {}
    for cell, figures in found.items():
        columns.setdefault(cell.column, {})[cell.scheme.name] = figures
    return columns


def best_of(column: Mapping[str, EvolutionFigures]) -> float:
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
    part: Mapping[Column, Mapping[str, EvolutionFigures]],
    names: Sequence[str],
    width: int,
    show: Callable[[EvolutionFigures, float], str],
) -> Iterator[str]:
    rows = [[_shown(column), *(show(each[name], best_of(each)) for name in names)] for column, each in part.items()]
    yield from table_lines(("where", *names), rows, width, text=(0,))


def _shown(column: Column) -> str:
    fabric, server, ranks = column[:3]
    return fabric if server == "-" else f"{fabric}, server {server}, {ranks}"
