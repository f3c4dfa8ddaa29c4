"""`tb bench loss`: runs the sweeps, draws each, and shows what loss costs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from testbed.bench.loss.cases import LOSS_KEY, LossCase, cases_of
from testbed.bench.loss.peers import has_peers, with_peers
from testbed.bench.options import BenchOptions
from testbed.bench.rows import Report, Row
from testbed.bench.swept import FOLDER, Say, keep_swept, run_swept, write_runs
from testbed.comparison.units import show_figure
from testbed.sweeps.groups import PointGroup, groups_of
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.values import number_of
from testbed.terminal.tables import table_lines

__all__ = ["bench_loss", "cost_table"]

_FOLDER = FOLDER / "bench-loss"
_JCT = "jct_s"


def bench_loss(say: Say, world: str, options: BenchOptions) -> Report:
    """Every run of ours is kept under `runs/bench-loss` as soon as it is done, by its content: the same command goes on
    after an interruption. `options.csv`: all runs in one file, too."""
    rows, finished = list[Row](), list[tuple[LossCase, FinishedScenarios]]()
    processes = 1 if world == "emulated" else options.processes or os.cpu_count() or 1
    for case in cases_of(world, quick=options.quick, seeds=options.seeds):
        folder = _FOLDER / case.sweep.name
        done = run_swept(say, case.title, case.sweep, folder, processes)
        if has_peers(case):
            done = with_peers(case, done, say)
        keep_swept(say, case.title, done, folder)
        finished.append((case, done))
        rows += _rows(case, groups_of(done))
    write_runs(options.csv, [({"network": case.network, "workers": case.workers}, done) for case, done in finished])
    return Report(rows, lambda width: _tables(finished, width))


def _rows(case: LossCase, groups: Sequence[PointGroup]) -> Iterator[Row]:
    """Against the same without loss."""
    for group in groups:
        summary, plain = group.summary(_JCT), _lossless(groups, group)
        if summary is None:
            continue
        yield Row(
            what=f"{_label(case, group)}, {case.title}, {show_loss(group.values[LOSS_KEY])} loss",
            peer="without loss",
            repeats=summary.count,
            median=summary.median,
            spread=(summary.most - summary.least) / summary.median,
            unit="s",
            ratio=summary.median / plain if plain else float("nan"),
            note=_troubles(group),
        )


def _label(case: LossCase, group: PointGroup) -> str:
    return str(group.values[case.sweep.variant_name])


def _lossless(groups: Sequence[PointGroup], group: PointGroup) -> float | None:
    """Median of the same without loss, s; None: no valid run."""
    for other in groups:
        if other.values[LOSS_KEY] == 0 and dict(other.values, **{LOSS_KEY: group.values[LOSS_KEY]}) == group.values:
            summary = other.summary(_JCT)
            return None if summary is None else summary.median
    return None


def _troubles(group: PointGroup) -> str:
    """What did not end with a verdict `pass`; a rate at which nothing happened to be lost is `unknown`, and counts."""
    bad = [f"{count} {name}" for name, count in group.verdicts.items() if name not in ("pass", "unknown")]
    return f"{', '.join(bad)}: {group.reason}" if bad else ""


def show_loss(rate: Any) -> str:
    return f"{100 * (number_of(rate) or 0):g} %"


def _tables(finished: Sequence[tuple[LossCase, FinishedScenarios]], width: int) -> Iterator[str]:
    for case, done in finished:
        yield f"{case.title}, {case.sweep.worlds[0]}: JCT without loss; with loss on all links so many times it"
        yield from cost_table(case, groups_of(done), width)
        yield ""


def cost_table(case: LossCase, groups: Sequence[PointGroup], width: int) -> Iterator[str]:
    """A line for each protocol and recovery; medians over the seeds, `!` where some run did not pass."""
    losses = [rate for key, rates in case.sweep.axes if key == LOSS_KEY for rate in rates]
    cells: dict[str, list[str]] = {}
    for group in groups:
        summary, plain = group.summary(_JCT), _lossless(groups, group)
        mark = "!" if _troubles(group) else ""
        if summary is None:
            shown = "-"
        elif group.values[LOSS_KEY] == 0:
            shown = show_figure(_JCT, summary.median)
        else:
            shown = f"{summary.median / plain:.2f}" if plain else show_figure(_JCT, summary.median)
        cells.setdefault(_label(case, group), []).append(shown + mark)
    head = ("", *(show_loss(rate) for rate in losses))
    yield from table_lines(head, [[label, *values] for label, values in cells.items()], width, text=(0,), indent=2)
