"""Runs of points, over processes, and what is kept of each."""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.bench.ina.place import Point
from testbed.run import run_scenario
from workloads.errors import InternalError

__all__ = ["Figures", "figures_of", "measure_point", "run_points"]

Say = Callable[[str], None]
_LEAST_BETWEEN_S = 5.0
"""seconds between two lines of progress"""


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one run; counts are sums over its jobs."""

    average_jct_s: float
    p95_jct_s: float
    busy: float
    """share of the switch's memory and of the time"""
    useful: float
    collisions: int
    evictions: int
    resends: int
    server_bytes: int
    """of frames into parameter servers"""
    fidelity: str = "pass"
    reasons: tuple[str, ...] = ()


def measure_point(point: Point) -> Figures:
    """Raises InternalError when a sum is wrong or a job does not end: such a run is no measurement."""
    scenario = point.scenario()
    with tempfile.TemporaryDirectory(prefix="ina-bench-") as folder:
        document = run_scenario(scenario, Path(folder) / "run").document
    place = f"{scenario.name}, memory {point.memory}, seed {point.seed}, {scenario.world} world"
    return figures_of(document, place)


def figures_of(document: dict[str, Any], place: str) -> Figures:
    """Of a result.json. Figures that the run itself does not trust stand apart there; here they are shown, with the verdict on
    their fidelity. Raises InternalError as `measure_point`; `place` is what it names."""
    wrong = [check for check in document["checks"] if check["verdict"] == "fail"]
    if wrong:
        raise InternalError(f"{place}: {wrong[0]['name']} failed: {wrong[0]['detail']}")
    metrics, fidelity = document["metrics"], document["fidelity"]
    jobs = (metrics["unreliable"] or {}).get("jobs") or metrics["jobs"]
    if jobs["average_jct_s"] is None:
        raise InternalError(f"{place}: not every job came to its end")

    def total(key: str) -> int:
        return sum(job[key] or 0 for job in jobs["each"])

    return Figures(
        jobs["average_jct_s"], jobs["p95_jct_s"], jobs["busy"], jobs["useful"], total("collisions"), total("evictions"),
        total("resends"), total("server_bytes"), fidelity["verdict"], tuple(fidelity["reasons"]),
    )  # fmt: skip


def run_points(say: Say, points: Sequence[Point], processes: int) -> dict[Point, Figures]:
    """In the order of `points`, whatever was ready first."""
    began = last = time.monotonic()
    found: dict[Point, Figures] = {}
    for point, figures in _measured(points, processes):
        found[point] = figures
        now = time.monotonic()
        if now - last >= _LEAST_BETWEEN_S or len(found) == len(points):
            last = now
            left = (now - began) / len(found) * (len(points) - len(found))
            say(f"{len(found)} of {len(points)} runs, {now - began:.0f} s, about {left:.0f} s to go")
    return {point: found[point] for point in points}


def _measured(points: Sequence[Point], processes: int) -> Iterator[tuple[Point, Figures]]:
    if processes == 1 or len(points) < 2:
        yield from map(_measure, points)
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(min(processes, len(points)), _leave_interrupts_to_the_parent) as pool:
        yield from pool.imap_unordered(_measure, points)


def _measure(point: Point) -> tuple[Point, Figures]:
    return point, measure_point(point)


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
