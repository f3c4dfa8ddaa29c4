"""Scenarios on faster links: rates of links, and of switches that aggregate, are multiplied; delays stay. And jobs that
are long enough for a share of their time to mean something."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TypeVar

from testbed.plan import Plan, make_plan
from testbed.plan.paths import data_volumes, most_under_way
from testbed.scenario.keys.job import SharedJob
from testbed.scenario.model import Scenario
from topologies import LinkShape

__all__ = ["at_rate", "lasting"]

_SECOND = 1_000_000_000
_LIMIT_NS = 1_000 * _SECOND
_J = TypeVar("_J", bound=SharedJob)


def at_rate(scenario: Scenario, factor: int) -> Scenario:
    def faster(shape: LinkShape) -> LinkShape:
        return replace(shape, rate_bps=shape.rate_bps * factor)

    topology = scenario.topology
    links = tuple(replace(link, shape=faster(link.shape)) for link in topology.links)
    routing = scenario.routing
    if routing is not None:
        routing = replace(routing, capacities=tuple((name, rate * factor) for name, rate in routing.capacities))
    return replace(scenario, topology=replace(topology, links=links), link=faster(scenario.link), routing=routing)


def lasting(scenario: Scenario, trips: int, most_hops: int) -> Scenario:
    """The same with gradients so large that without loss each job takes at least so many worst queueing round trips,
    by its plan; gradients of one collective grow alike. What has a size of its own stays, and nothing grows so far that
    the network carries more than `most_hops` packets, counted on each link."""
    while True:
        plan = make_plan(scenario)
        room = max(1, int(most_hops / _hops(plan)))
        first, *beside = (min(room, ceil(trips / _lasts(part))) for part in plan.parts)
        longer = replace(
            scenario,
            job=_larger(scenario.job, first),
            jobs=tuple(_larger(job, first) for job in scenario.jobs),
            beside=tuple(
                replace(entry, job=_larger(entry.job, times), jobs=tuple(_larger(job, times) for job in entry.jobs))
                for entry, times in zip(scenario.beside, beside, strict=True)
            ),
        )
        if longer == scenario:
            return replace(scenario, time_limit_ns=_LIMIT_NS)
        scenario = longer  # a window that held the whole gradient holds more of a larger one: queues may grow


def _hops(plan: Plan) -> float:
    volumes = data_volumes(plan)
    return sum(volumes.values()) / plan.workers[0].framing.frame_bytes


def _lasts(plan: Plan) -> float:
    """How many worst queueing round trips the shortest job of a collective takes at least."""
    topology, trip = plan.scenario.topology, plan.timers.trip
    shortest_ns = min(
        max(
            max(8 * size * _SECOND / topology.link(use[0]).shape.rate_bps, size / windows[use] * trip.empty_ns)
            for use, size in data_volumes(alone).items()
        )
        for alone in (replace(plan, workers=workers, beside=()) for workers in plan.groups.values())
        for windows in (most_under_way(alone),)
    )
    return shortest_ns / trip.queueing_ns


def _larger(job: _J, times: int) -> _J:
    if job.workload == "digits" or times == 1:
        return job
    stages = job.stages and replace(job.stages, divide=max(1, job.stages.divide // times))
    return replace(job, size_bytes=job.size_bytes * times, scale=max(1, job.scale // times), stages=stages)
