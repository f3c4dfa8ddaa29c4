"""A finished sweep over scenarios for programs (JSON, CSV) and for people (text)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from testbed.comparison.units import show_figure
from testbed.reading.problems import closest
from testbed.sweeps.groups import PointGroup, groups_of
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.shown import show_summary
from testbed.sweeps.statistics import CONFIDENCE, Summary, interval_words
from testbed.sweeps.table import csv_text, row_of
from testbed.sweeps.values import shown_value
from testbed.terminal.folding import fold
from testbed.terminal.stream import PROSE
from testbed.terminal.tables import table_lines
from testbed.terminal.words import amount
from workloads.trusted import write_file

__all__ = [
    "known_figures",
    "scenario_document",
    "scenario_json",
    "scenario_rows",
    "scenario_summary",
    "write_scenario_files",
    "write_summary",
]

_MOST_LINES, _MOST_REASONS = 64, 12
_VERDICTS = ("pass", "fail", "unknown", "invalid", "failed", "pending")


def known_figures(finished: FinishedScenarios) -> list[str]:
    """Every figure that some point reported, those of the sweep first."""
    names = dict.fromkeys(finished.sweep.figures)
    for outcome in finished.outcomes:
        names |= dict.fromkeys(outcome.figures)
    return list(names)


def scenario_rows(finished: FinishedScenarios) -> list[dict[str, Any]]:
    """One for each point: labels, seed, status, verdict, reason, then every figure."""
    figures = known_figures(finished)
    triples = zip(finished.points, finished.outcomes, finished.names, strict=True)
    return [row_of(point, outcome, name, figures) for point, outcome, name in triples]


def scenario_document(finished: FinishedScenarios) -> dict[str, Any]:
    """As results.json."""
    sweep = finished.sweep
    return {
        "schema": 1,
        "sweep": sweep.name,
        "kind": "scenarios",
        "description": sweep.description,
        "code": finished.code,
        "confidence": CONFIDENCE,
        "dimensions": {name: list(values) for name, values in sweep.dimensions.items()},
        "seeds": sorted({point.seed for point in finished.points}),
        "verdicts": dict(_verdicts(finished)),
        "summary": [
            {"labels": dict(group.labels), "verdicts": dict(group.verdicts), "reason": group.reason}
            | {"figures": {figure: _values(group.summary(figure)) for figure in sweep.figures}}
            for group in groups_of(finished)
        ],
        "results": [
            {"labels": dict(point.labels), "seed": point.seed, "world": point.world, "status": outcome.status}
            | {"verdict": outcome.verdict, "expect": point.expect, "reason": outcome.reason}
            | {"untimed": outcome.untimed, "wall_s": outcome.wall_s}
            | {"point": "" if point.problem else name, "figures": dict(outcome.figures)}
            for point, outcome, name in zip(finished.points, finished.outcomes, finished.names, strict=True)
        ],
    }


def scenario_json(finished: FinishedScenarios) -> str:
    return json.dumps(scenario_document(finished), indent=1, ensure_ascii=False) + "\n"


def write_scenario_files(finished: FinishedScenarios, folder: Path) -> tuple[Path, Path, Path]:
    """results.json; results.csv: a row for each run; summary.csv: a row for each point and figure, over its seeds."""
    paths = folder / "results.json", folder / "results.csv", folder / "summary.csv"
    write_file(paths[0], scenario_json(finished))
    write_file(paths[1], csv_text(scenario_rows(finished)))
    write_summary(finished, folder)
    return paths


def write_summary(finished: FinishedScenarios, folder: Path) -> Path:
    """summary.csv alone."""
    write_file(folder / "summary.csv", csv_text(_summary_rows(finished)))
    return folder / "summary.csv"


def _summary_rows(finished: FinishedScenarios) -> Iterator[dict[str, Any]]:
    for group in groups_of(finished):
        labels = {name: shown_value(value) for name, value in group.labels}
        verdicts = {name: group.verdicts.get(name, 0) for name in _VERDICTS}
        for figure in finished.sweep.figures:
            values = _values(group.summary(figure)) or dict.fromkeys(_values(Summary(0, 0, 0, 0, 0, 0, 0, 0)) or ())
            untrusted = group.left_out(figure)["untrusted"]
            yield labels | {"figure": figure, "of": len(group.points)} | values | verdicts | {"untrusted": untrusted}


def _values(summary: Summary | None) -> dict[str, Any] | None:
    if summary is None:
        return None
    bounds = {"low": summary.low, "high": summary.high} if summary.has_interval else {"low": None, "high": None}
    return {
        "runs": summary.count, "median": summary.median, **bounds, "coverage": summary.coverage,
        "least": summary.least, "most": summary.most,
        "lower_quartile": summary.lower_quartile, "upper_quartile": summary.upper_quartile,
    }  # fmt: skip


def scenario_summary(finished: FinishedScenarios, width: int = PROSE) -> Iterator[str]:
    """Lines for a person; tables are at most `width` columns wide."""
    groups, sweep = groups_of(finished), finished.sweep
    verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in _verdicts(finished).items())
    yield f"{sweep.name}: {amount(len(finished.points), 'run')} at {amount(len(groups), 'point')}: {verdicts}"
    anew = f" (of them {finished.anew:,} again, because the code changed)" if finished.anew else ""
    invalid = sum(bool(point.problem) for point in finished.points)
    computed = len(finished.points) - finished.reused - invalid
    yield f"  computed now {computed:,}{anew}, already there {finished.reused:,}" + (
        f", not computed because they are invalid {invalid:,}" if invalid else ""
    )
    for figure in sweep.figures:
        yield ""
        yield from _figure_table(finished, groups, figure, width)
    yield from _untold(finished)
    yield from _untimed(finished, width)
    yield from _reasons(groups)


def _untold(finished: FinishedScenarios) -> Iterator[str]:
    """Figures that were asked for, and that no run knows by that name."""
    known = list(dict.fromkeys(name for outcome in finished.outcomes for name in outcome.figures))
    unknown = [figure for figure in finished.sweep.figures if figure not in known]
    if not known or not unknown:
        return
    yield ""
    for figure in unknown:
        near = closest(figure, known)
        yield f"no run has a figure {figure!r}" + (f"; {near}" if near else "")
    yield f"figures of these runs: {', '.join(known)}"


def _untimed(finished: FinishedScenarios, width: int) -> Iterator[str]:
    """How many runs have no valid times, which the tables omit, and why the first of them has none."""
    pairs = zip(finished.points, finished.outcomes, strict=True)
    untimed = [(point.world, outcome.untimed) for point, outcome in pairs if outcome.untimed]
    if not untimed:
        return
    runs = amount(len(finished.points), "run")
    help_ = "`--world simulated` does not depend on the CPU time of the machine"
    if any(world == "emulated" for world, _ in untimed):
        help_ = (
            f"`--set dilation=auto` (the default) slows such runs down until this machine has enough CPU time; {help_}"
        )
    yield ""
    yield from fold(
        f"{len(untimed):,} of {runs} could not report their times, and the tables omit those; the first: "
        f"{untimed[0][1]}. {help_}.",
        width,
    )


def _verdicts(finished: FinishedScenarios) -> dict[str, int]:
    counts = Counter(outcome.verdict if outcome.is_done else outcome.status for outcome in finished.outcomes)
    return {name: counts[name] for name in _VERDICTS if counts[name]}


def _figure_table(finished: FinishedScenarios, groups: Sequence[PointGroup], figure: str, width: int) -> Iterator[str]:
    counts = sorted({len(group.points) for group in groups})
    seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    over = f", median of {seeds} seeds" if counts[-1] > 1 else ""
    words = interval_words(found.count for group in groups if (found := group.summary(figure)) is not None)
    interval = f" ({words})" if words else ""
    dimensions = finished.sweep.dimensions
    across = (
        finished.sweep.variant_name
        if finished.sweep.variant_name in dimensions
        else list(dimensions)[-1]
        if len(dimensions) > 1
        else ""
    )
    down = [name for name in dimensions if name != across]
    if not across or not down:
        yield f"{figure}{over}{interval}"
        yield from _plain_table(groups, list(dimensions), figure, width)
        return
    yield f"{figure}{over}{interval}; across: {across}"
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for group in groups:
        row = cells.setdefault(tuple(shown_value(group.values[name]) for name in down), {})
        row[shown_value(group.values[across])] = _cell(group, figure)
    columns = [shown_value(value) for value in dimensions[across]]
    rows = [[*key, *(row.get(column, "") for column in columns)] for key, row in cells.items()]
    yield from _lines([*down, *columns], rows, width, len(down))


def _plain_table(groups: Sequence[PointGroup], names: list[str], figure: str, width: int) -> Iterator[str]:
    rows = []
    for group in groups:
        summary = group.summary(figure)
        spread = [] if summary is None else [show_figure(figure, summary.least), show_figure(figure, summary.most)]
        counts = {name: group.verdicts[name] for name in ("pass",) if group.verdicts[name]} | _troubles(group, figure)
        verdicts = ", ".join(f"{count} {name}" for name, count in counts.items())
        labels = [shown_value(group.values[name]) for name in names]
        rows.append([*labels, show_summary(figure, summary), *(spread or ["-", "-"]), verdicts])
    yield from _lines([*names, "median", "least", "most", "verdicts"], rows, width, len(names))


def _cell(group: PointGroup, figure: str) -> str:
    """With what did not pass: `443 ms (420 to 470), 1 fail`."""
    shown = show_summary(figure, group.summary(figure))
    rest = [f"{count} {name}" for name, count in _troubles(group, figure).items()]
    whole = len(group.points) == 1 and rest
    return ", ".join([*([] if shown == "-" and rest else [shown]), *([rest[0].split()[1]] if whole else rest)])


def _troubles(group: PointGroup, figure: str) -> dict[str, int]:
    """What did not pass, and what passed without times that can be trusted -> how many."""
    found = {name: count for name, count in group.verdicts.items() if name != "pass"}
    untrusted = group.left_out(figure)["untrusted"]
    return found | ({"untrusted": untrusted} if untrusted else {})


def _lines(head: list[str], rows: list[list[str]], width: int, keys: int) -> Iterator[str]:
    yield from table_lines(head, rows[:_MOST_LINES], width, text=(), keys=keys)
    if len(rows) > _MOST_LINES:
        yield f"  ... and {len(rows) - _MOST_LINES:,} more, all in summary.csv"


def _reasons(groups: Sequence[PointGroup]) -> Iterator[str]:
    """Of points that did not all end as expected, each with its first reason."""
    bad = [group for group in groups if not _is_as_expected(group)]
    if not bad:
        return
    yield ""
    yield "not as expected"
    for group in bad[:_MOST_REASONS]:
        labels = ", ".join(f"{name} {shown_value(value)}" for name, value in group.labels)
        verdicts = ", ".join(f"{many} {name}" for name, many in group.verdicts.items())
        yield f"  {labels}: {verdicts}{f': {group.reason}' if group.reason else ''}"
    if len(bad) > _MOST_REASONS:
        yield f"  ... and {amount(len(bad) - _MOST_REASONS, 'more point')}, all in results.json"


def _is_as_expected(group: PointGroup) -> bool:
    return all(
        outcome.is_done and outcome.verdict == point.expect
        for point, outcome in zip(group.points, group.outcomes, strict=True)
    )
