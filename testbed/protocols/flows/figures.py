"""Figures of RDMA flows: completion times and slowdowns, over all flows and by size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from testbed.checkers.context import CheckContext
from testbed.history.events import TrafficStarted
from testbed.plan.model import Plan
from testbed.plan.paths import flow_paths
from testbed.protocols.flows.keys import FlowsKeys
from testbed.protocols.flows.plan_alone import alone_ns, frames_of
from topologies import LinkShape
from workloads.flows import FlowEnd, FlowsConfig
from workloads.flows.events import FlowArrived, FlowBegan

__all__ = ["BINS", "FlowTime", "flow_figures", "flow_times"]

BINS: Mapping[str, float] = {
    "to_1kB": 1e3, "to_10kB": 1e4, "to_100kB": 1e5, "to_1MB": 1e6, "above_1MB": math.inf,
}  # fmt: skip
"""names of size bins, with the most bytes of each"""
_PER_MILLE = {"p50": 500, "p95": 950, "p99": 990, "p999": 999}


@dataclass(frozen=True, slots=True)
class FlowTime:
    """One flow that began in the measured time."""

    number: int
    size: int
    """bytes"""
    alone_ns: Fraction
    """completion time alone in the network"""
    fct_ns: int | None
    """from when its sender posted it until its receiver had all of it; None: it did not end"""

    @property
    def slowdown(self) -> float | None:
        return None if self.fct_ns is None else float(self.fct_ns / self.alone_ns)


def flow_figures(context: CheckContext) -> dict[str, object]:
    """The `rdma_flows` of the metrics. An average is None if a flow did not end, and so is a percentile that it would
    be at or above."""
    times = flow_times(context)
    begun, ended = len(context.events(FlowBegan)), len({record.event.flow for record in context.events(FlowArrived)})
    planned = sum(len(worker.outgoing) for worker in _hosts(context.plan))
    return {
        "planned": planned,
        "begun": begun,
        "unfinished": begun - ended,
        "measured": len(times),
        **_loads(context.plan),
        **_statistics(times),
        "bins": {name: _statistics(inside) for name, inside in _binned(times) if inside},
    }


def flow_times(context: CheckContext) -> list[FlowTime]:
    """Of the flows that began in the measured time, by number."""
    keys, plan = _keys(context.plan), context.plan
    start = next((record.t for record in context.events(TrafficStarted)), 0)
    since = start + keys.warm_up_ns
    until = math.inf if keys.load is None else start + keys.duration_ns - keys.cool_down_ns
    ends = {record.event.flow: record.t for record in context.events(FlowArrived)}
    begins = {record.event.flow: record.t for record in context.events(FlowBegan)}
    alone, found = _Alone(plan), []
    for worker in _hosts(plan):
        for end in worker.outgoing:
            begin = begins.get(end.number)
            if begin is not None and since <= begin < until:
                fct = ends[end.number] - begin if end.number in ends else None
                found.append(FlowTime(end.number, end.size, alone.of(worker.name, end), fct))
    return sorted(found, key=lambda each: each.number)


class _Alone:
    """Completion times alone in the network, on the path of each flow; of several paths, as with spraying, the fastest
    one."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._times: dict[tuple[int, tuple[LinkShape, ...]], Fraction] = {}

    def of(self, host: str, end: FlowEnd) -> Fraction:
        topology, transport = self._plan.scenario.topology, self._plan.scenario.transport
        found = []
        for path in flow_paths(self._plan, host, end.qp.envelope):
            key = end.size, tuple(topology.link(link).shape for link, _ in path)
            if key not in self._times:
                self._times[key] = alone_ns(end.size, transport.path_mtu, key[1], speaks_irn=transport.speaks_irn)
            found.append(self._times[key])
        return min(found)


def _loads(plan: Plan) -> dict[str, object]:
    """What the drawn flows offer to the links of their senders, in parts of the rates: frames of data as the transport
    sends them, each once, and their payload. None without a load."""
    keys, transport, topology = _keys(plan), plan.scenario.transport, plan.scenario.topology
    if keys.load is None:
        return {"wire_load": None, "payload_load": None}
    room = frames = payload = 0.0
    for worker in _hosts(plan):
        _, link, _ = next(iter(topology.ports(worker.name)))
        room += link.shape.rate_bps * keys.duration_ns / 8e9
        for end in worker.outgoing:
            count, first, middle, last = frames_of(end.size, transport.path_mtu, speaks_irn=transport.speaks_irn)
            frames += last if count == 1 else first + middle * (count - 2) + last
            payload += end.size
    return {"wire_load": frames / room, "payload_load": payload / room}


def _binned(times: Sequence[FlowTime]) -> Iterator[tuple[str, list[FlowTime]]]:
    least = -1.0
    for name, most in BINS.items():
        yield name, [each for each in times if least < each.size <= most]
        least = most


def _statistics(times: Sequence[FlowTime]) -> dict[str, object]:
    seconds = [None if each.fct_ns is None else each.fct_ns / 1e9 for each in times]
    return {
        "number": len(times),
        "without_end": sum(value is None for value in seconds),
        "fct_s": _spread(seconds),
        "slowdown": _spread(each.slowdown for each in times),
    }


def _spread(values: Iterable[float | None]) -> dict[str, float | None]:
    """A flow without an end is slower than all others."""
    ordered = sorted(math.inf if value is None else value for value in values)
    found: dict[str, float] = {"average": sum(ordered) / len(ordered) if ordered else math.inf}
    for name, share in _PER_MILLE.items():
        found[name] = ordered[max(0, -(-share * len(ordered) // 1000) - 1)] if ordered else math.inf
    return {name: value if math.isfinite(value) else None for name, value in found.items()}


def _hosts(plan: Plan) -> list[FlowsConfig]:
    return [worker for worker in plan.workers if isinstance(worker, FlowsConfig)]


def _keys(plan: Plan) -> FlowsKeys:
    own = plan.scenario.job.own
    return own if isinstance(own, FlowsKeys) else FlowsKeys(load=0.5)
