"""Runs of points, and what is kept of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from testbed.bench.ina.place import Point
from testbed.bench.ina.processes import in_processes
from testbed.bench.measure import Told
from testbed.kernel.scratch import scratch
from testbed.runs.run import run_scenario
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
    """bytes of frames into parameter servers"""
    fidelity: str = "pass"
    reasons: tuple[str, ...] = ()
    dilation: int = 1
    deviation: float | None = None
    """deviation of the average JCT from that of the same plan in virtual time"""


def measure_point(point: Point) -> Figures:
    """Raises InternalError when a sum is wrong or a job does not end: such a run is no measurement."""
    scenario = point.scenario()
    with scratch() as folder:
        document = run_scenario(scenario, folder / "run").document
    place = f"{scenario.name}, memory {point.memory}, seed {point.seed}, {scenario.world} world"
    return figures_of(document, place)


def figures_of(document: dict[str, Any], place: str) -> Figures:
    """Of a result.json. Figures that the run itself does not trust stand apart there; here they are shown, with the
    verdict on their fidelity. Raises InternalError as `measure_point`; `place` is what it names."""
    wrong = [check for check in document["checks"] if check["verdict"] == "fail"]
    if wrong:
        raise InternalError(f"{place}: {wrong[0]['name']} failed: {wrong[0]['detail']}")
    metrics, fidelity = document["metrics"], document["fidelity"]
    jobs = (metrics["unreliable"] or {}).get("jobs") or metrics["jobs"]
    if jobs["average_jct_s"] is None:
        raise InternalError(f"{place}: not every job came to its end")

    told = Told.of(document)

    def total(key: str) -> int:
        return sum(job[key] or 0 for job in jobs["each"])

    return Figures(
        jobs["average_jct_s"], jobs["p95_jct_s"], jobs["busy"], jobs["useful"], total("collisions"), total("evictions"),
        total("resends"), total("server_bytes"), fidelity["verdict"], tuple(fidelity["reasons"]),
        told.dilation, told.deviation,
    )  # fmt: skip


def run_points(
    say: Say,
    points: Sequence[Point],
    processes: int,
    known: Mapping[Point, Figures] | None = None,
    keep: Callable[[Point, Figures], None] = lambda point, figures: None,
) -> dict[Point, Figures]:
    """In the order of `points`, whatever was ready first. `known`: figures of points that need no run; `keep` gets each
    other one as soon as it is there."""
    began = last = time.monotonic()
    found = dict(known or {})
    missing = [point for point in points if point not in found]
    done = 0
    with closing(_measured(missing, processes)) as measured:
        for point, figures in measured:
            found[point] = figures
            keep(point, figures)
            done += 1
            now = time.monotonic()
            if now - last >= _LEAST_BETWEEN_S or done == len(missing):
                last = now
                left = (now - began) / done * (len(missing) - done)
                so_far = len(points) - len(missing) + done
                say(f"{so_far} of {len(points)} runs, {now - began:.0f} s, about {left:.0f} s to go")
    return {point: found[point] for point in points}


def _measured(points: Sequence[Point], processes: int) -> Generator[tuple[Point, Figures], None, None]:
    if processes == 1 or len(points) < 2:
        for point in points:
            yield point, measure_point(point)
    else:
        yield from in_processes(measure_point, points, processes)
