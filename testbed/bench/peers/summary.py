"""Samples of one subject and case as one figure; figures as tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from testbed.bench.peers.cases import RATE_BPS, SUBJECTS, PeerBenchCase, Sample
from testbed.bench.rows import Row, spread, trust_of
from testbed.terminal.numbers import bits_per_second, byte_size, seconds
from testbed.terminal.tables import table_lines

__all__ = ["Figure", "figures_of", "rows_of", "table"]


@dataclass(frozen=True, slots=True)
class Figure:
    """The repeats of one subject in one case."""

    samples: tuple[Sample, ...]

    @property
    def multiple(self) -> float:
        """Median, of M/B."""
        return median(sample.multiple for sample in self.samples)

    @property
    def spread(self) -> float:
        return spread([sample.seconds for sample in self.samples])

    @property
    def fidelity(self) -> str:
        """The worst; empty: kernel TCP."""
        told = {sample.fidelity for sample in self.samples}
        return "unknown" if "unknown" in told else told.pop()


Figures = Mapping[tuple[str, PeerBenchCase], Figure]


def figures_of(samples: Iterable[Sample]) -> dict[tuple[str, PeerBenchCase], Figure]:
    groups: dict[tuple[str, PeerBenchCase], list[Sample]] = {}
    for sample in samples:
        groups.setdefault((sample.subject, sample.case), []).append(sample)
    return {key: Figure(tuple(found)) for key, found in groups.items()}


def rows_of(figures: Figures) -> list[Row]:
    """All for information: which of them is fastest is a finding."""
    rows = []
    for (subject, case), figure in figures.items():
        reasons = sorted({reason for sample in figure.samples for reason in sample.reasons})
        lost = sorted(sample.lost for sample in figure.samples)
        rows.append(
            Row(
                f"{subject}, {case}", f"M/B = {seconds(case.least_s)}", len(figure.samples),
                median(sample.seconds for sample in figure.samples), figure.spread, "s", figure.multiple,
                fidelity=figure.fidelity or "pass",
                note="; ".join(
                    [f"{lost[0]} to {lost[-1]} frames lost" if case.loss else "",
                     "" if figure.fidelity else "kernel TCP: no reference run", *reasons]
                ).strip("; ")[:200],
                **trust_of("emulated", figure.samples),
            )
        )  # fmt: skip
    return rows


def table(figures: Figures, absent: Mapping[str, str], width: int) -> Iterator[str]:
    """`absent`: subjects that are not on this machine, with what is missing."""
    for size in sorted({case.size_bytes for _, case in figures}):
        cases = _cases(figures, size)
        least = cases[0].least_s
        repeats = max(len(figure.samples) for (_, case), figure in figures.items() if case in cases)
        yield (
            f"all-reduce of {byte_size(size)} of float32 at {bits_per_second(RATE_BPS)}, multiples of M/B = "
            f"{seconds(least)}: median of {repeats} (spread)"
        )
        head = ["", *(f"N={case.hosts}, {100 * case.loss:g}% loss" for case in cases)]
        yield from table_lines(head, list(_cells(figures, absent, cases)), width)
        yield ""
    yield "(spread): largest less smallest, of the median. *: of ours, fidelity unknown in some run."
    yield from (f"{subject} was left out: {missing} is missing" for subject, missing in absent.items())


def _cases(figures: Figures, size: int) -> list[PeerBenchCase]:
    return sorted({case for _, case in figures if case.size_bytes == size}, key=lambda case: (case.hosts, case.loss))


def _cells(figures: Figures, absent: Collection[str], cases: Sequence[PeerBenchCase]) -> Iterator[list[str]]:
    for subject in SUBJECTS:
        if subject not in absent:
            yield [subject, *(_cell(figures.get((subject, case))) for case in cases)]


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return "-"
    mark = "*" if figure.fidelity == "unknown" else " "
    return f"{figure.multiple:.2f}{mark}({figure.spread:.0%})"
