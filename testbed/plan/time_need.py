"""How long a job takes: never less than its bytes take on the busiest link; about as long as that and its round
trips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from testbed.faults.model import RateChange
from testbed.plan import Plan
from testbed.plan.paths import data_flows, data_volumes
from topologies import Link
from workloads.collectives.kinds import ring_kind
from workloads.config import WorkerConfig, WorkloadConfig

__all__ = ["TimeNeed", "time_need"]

_EMULATED_FRAMES_PER_S = 80_000
"""of a real second, over all links, that a machine of two processors carries between namespaces, with captures; no
bound, an experience"""


@dataclass(frozen=True, slots=True)
class TimeNeed:
    """Emulated seconds since the start of the traffic."""

    least_s: float
    """no run is over earlier: data on the busiest link without headers of answers, computing, arrivals"""
    about_s: float
    """without faults: round trips of the window too, and in the emulated world what a small machine carries"""
    bottleneck: str
    """`LINK DIRECTION` that decides `least_s`; empty: computing and arrivals do"""


def time_need(plan: Plan) -> TimeNeed:
    """Of a run in the world of the plan's scenario."""
    rates = _highest_rates(plan)
    volumes = data_volumes(plan)
    link_s = {use: 8 * size / rates[use[0]] for use, size in volumes.items()}
    busiest = max(link_s, key=lambda use: link_s[use])
    own_s = max(_alone_s(worker.workload) for worker in plan.workers)
    least_s = max(link_s[busiest], own_s)
    slow = _slow_part(plan)
    about_s = max(least_s, link_s[busiest] * slow, own_s) + _round_trips_s(plan)
    dilation = plan.scenario.dilation
    if plan.scenario.world == "emulated" and dilation is not None:
        frame = plan.least_frame_bytes
        about_s = max(about_s, sum(volumes.values()) / frame / (_EMULATED_FRAMES_PER_S * dilation))
    decides = link_s[busiest] >= own_s
    return TimeNeed(least_s, about_s, f"{busiest[0]} {busiest[1]}" if decides else "")


def _highest_rates(plan: Plan) -> Mapping[str, float]:
    """Of each link, in bits per second; a fault may make it faster for a while."""
    faults = [fault for fault in plan.scenario.faults if isinstance(fault, RateChange)]
    return {
        link.name: max([link.shape.rate_bps, *(fault.rate_bps for fault in faults if link.name in fault.links)])
        for link in plan.scenario.topology.links
    }


def _alone_s(work: WorkloadConfig) -> float:
    """What a worker needs though it sent nothing: from its arrival on, each iteration straggles and computes."""
    return (work.arrival_ns + work.iterations * (work.straggle_ns + _computing_ns(work))) / 1e9


def _computing_ns(work: WorkloadConfig) -> float:
    if work.compute is None:
        return 0.0
    layers = sum(layer.forward_ns + layer.backward_ns for layer in work.compute.layers)
    return layers * work.compute.slowdown * (1 - work.compute.jitter)


def _slow_part(plan: Plan) -> float:
    """By how much a window that is smaller than what fits on the way makes a sender wait; 1: not at all."""
    factors = [1.0]
    flows = data_flows(plan)
    for worker in plan.ring_workers:
        if not ring_kind(worker.collective.kind).in_messages:
            continue
        link = _own_link(plan, worker)
        share = max((times for use, times in flows.items() if use[0] == link.name), default=1.0)
        packet_s = 8 * worker.framing.frame_bytes * share / link.shape.rate_bps
        message_s = worker.collective.message_packets * packet_s
        window_s = worker.collective.window_messages * message_s
        factors.append((message_s + _round_trip_s(plan)) / window_s)
    return max(factors)


def _own_link(plan: Plan, worker: WorkerConfig) -> Link:
    return next(link for link in plan.scenario.topology.links if worker.name in (link.a, link.b))


def _round_trip_s(plan: Plan) -> float:
    """There and back between the hosts that are farthest from each other: at most so many links as there are tiers,
    twice."""
    topology = plan.scenario.topology
    hops = 2 if len(topology.switches) == 1 else 4
    return 2 * hops * max(link.shape.delay_ns + link.shape.jitter_ns for link in topology.links) / 1e9


def _round_trips_s(plan: Plan) -> float:
    """At the end of each iteration its last packet travels alone."""
    return max(worker.workload.iterations for worker in plan.workers) * _round_trip_s(plan)
