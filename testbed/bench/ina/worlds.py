"""A few points in both worlds, with the same links: slow ones, which one machine can emulate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from testbed.bench.ina.place import Place, Point
from testbed.bench.ina.runs import Figures
from testbed.bench.ina.subjects import ATP, ESA, MIXES, SWITCHML
from testbed.bench.rows import Report, Row, for_whom, spread
from testbed.terminal.numbers import bits_per_second, moment, seconds
from testbed.terminal.tables import table_lines

__all__ = ["EMULATED_REPEATS", "Pair", "compare_worlds", "pair_of", "twin_points", "world_lines", "world_rows"]

EMULATED_REPEATS = 3
_MIX = "mix-2+2"
_SIZES, _QUICK_SIZES = (1 / 3, 10.0), (1 / 3,)
_WITHIN = 0.10
Twin = tuple[Point, tuple[Point, ...]]
"""a point in the simulated world, where one run is enough, and its repeats in the emulated one"""


@dataclass(frozen=True, slots=True)
class Pair:
    """One point in both worlds."""

    point: Point
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


def twin_points(place: Place, *, quick: bool, seeds: int, repeats: int) -> list[Twin]:
    sizes = _QUICK_SIZES if quick else _SIZES
    virtual = [
        Point(replace(place, world="simulated"), _MIX, subject, round(size * place.windows(MIXES[_MIX])), seed)
        for seed in range(1, seeds + 1)
        for size in sizes
        for subject in (SWITCHML, ATP, ESA)
    ]
    numbers = range(1, repeats + 1)
    return [(point, tuple(replace(point, place=place, repeat=number) for number in numbers)) for point in virtual]


def pair_of(twin: Twin, found: Mapping[Point, Figures]) -> Pair:
    point, repeats = twin
    runs = [found[repeat] for repeat in repeats]
    good = [run for run in runs if run.fidelity == "pass"]
    told = [run.average_jct_s for run in (good if 2 * len(good) > len(runs) else runs)]
    reason = next((run.reasons[0] for run in runs if run.reasons), "")
    virtual = found[point].average_jct_s
    whom = for_whom(repeats[0].place.world, runs)
    return Pair(
        point, virtual, median(told), spread(told), len(good), len(runs), reason, whom["dilation"], whom["deviation"]
    )


def compare_worlds(twins: Sequence[Twin], found: Mapping[Point, Figures]) -> Report:
    pairs = [pair_of(twin, found) for twin in twins]
    return Report(world_rows(pairs), lambda width: world_lines(pairs, width))


def world_lines(pairs: Sequence[Pair], width: int) -> Iterator[str]:
    """The table for people, of so many columns."""
    place = pairs[0].point.place
    yield (
        f"{_MIX} at {bits_per_second(place.rate_bps)} and {moment(place.delay_ns)} per hop, average JCT in both "
        f"worlds; emulated: medians of {pairs[0].repeats}"
    )
    head = ("M", "protocol", "seed", "simulated", "emulated", "spread", "ratio", "dilation", "twin", "fidelity")
    rows = [
        (
            f"{pair.point.memory:,}", pair.point.subject.name, str(pair.point.seed), f"{seconds(pair.virtual_s)}",
            f"{seconds(pair.real_s)}", f"{pair.spread:.1%}", f"{pair.ratio:.3f}",
            str(pair.dilation), "" if pair.deviation is None else f"{pair.deviation:+.1%}",
            f"{pair.fidelity}, on time in {pair.kept_up} of {pair.repeats}"
            + (f": {pair.reason}" if pair.reason else ""),
        )
        for pair in pairs
    ]  # fmt: skip
    yield from table_lines(head, rows, width, text=(1, 9), keys=3)


def world_rows(pairs: Sequence[Pair]) -> list[Row]:
    """A machine without enough CPU time has measured itself: such a row is not met."""
    return [
        Row(
            f"average JCT, emulated, {_MIX}, M = {pair.point.memory}, {pair.point.subject.name}, seed "
            f"{pair.point.seed}",
            f"simulated {seconds(pair.virtual_s)}", pair.repeats, pair.real_s, pair.spread, "s", pair.ratio,
            1 - _WITHIN,
            pair.fidelity, True, pair.reason, 1 + _WITHIN,
            pair.dilation, pair.deviation,
        )
        for pair in pairs
    ]  # fmt: skip
