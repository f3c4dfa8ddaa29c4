"""Made-up runs of a small grid."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.bench.ina.analysis import Cell
from testbed.bench.ina.place import SIMULATED, Point
from testbed.bench.ina.runs import Figures
from testbed.bench.ina.subjects import Subject

__all__ = ["cell", "grid", "run", "table"]


def run(jct_s: float, **figures: float) -> Figures:
    values = {"busy": 0.5, "useful": 0.25, "collisions": 0, "evictions": 0, "resends": 0, "server_bytes": 0} | figures
    return Figures(jct_s, jct_s * 1.5, **values)  # type: ignore[arg-type]


def cell(subject: Subject, memory: int, *jcts: float) -> Cell:
    return Cell("mix-2+2", memory, subject, tuple(map(run, jcts)))


def grid(jcts: dict[Subject, Sequence[float]], sizes: Sequence[int]) -> dict[tuple[int, Subject], Cell]:
    """Of each subject the average JCT at each size, one seed."""
    return {
        (memory, subject): cell(subject, memory, values[index])
        for subject, values in jcts.items()
        for index, memory in enumerate(sizes)
    }


def table(jcts: dict[Subject, Sequence[float]], memory: int) -> dict[Point, Figures]:
    """Of each subject the average JCT of each seed, from 1 on."""
    return {
        Point(SIMULATED, "mix-2+2", subject, memory, seed): run(jct)
        for subject, values in jcts.items()
        for seed, jct in enumerate(values, 1)
    }
