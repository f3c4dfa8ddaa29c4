"""Figures of one run of several jobs, from its outcome in a sweep."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.bench.measure import ToldRun
from testbed.sweeps.scenario_model import Outcome
from workloads.errors import InternalError

__all__ = ["InaFigures", "figures_of"]


@dataclass(frozen=True, slots=True)
class InaFigures:
    """Counts are sums over its jobs."""

    average_jct_s: float
    p95_jct_s: float
    busy: float
    """share of the switch's memory and of the time"""
    useful: float
    collisions: int
    evictions: int
    resends: int
    server_bytes: int
    """bytes of frames into parameter servers"""
    untimed: str = ""
    """why its times are not trusted"""
    dilation: int = 1
    deviation: float | None = None
    """deviation of the average JCT from that of the same plan in virtual time"""


def figures_of(outcome: Outcome, place: str) -> InaFigures:
    """Figures that the run itself does not trust stand apart in it; here they are shown, with the reason. Raises
    InternalError when a job did not end; `place` is what it names."""
    found = outcome.figures
    jobs = "unreliable.jobs" if outcome.untimed else "jobs"
    times = [found.get(f"{jobs}.{name}") for name in ("average_jct_s", "p95_jct_s", "busy", "useful")]
    if None in times:
        raise InternalError(f"{place}: not every job came to its end")

    def total(key: str) -> int:
        names = (name for name in found if name.startswith("jobs.each.") and name.endswith(f".{key}"))
        return sum(int(found[name] or 0) for name in names)

    told = ToldRun.of_figures(found)
    average_s, p95_s, busy, useful = (float(value or 0) for value in times)
    return InaFigures(
        average_s, p95_s, busy, useful, total("collisions"), total("evictions"), total("resends"),
        total("server_bytes"), outcome.untimed, told.dilation, told.deviation,
    )  # fmt: skip
