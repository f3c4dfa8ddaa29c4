"""Points of a sweep that differ by their seed alone, gathered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from testbed.comparison.figures import Figure
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.scenario_model import Outcome, Point
from testbed.sweeps.statistics import Summary, summarise

__all__ = ["PointGroup", "groups_of"]


@dataclass(frozen=True, slots=True)
class PointGroup:
    labels: tuple[tuple[str, Any], ...]
    points: tuple[Point, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def values(self) -> Mapping[str, Any]:
        return dict(self.labels)

    @property
    def verdicts(self) -> Counter[str]:
        """pass, fail, unknown, invalid, failed, pending -> how many."""
        return Counter(outcome.verdict if outcome.is_done else outcome.status for outcome in self.outcomes)

    @property
    def reason(self) -> str:
        """The first that there is, of what did not pass."""
        return next((outcome.reason for outcome in self.outcomes if outcome.reason), "")

    def numbers(self, figure: str) -> tuple[float, ...]:
        """Of the runs that are done, did not fail and have the figure: a wrong sum has no speed."""
        values = [
            outcome.figures.get(figure) for outcome in self.outcomes if outcome.is_done and outcome.verdict != "fail"
        ]
        return tuple(float(value) for value in values if value is not None)

    def summary(self, figure: str) -> Summary | None:
        return summarise(self.numbers(figure))

    def left_out(self, figure: str) -> Counter[str]:
        """failed, untrusted, refused, absent, pending -> how many runs the summary omits for this reason."""
        return Counter(
            why for outcome in self.outcomes if (why := why_left_out(outcome, outcome.figures.get(figure))) is not None
        )


def why_left_out(outcome: Outcome, value: Figure) -> str | None:
    """Why a run has no place in a median: it failed a check or could not run, its times cannot be trusted, its scenario
    was refused, it has no such figure, or it was not computed yet. None: it has one."""
    if outcome.status == "pending":
        return "pending"
    if outcome.status == "invalid":
        return "refused"
    if not outcome.is_done or outcome.verdict == "fail":
        return "failed"
    if value is not None:
        return None
    return "untrusted" if outcome.untimed else "absent"


def groups_of(finished: FinishedScenarios) -> list[PointGroup]:
    """In the order of the sweep."""
    found: dict[str, list[int]] = {}
    for index, point in enumerate(finished.points):
        found.setdefault(repr(point.labels), []).append(index)
    return [
        PointGroup(
            finished.points[places[0]].labels,
            tuple(finished.points[place] for place in places),
            tuple(finished.outcomes[place] for place in places),
        )
        for places in found.values()
    ]
