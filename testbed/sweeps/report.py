"""A finished sweep for programs (JSON, CSV) and for people (text)."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from testbed.sweeps.analysis import AnalysisPoint, Crossover, best_counts, by_point, crossovers
from testbed.sweeps.engine import Finished
from testbed.sweeps.parameters import FAMILIES
from testbed.terminal.numbers import seconds, significant
from testbed.terminal.stream import PROSE
from testbed.terminal.tables import table_lines
from testbed.terminal.words import amount
from workloads.costs import threshold_ratio
from workloads.trusted import write_file

__all__ = ["document", "summary", "table_axes", "to_json", "write_files"]

_MOST_LINES = 64
"""most lines of one table on a terminal; files hold all"""


def document(finished: Finished) -> dict[str, Any]:
    """As results.json: parameters in base units (bits per second, bytes, nanoseconds), times in seconds."""
    sweep, points = finished.sweep, by_point(finished.rows)
    return {
        "schema": 1,
        "sweep": sweep.name,
        "model": sweep.model,
        "family": sweep.family,
        "algorithms": list(sweep.algorithms),
        "code": finished.code,
        "skipped": dict(finished.skipped),
        "results": [
            {"algorithm": task.algorithm, "parameters": task.values, **result} for task, result in finished.rows
        ],
        "best": dict(best_counts(points)),
        "crossovers": [
            {"along": item.along, "parameters": item.values, "found": item.found, "closed_form": item.closed,
                "wins": item.wins}
            for item in crossovers(points)
        ],
    }  # fmt: skip


def to_json(finished: Finished) -> str:
    return json.dumps(document(finished), indent=1) + "\n"


def write_files(finished: Finished, folder: Path) -> tuple[Path, Path]:
    """results.json and results.csv: one row per algorithm and point."""
    as_json, as_csv = folder / "results.json", folder / "results.csv"
    write_file(as_json, to_json(finished))
    names = list(FAMILIES[finished.sweep.family])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["model", "algorithm", *names, "seconds", "packet_hops", "events"])
    for task, result in finished.rows:
        values = task.values
        figures = [result["seconds"], result["packet_hops"], result["events"]]
        writer.writerow([task.model, task.algorithm, *(values[name] for name in names), *figures])
    write_file(as_csv, text.getvalue())
    return as_json, as_csv


def summary(finished: Finished, width: int = PROSE) -> Iterator[str]:
    """Lines for a person; tables are at most `width` columns wide."""
    sweep, points = finished.sweep, by_point(finished.rows)
    computed = len(finished.rows) - finished.reused
    yield (
        f"{sweep.name}: {amount(len(points), 'point')}, {amount(len(finished.rows), 'result')} of the {sweep.model} "
        "model"
    )
    anew = f" (of them {finished.anew:,} again, because the code changed)" if finished.anew else ""
    yield f"  computed now {computed:,}{anew}, already there {finished.reused:,}"
    for reason, count in sorted(finished.skipped.items()):
        yield f"  left out {count:,}: {reason}"
    if not points:
        return
    counts = best_counts(points)
    shares = ", ".join(f"{name} at {counts[name]:,}" for name in sweep.algorithms if counts[name])
    yield f"  fastest: {shares} of {amount(len(points), 'point')}"
    yield from _gains(finished, points, width)
    found = crossovers(points)
    yield from _crossovers(
        [item for item in found if item.along == "alpha"], "alpha* where PN = FR (PN wins above it)", width
    )
    ratios = [item for item in found if item.along == "ratio"]
    yield from _crossovers(ratios, "B_intra/B_inter where PN = FR (PN wins above it)", width)


def table_axes(finished: Finished) -> tuple[list[str], str | None]:
    """(parameters that vary down a table, the one that varies across it)"""
    varied = [name for name, values in finished.sweep.axes if len(values) > 1]
    if not varied:
        return [], None
    across = "alpha" if "alpha" in varied else varied[-1]
    return [name for name in varied if name != across], across


def _gains(finished: Finished, points: Sequence[AnalysisPoint], width: int) -> Iterator[str]:
    """How much faster than the first algorithm the best one is, and which that is."""
    down, across = table_axes(finished)
    if across is None:
        for point in points:
            times = ", ".join(f"{name} {seconds(took_s)}" for name, took_s in point.seconds.items())
            yield f"  {times}"
        return
    base, known = finished.sweep.algorithms[0], FAMILIES[finished.sweep.family]
    columns = next(values for name, values in finished.sweep.axes if name == across)
    cells: dict[tuple[int, ...], dict[int, str]] = {}
    for point in points:
        if base in point.seconds:
            gain = point.seconds[base] / point.seconds[point.best]
            row = cells.setdefault(tuple(point.values[name] for name in down), {})
            row[point.values[across]] = f"{point.best} {gain:.3g}x"
    yield f"\nfastest, and how much faster than {base}; across: {across}"
    head = [*down, *(known[across].show(value) for value in columns)]
    rows = [
        [*(known[n].show(v) for n, v in zip(down, key, strict=True)), *(row.get(value, "-") for value in columns)]
        for key, row in cells.items()
    ]
    yield from _table(head, rows, width, len(down))


def _crossovers(found: list[Crossover], title: str, width: int) -> Iterator[str]:
    if not found:
        return
    varied = [name for name in found[0].values if len({item.values[name] for item in found}) > 1]
    known = FAMILIES["machines"]
    along_alpha = found[0].along == "alpha"
    yield f"\n{title}"
    rows = []
    settled = Counter(item.wins for item in found if item.found is None and item.closed is None)
    for item in found:
        if item.found is None and item.closed is None:
            continue
        there = [known[name].show(item.values[name]) for name in varied]
        shown = [_length(value, along_alpha) for value in (item.found, item.closed)]
        if item.found is None:
            shown[0] = f"{item.wins} always here"
        off = f"{item.found / item.closed - 1:+.2%}" if item.found and item.closed else ""
        limit = (
            []
            if along_alpha
            else [f"{significant(threshold_ratio(item.values['gpus'], item.values['gpus_per_machine']))}"]
        )
        rows.append([*there, *shown, off, *limit])
    rest = [] if along_alpha else ["for every size"]
    if rows:
        yield from _table([*varied, "found", "closed form", "off", *rest], rows, width, len(varied))
    for name, count in sorted(settled.items()):
        yield f"  {name} always, and no such point in closed form, at {amount(count, 'other setting')}"


def _length(value: float | None, along_alpha: bool) -> str:
    if value is None or not math.isfinite(value):
        return "none"
    return seconds(value) if along_alpha else significant(value)


def _table(head: list[str], rows: list[list[str]], width: int, keys: int) -> Iterator[str]:
    shown = rows[:_MOST_LINES]
    yield from table_lines(head, shown, width, text=(), keys=keys)
    if len(rows) > len(shown):
        yield f"  ... and {len(rows) - len(shown):,} more, all in results.json"
