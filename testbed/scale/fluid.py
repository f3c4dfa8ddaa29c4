"""The flow level: a protocol is a list of phases. A phase is a set of transfers that start together and share links
max-min fairly until the last is done. A phase begins when the one before it has ended on every rank."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from testbed.scale.outcome import ScaleOutcome

__all__ = ["Flow", "FluidPhase", "max_min_rates", "phase_seconds", "run_phases"]

Link = Hashable


@dataclass(frozen=True, slots=True)
class Flow:
    links: tuple[Link, ...]
    size_bytes: float
    """bytes on the wire"""
    latency_s: float = 0.0
    """time after its last byte left"""
    limit_bps: float = math.inf
    """what it never exceeds, however free its links are: a window"""


@dataclass(frozen=True, slots=True)
class FluidPhase:
    flows: tuple[Flow, ...]
    repeat: int = 1
    """number of times in a row; solved once, since the same flows on the same links take the same time"""


def max_min_rates(flows: Sequence[Flow], rates_bps: Mapping[Link, float]) -> list[float]:
    """Bits per second of each flow: progressive filling. A flow without links and limit gets infinitely much."""
    room = dict(rates_bps)
    members: dict[Link, set[int]] = {}
    for index, flow in enumerate(flows):
        for link in flow.links:
            members.setdefault(link, set()).add(index)
    open_flows, result = set(range(len(flows))), [math.inf] * len(flows)
    while open_flows:
        share = min((max(0.0, room[link]) / len(found) for link, found in members.items() if found), default=math.inf)
        share = min(share, min(flows[index].limit_bps for index in open_flows))
        if share == math.inf:
            break
        tight = {link for link, found in members.items() if found and room[link] / len(found) <= share * (1 + 1e-12)}
        fixed = {i for link in tight for i in members[link]} | {
            i for i in open_flows if flows[i].limit_bps <= share * (1 + 1e-12)
        }
        for index in fixed:
            result[index] = share
            for link in flows[index].links:
                room[link] -= share
                members[link].discard(index)
        open_flows -= fixed
    return result


def phase_seconds(phase: FluidPhase, rates_bps: Mapping[Link, float]) -> tuple[float, int]:
    """(how long it takes once, how often rates were worked out): whenever a flow is done, the others share again."""
    left = {index: 8 * flow.size_bytes for index, flow in enumerate(phase.flows) if flow.size_bytes > 0}
    end = max((flow.latency_s for flow in phase.flows if not flow.size_bytes), default=0.0)
    now, solved = 0.0, 0
    while left:
        order = list(left)
        rates = max_min_rates([phase.flows[index] for index in order], rates_bps)
        solved += 1
        step = min(left[index] / rate for index, rate in zip(order, rates, strict=True))
        now += step
        for index, rate in zip(order, rates, strict=True):
            left[index] -= rate * step if rate < math.inf else left[index]
            if left[index] <= 1e-9 * 8 * phase.flows[index].size_bytes:
                del left[index]
                end = max(end, now + phase.flows[index].latency_s)
    return end, solved


def run_phases(phases: Sequence[FluidPhase], rates_bps: Mapping[Link, float]) -> ScaleOutcome:
    """One after the other. `sent_bytes` is what the flows of the busiest first link carry in all."""
    seconds, solved = 0.0, 0
    carried: dict[Link, float] = {}
    for phase in phases:
        once, count = phase_seconds(phase, rates_bps)
        seconds += once * phase.repeat
        solved += count
        for flow in phase.flows:
            if flow.links:
                carried[flow.links[0]] = carried.get(flow.links[0], 0.0) + flow.size_bytes * phase.repeat
    return ScaleOutcome(seconds, 0, solved, max(carried.values(), default=0.0))
