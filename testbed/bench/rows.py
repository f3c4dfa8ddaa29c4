"""Rows of a bench: what `--json` prints and the terminal shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Protocol, TypedDict

from testbed.terminal.folding import fold_lines

__all__ = ["VIRTUAL", "Report", "Row", "Trust", "as_documents", "repeated", "spread", "trust_of"]

VIRTUAL = "any: virtual time"
"""the machine on which a figure of the simulated world holds"""


class Trust(TypedDict):
    """Fields of a Row."""

    world: str
    dilation: int
    deviation: float | None


class BenchRun(Protocol):
    """What a run of any bench reports."""

    @property
    def dilation(self) -> int: ...
    @property
    def deviation(self) -> float | None: ...


def trust_of(world: str, runs: Iterable[BenchRun]) -> Trust:
    """The largest dilation and deviation of the runs of a row."""
    kept = list(runs)
    deviations = [run.deviation for run in kept if run.deviation is not None]
    return {
        "world": world,
        "dilation": max((run.dilation for run in kept), default=1),
        "deviation": max(deviations, key=abs, default=None),
    }


@dataclass(frozen=True, slots=True)
class Row:
    what: str
    peer: str
    """what it is compared with: a bound or another subject of the same run"""
    repeats: int
    median: float
    spread: float
    """(largest - smallest) / median"""
    unit: str
    ratio: float
    """ratio to the peer"""
    target: float | None = None
    """the ratio that the project asks for; None: for information"""
    fidelity: str = "pass"
    """whether the machine had enough CPU time; a goodput is measured against a bound, so a machine without it only
    understates"""
    needs_fidelity: bool = False
    note: str = ""
    most: float | None = None
    """the ratio must not be above it; None: more is better, or for information"""
    dilation: int = 1
    """largest of its runs: real seconds of an emulated one"""
    deviation: float | None = None
    """deviation of the JCT from that of the same plan in virtual time, the largest of its runs; None: they were not
    compared"""
    world: str = "emulated"
    """`simulated`: virtual time, the same on every machine; `emulated`: of this machine"""

    @property
    def met(self) -> bool:
        kept_up = self.fidelity == "pass" or not self.needs_fidelity
        if self.most is not None and self.ratio > self.most:
            return False
        return self.target is None or (self.ratio >= self.target and kept_up)


@dataclass(frozen=True, slots=True)
class Report:
    """Of a bench that has tables of its own."""

    rows: list[Row]
    tables: Callable[[int], Iterable[str]] | None = None
    """its tables for people, as lines of so many columns"""

    def lines(self, width: int) -> Iterator[str]:
        if self.tables is not None:
            yield from fold_lines(self.tables(width), width)


def spread(values: Sequence[float]) -> float:
    return (max(values) - min(values)) / median(values)


def repeated(values: Sequence[float]) -> tuple[int, float, float]:
    """Repeats, median and spread, as a Row has them."""
    return len(values), median(values), spread(values)


def as_documents(rows: Sequence[Row], machine: str = "") -> list[dict[str, Any]]:
    """`machine`: where figures in real time were measured; those in virtual time hold on any."""
    return [asdict(row) | {"met": row.met, "machine": VIRTUAL if row.world == "simulated" else machine} for row in rows]
