"""`tb bench papers`: measures each headline, judges it, and writes table, JSON and page."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from testbed.bench.options import BenchOptions
from testbed.bench.papers.claims import Bearing, judged
from testbed.bench.papers.headline import Headline
from testbed.bench.papers.headlines import headlines as known_headlines
from testbed.bench.papers.page import Judged, write_results
from testbed.bench.rows import Report, Row
from testbed.bench.swept import FOLDER, Say, keep_swept, run_swept, write_runs
from testbed.sweeps.groups import groups_of
from testbed.sweeps.loader import load_sweep
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.scenario_loader import SweepWords
from testbed.sweeps.scenario_model import ScenarioSweep
from testbed.terminal.tables import table_lines

__all__ = ["bench_papers"]

_FOLDER = FOLDER / "bench-papers"
_SEEDS = 3
_DEFAULT = BenchOptions()


def bench_papers(
    say: Say,
    world: str = "simulated",
    options: BenchOptions = _DEFAULT,
    headlines: Sequence[Headline] | None = None,
) -> Report:
    """`headlines`: None: all. Every run is kept under `runs/bench-papers`, and the same command goes on there. A
    headline with a run that did not pass is unknown. Raises ScenarioError as `load_sweep`."""
    chosen = known_headlines() if headlines is None else headlines
    processes, done = options.processes or os.cpu_count() or 1, dict[str, FinishedScenarios]()
    found = [_judge(headline, say, options, processes, done) for headline in chosen]
    paths = write_results(found, _FOLDER)
    say(f"papers: {', '.join(str(path) for path in paths)}")
    write_runs(options.csv, [({"sweep": name}, finished) for name, finished in done.items()])
    return Report([_row(each) for each in found], lambda width: _table(found, width))


def _judge(
    headline: Headline, say: Say, options: BenchOptions, processes: int, done: dict[str, FinishedScenarios]
) -> Judged:
    remark = ""
    if headline.direct is not None:
        places = headline.direct(say)
    else:
        sweep = _sweep(headline, options)
        if sweep.name not in done:
            folder = _FOLDER / sweep.name
            done[sweep.name] = run_swept(say, headline.key, sweep, folder, processes)
            keep_swept(say, headline.key, done[sweep.name], folder)
        groups = groups_of(done[sweep.name])
        places, remark = headline.measure(groups), headline.remark(groups)
    standing, why = judged(headline.claim, places)
    if standing is Bearing.REPRODUCED and not headline.is_setting_known:
        standing, why = Bearing.DIRECTION, f"{why}; the paper's setting is not known"
    return Judged(headline, tuple(places), standing, "; ".join(filter(None, (why, remark))))


def _sweep(headline: Headline, options: BenchOptions) -> ScenarioSweep:
    axes = [(key, list(values)) for key, values in headline.quick] if options.quick else []
    found = load_sweep(headline.sweep, SweepWords(axes))
    assert isinstance(found, ScenarioSweep), "headlines vary scenarios"
    seeds = found.seeds
    if len(seeds) > 1:  # of a sweep without chance, one is enough
        seeds = tuple(range(1, options.seeds + 1)) if options.seeds else seeds[:_SEEDS] if options.quick else seeds
    variants = tuple(each for each in found.variants if not headline.variants or each.label in headline.variants)
    return replace(found, seeds=seeds, variants=variants)


def _row(each: Judged) -> Row:
    """The best place. What is unknown misses its target, so that the exit code is not 0."""
    known = [place for place in each.places if place.gains]
    best = max(known, key=lambda place: place.interval[1], default=None)
    low, middle, high = (float("nan"),) * 3 if best is None else best.interval
    lacking = each.standing is Bearing.UNKNOWN and not each.is_measured
    return Row(
        each.headline.key, each.headline.published, 0 if best is None else len(best.gains), middle,
        (high - low) / middle, "x", float("nan") if lacking else middle, 0.0 if lacking else None,
        note=f"{each.standing}: {each.why}", world="simulated",
    )  # fmt: skip


def _table(found: Sequence[Judged], width: int) -> Iterator[str]:
    cells = [(each.headline.key, each.headline.published, each.measured, str(each.standing)) for each in found]
    yield from table_lines(
        ("headline", "published", "measured here", "verdict"), cells, width, text=(0, 1, 2, 3), indent=0
    )
    yield ""
    for each in found:
        yield f"{each.headline.key}: {each.why}"
    yield ""
    yield "gain: the peer's figure / the subject's; with the interval of its median over seeds. In virtual time"
