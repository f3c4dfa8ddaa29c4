"""Finished runs -> rows: what nccl-tests would print of a size, and what was counted on the links."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from testbed.comparison.figures import Figure
from testbed.figures.percentiles import nearest_rank
from testbed.perf.request import COLLECTIVES, Half, PerfRequest, takes_in_place
from testbed.reading.yamlfile import read_text
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.scenario_model import Outcome
from workloads.collectives.operations import ALL_REDUCE, OPERATIONS
from workloads.config import ELEMENT_BYTES
from workloads.errors import ScenarioError

__all__ = ["BandwidthRow", "MeasuredBandwidth", "Times", "rows_of"]

_NO_IN_PLACE = "{} has no in-place form: it still reads its gradient when parts of the result are there"

_ONE_HALF = "only all_reduce has an in-place form"


@dataclass(frozen=True, slots=True)
class Times:
    """Times of the measured iterations."""

    each_s: tuple[float, ...]

    @property
    def mean_s(self) -> float:
        return sum(self.each_s) / len(self.each_s)

    def percentile_s(self, percent: int) -> float:
        return nearest_rank(sorted(self.each_s), percent)


@dataclass(frozen=True, slots=True)
class MeasuredBandwidth:
    """One half of a row."""

    verdict: str
    """verdict of the run; empty: there was none"""
    reason: str
    """why the verdict is not pass, or why there is no time"""
    is_exact: bool | None
    """whether all results have the bits of the reference; None: not known"""
    times: Times | None
    """None: there are no valid times"""
    iterations: int
    """of the run, with the warm-up"""
    link: str
    """the busiest one"""
    figures: Mapping[str, Figure]
    """of the whole run, by their names in sweeps"""

    def per_iteration(self, figure: str) -> float | None:
        value = self.figures.get(figure)
        return None if value is None else value / self.iterations


@dataclass(frozen=True, slots=True)
class BandwidthRow:
    protocol: str
    size: int
    ranks: int
    out_of_place: MeasuredBandwidth
    in_place: MeasuredBandwidth
    collective: str = ALL_REDUCE
    """as nccl-tests calls it"""

    @property
    def count(self) -> int:
        """Elements: those of one rank, where each rank has a chunk of `size`."""
        chunks = self.ranks if self.ranks and OPERATIONS[COLLECTIVES[self.collective]].bus_parts == 1 else 1
        return self.size // ELEMENT_BYTES // chunks

    @property
    def halves(self) -> tuple[MeasuredBandwidth, MeasuredBandwidth]:
        return self.out_of_place, self.in_place

    def algbw(self, half: MeasuredBandwidth) -> float | None:
        """In bytes per second."""
        return None if half.times is None else self.size / half.times.mean_s

    def busbw(self, half: MeasuredBandwidth) -> float | None:
        algbw = self.algbw(half)
        return None if algbw is None else algbw * OPERATIONS[COLLECTIVES[self.collective]].bus_factor(self.ranks)


def rows_of(request: PerfRequest, finished: FinishedScenarios) -> Iterator[BandwidthRow]:
    """In the order of the tables."""
    by_label = {str(point.values["variant"]): index for index, point in enumerate(finished.points)}
    for protocol in request.protocols:
        for size in request.sizes:
            found, ranks = list[MeasuredBandwidth](), 0
            for in_place in (False, True):
                if in_place and not takes_in_place(request, protocol):
                    why = _NO_IN_PLACE if request.collective == ALL_REDUCE else _ONE_HALF
                    found.append(MeasuredBandwidth("", why.format(protocol), None, None, 0, "", {}))
                    continue
                index = by_label[Half(protocol, size, in_place).label]
                document = _document(finished, index)
                ranks = ranks or document.get("hosts", 0)
                point, outcome = finished.points[index], finished.outcomes[index]
                found.append(_measured(outcome, document, *request.counts(size, point.world)))
            yield BandwidthRow(protocol, size, ranks, found[0], found[1], request.collective)


def _document(finished: FinishedScenarios, index: int) -> dict[str, Any]:
    """The result.json of a run that is done."""
    if not finished.outcomes[index].is_done:
        return {}
    path = finished.folder / "points" / finished.names[index] / "result.json"
    try:
        found: dict[str, Any] = json.loads(read_text(path, str(path)))
        return found
    except ValueError as error:
        raise ScenarioError(
            f"is damaged: {error}", file=str(path), allowed="the file as `tb perf` wrote it",
            hint=f"remove {finished.folder}",
        ) from error  # fmt: skip


def _measured(outcome: Outcome, document: dict[str, Any], measured: int, warmup: int) -> MeasuredBandwidth:
    if not document:
        return MeasuredBandwidth("", outcome.reason, None, None, 0, "", {})
    metrics = document["metrics"]
    each = (metrics["iterations_s"] or [])[warmup:]
    known = len(each) == measured and None not in each and sum(each) > 0
    exact = next((check["verdict"] for check in document["checks"] if check["name"] == "bit_exact"), None)
    return MeasuredBandwidth(
        outcome.verdict,
        outcome.reason or ("" if known else outcome.untimed or "the job did not end"),
        {"pass": True, "fail": False}.get(exact or ""),
        Times(tuple(each)) if known else None,
        measured + warmup,
        metrics["busiest_link"]["link"] or "",
        outcome.figures,
    )
