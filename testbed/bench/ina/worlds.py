"""A few points in both worlds, with the same links: slow ones, which one machine can emulate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from testbed.bench.ina.place import Place, Point
from testbed.bench.ina.runs import Figures, run_points
from testbed.bench.ina.subjects import ATP, ESA, MIXES, SWITCHML
from testbed.bench.rows import Report, Row

__all__ = ["compare_worlds", "world_lines", "world_rows"]

Say = Callable[[str], None]
_MIX = "mix-2+2"
_SIZES, _QUICK_SIZES = (1 / 3, 10.0), (1 / 3,)
_WITHIN = 0.10
Pair = tuple[Point, Figures, Figures]
"""a point, and its figures in the simulated and in the emulated world"""


def compare_worlds(say: Say, place: Place, *, quick: bool, seeds: int) -> tuple[dict[Point, Figures], Report]:
    """One run at a time: two networks on one machine would slow each other down."""
    sizes = _QUICK_SIZES if quick else _SIZES
    emulated = [
        Point(place, _MIX, subject, round(size * place.windows(MIXES[_MIX])), seed)
        for seed in range(1, seeds + 1)
        for size in sizes
        for subject in (SWITCHML, ATP, ESA)
    ]
    virtual = [replace(point, place=replace(place, world="simulated")) for point in emulated]
    found = run_points(say, [*virtual, *emulated], 1)
    pairs = [(point, found[twin], found[point]) for point, twin in zip(emulated, virtual, strict=True)]
    return found, Report(world_rows(pairs), tuple(world_lines(pairs)))


def world_lines(pairs: Sequence[Pair]) -> Iterator[str]:
    """The table for people."""
    place = pairs[0][0].place
    yield f"{_MIX} at {place.rate_bps / 1e6:g} Mb/s and {place.delay_ns / 1e6:g} ms per hop, average JCT in both worlds"
    yield f"  {'M':>4}  {'protocol':<10}  {'seed':>4}  {'simulated':>10}  {'emulated':>10}  {'differs':>8}  fidelity"
    for point, virtual, real in pairs:
        apart = real.average_jct_s / virtual.average_jct_s - 1
        yield (
            f"  {point.memory:>4}  {point.subject.name:<10}  {point.seed:>4}  {virtual.average_jct_s:>8.3f} s"
            f"  {real.average_jct_s:>8.3f} s  {apart:>+8.1%}  {real.fidelity}"
            + (f": {real.reasons[0]}" if real.reasons else "")
        )


def world_rows(pairs: Sequence[Pair]) -> list[Row]:
    """A machine that did not keep up has measured itself: such a row is not met."""
    return [
        Row(
            f"average JCT, emulated, {_MIX}, M = {point.memory}, {point.subject.name}, seed {point.seed}",
            f"simulated {virtual.average_jct_s:.4f} s", 1, real.average_jct_s, 0.0, "s",
            real.average_jct_s / virtual.average_jct_s, 1 - _WITHIN, real.fidelity, True, real.reasons[0] if real.reasons else "",
            1 + _WITHIN,
        )
        for point, virtual, real in pairs
    ]  # fmt: skip
