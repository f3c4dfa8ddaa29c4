"""A few points in both worlds, with the same links: slow ones, which one machine can emulate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from testbed.bench.measure import conditions
from testbed.bench.rows import Report, Row, spread, trust_of
from testbed.protocols.esa.bench_ina.cases import MEMORY_KEY, InaCase
from testbed.protocols.esa.bench_ina.runs import InaFigures, figures_of
from testbed.scenario import parse_scenario
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.scenario_model import Point, name_of
from testbed.terminal.numbers import bits_per_second, moment, seconds
from testbed.terminal.tables import table_lines

__all__ = ["EMULATED_REPEATS", "Pair", "compare_worlds", "pairs_of", "repeated", "world_lines", "world_rows"]

EMULATED_REPEATS = 3
_WITHIN = 0.10


@dataclass(frozen=True, slots=True)
class Pair:
    """One point in both worlds."""

    memory: int
    subject: str
    seed: int
    virtual_s: float
    """average JCT, simulated"""
    real_s: float
    """emulated: median of the repeats; when most had enough CPU time, of those only"""
    spread: float
    """(largest - smallest) / median of the same repeats"""
    kept_up: int
    """repeats in which the machine was fast enough, as the fidelity check says"""
    repeats: int
    reason: str = ""
    """why the others are not trusted: the first one's"""
    dilation: int = 1
    deviation: float | None = None
    """deviation of the repeats, the largest of each"""

    @property
    def ratio(self) -> float:
        return self.real_s / self.virtual_s

    @property
    def fidelity(self) -> str:
        """`pass` when the machine had enough CPU time in most repeats."""
        return "pass" if 2 * self.kept_up > self.repeats else "unknown"


def repeated(points: Sequence[Point], repeats: int) -> list[Point]:
    """Simulated ones once; then emulated ones, repeat by repeat."""
    real = [replace(point, measure=name_of(conditions)) for point in points if point.world == "emulated"]
    again = [replace(point, repeat=number) for number in range(1, repeats + 1) for point in real]
    return [*(point for point in points if point.world == "simulated"), *again]


def pairs_of(case: InaCase, finished: FinishedScenarios) -> list[Pair]:
    """In the order of the sweep. Raises InternalError as `figures_of`."""
    found: dict[tuple[int, int, str], dict[str, list[InaFigures]]] = {}
    for point, outcome in zip(finished.points, finished.outcomes, strict=True):
        subject, memory = str(point.values[case.sweep.variant_name]), int(point.values[MEMORY_KEY])
        worlds = found.setdefault((point.seed, memory, subject), {})
        worlds.setdefault(point.world, []).append(figures_of(outcome, f"{subject}, memory {memory}, {point.world}"))
    return [_pair(*place, worlds["simulated"][0], worlds["emulated"]) for place, worlds in found.items()]


def _pair(seed: int, memory: int, subject: str, virtual: InaFigures, runs: Sequence[InaFigures]) -> Pair:
    good = [run for run in runs if not run.untimed]
    told = [run.average_jct_s for run in (good if 2 * len(good) > len(runs) else runs)]
    reason = next((run.untimed for run in runs if run.untimed), "")
    trust = trust_of("emulated", runs)
    return Pair(
        memory, subject, seed, virtual.average_jct_s, median(told), spread(told), len(good), len(runs), reason,
        trust["dilation"], trust["deviation"],
    )  # fmt: skip


def compare_worlds(case: InaCase, finished: FinishedScenarios) -> Report:
    pairs = pairs_of(case, finished)
    return Report(world_rows(case, pairs), lambda width: world_lines(case, pairs, width))


def world_lines(case: InaCase, pairs: Sequence[Pair], width: int) -> Iterator[str]:
    """The table for people, of so many columns."""
    link = parse_scenario(case.points[0].text, case.sweep.name).link
    yield (
        f"{case.mix} at {bits_per_second(link.rate_bps)} and {moment(link.delay_ns)} per hop, average JCT in both "
        f"worlds; emulated: medians of {pairs[0].repeats}"
    )
    head = ("M", "protocol", "seed", "simulated", "emulated", "spread", "ratio", "dilation", "twin", "fidelity")
    rows = [
        (
            f"{pair.memory:,}", pair.subject, str(pair.seed), f"{seconds(pair.virtual_s)}",
            f"{seconds(pair.real_s)}", f"{pair.spread:.1%}", f"{pair.ratio:.3f}",
            str(pair.dilation), "" if pair.deviation is None else f"{pair.deviation:+.1%}",
            f"{pair.fidelity}, on time in {pair.kept_up} of {pair.repeats}"
            + (f": {pair.reason}" if pair.reason else ""),
        )
        for pair in pairs
    ]  # fmt: skip
    yield from table_lines(head, rows, width, text=(1, 9), keys=3)


def world_rows(case: InaCase, pairs: Sequence[Pair]) -> list[Row]:
    """A machine without enough CPU time has measured itself: such a row is not met."""
    return [
        Row(
            f"average JCT, emulated, {case.mix}, M = {pair.memory}, {pair.subject}, seed {pair.seed}",
            f"simulated {seconds(pair.virtual_s)}", pair.repeats, pair.real_s, pair.spread, "s", pair.ratio,
            1 - _WITHIN,
            pair.fidelity, True, pair.reason, 1 + _WITHIN,
            pair.dilation, pair.deviation,
        )
        for pair in pairs
    ]  # fmt: skip
