"""What a grid shows: medians over seeds, gains, where orders change with memory, and which mechanism of ESA gives
what."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from testbed.bench.rows import spread
from testbed.protocols.esa.bench_ina.cases import ATP, ESA, ESA_ACK, ESA_EQUAL, MEMORY_KEY, SWITCHML
from testbed.protocols.esa.bench_ina.runs import InaFigures, figures_of
from testbed.sweeps.groups import groups_of
from testbed.sweeps.scenario_engine import FinishedScenarios

__all__ = [
    "Crossing",
    "MemoryCell",
    "Split",
    "best_split",
    "cells_of",
    "crossings",
    "gain",
    "order_margin",
    "split_at",
    "widest",
]

LEVEL = 0.01
"""two that are nearer than that are level: no order to speak of"""
_NEAR = 4.0
"""factor between two memory sizes: gains bend more than a line does over wider gaps"""


@dataclass(frozen=True, slots=True)
class MemoryCell:
    """One subject at one memory size of one mix: runs in the order of seeds."""

    memory: int
    subject: str
    runs: tuple[InaFigures, ...]

    def middle(self, name: str) -> float:
        """The median over seeds of the figure of that name."""
        return median(float(getattr(run, name)) for run in self.runs)

    @property
    def jct_s(self) -> float:
        return self.middle("average_jct_s")

    @property
    def spread(self) -> float:
        """(largest - smallest) / median of the average JCT."""
        return spread([run.average_jct_s for run in self.runs])


Cells = Mapping[tuple[int, str], MemoryCell]
"""cells of one mix, by (memory, subject)"""


def cells_of(finished: FinishedScenarios) -> dict[tuple[int, str], MemoryCell]:
    """Raises InternalError as `figures_of`."""
    sweep, cells = finished.sweep, dict[tuple[int, str], MemoryCell]()
    for group in groups_of(finished):
        memory, subject = group.values[MEMORY_KEY], str(group.values[sweep.variant_name])
        runs = tuple(
            figures_of(outcome, f"{sweep.name}, {subject}, memory {memory}, seed {point.seed}")
            for point, outcome in zip(group.points, group.outcomes, strict=True)
        )
        cells[memory, subject] = MemoryCell(memory, subject, runs)
    return cells


def gain(slow: MemoryCell, fast: MemoryCell) -> float:
    """How many times as long `slow` takes: the median over seeds of the ratio of two runs with one seed."""
    return median(a.average_jct_s / b.average_jct_s for a, b in zip(slow.runs, fast.runs, strict=True))


def order_margin(cells: Cells, memory: int) -> float:
    """Of ESA < ATP < SwitchML: the smaller of the two gaps, as a ratio, in the seed where it is smallest. Above 1: the
    order holds in every seed."""
    esa, atp, switchml = (cells[memory, subject].runs for subject in (ESA, ATP, SWITCHML))
    return min(
        min(two.average_jct_s / one.average_jct_s, three.average_jct_s / two.average_jct_s)
        for one, two, three in zip(esa, atp, switchml, strict=True)
    )


def widest(cells: Cells, memory: int) -> float:
    """The longest of the three average JCTs (medians) over the shortest."""
    times = [cells[memory, subject].jct_s for subject in (ESA, ATP, SWITCHML)]
    return max(times) / min(times)


@dataclass(frozen=True, slots=True)
class Crossing:
    """Of two subjects, along memory, upwards."""

    memory: float | None
    """memory where a straight line over the logarithms, between the two sizes of the grid, puts it; None: they are too
    far apart for a line"""
    low: int
    """the sizes of the grid on both sides: more than that it is between them is not known"""
    high: int
    before: str | None
    """the faster one below; None: they are level"""
    after: str | None


def leader_at(cells: Cells, memory: int, first: str, second: str) -> str | None:
    """The faster one; None: they are level."""
    ahead = math.log(gain(cells[memory, second], cells[memory, first]))
    return None if abs(ahead) <= math.log1p(LEVEL) else first if ahead > 0 else second


def crossings(cells: Cells, first: str, second: str) -> list[Crossing]:
    """Where the faster one of the two changes, by the medians of the gains; differences within LEVEL are none."""
    level = math.log1p(LEVEL)
    sizes = sorted({memory for memory, _ in cells})
    ahead = [math.log(gain(cells[size, second], cells[size, first])) for size in sizes]
    states = [leader_at(cells, size, first, second) for size in sizes]
    found = []
    for index in range(len(sizes) - 1):
        (low, high), (here, there), (y0, y1) = (
            sizes[index : index + 2],
            states[index : index + 2],
            ahead[index : index + 2],
        )
        if here is there:
            continue
        goal = 0.0 if here and there else math.copysign(level, y0 if here else y1)
        place = low * (high / low) ** ((y0 - goal) / (y0 - y1)) if high / low <= _NEAR else None
        found.append(Crossing(place, low, high, here, there))
    return found


@dataclass(frozen=True, slots=True)
class Split:
    """ESA's gain over ATP at one memory size, and what each mechanism carries."""

    memory: int
    gain: float
    """ATP / ESA"""
    early: float
    """ATP / ESA with equal priorities: early release alone"""
    priority: float
    """ATP / ESA with release by the server's result: priorities alone"""

    @property
    def early_share(self) -> float | None:
        """Of the gain's logarithm, that of early release: the mean of what it gives alone and on top of the priorities.
        The rest is the priorities'. None: there is no gain to share."""
        whole = math.log(self.gain)
        if abs(whole) <= math.log1p(LEVEL):
            return None
        return (math.log(self.early) + whole - math.log(self.priority)) / 2 / whole


def split_at(cells: Cells, memory: int) -> Split:
    atp = cells[memory, ATP]
    return Split(memory, *(gain(atp, cells[memory, subject]) for subject in (ESA, ESA_EQUAL, ESA_ACK)))


def best_split(cells: Cells, sizes: Sequence[int]) -> Split:
    """At the size where ESA gains most over ATP."""
    return max((split_at(cells, memory) for memory in sizes), key=lambda split: split.gain)
