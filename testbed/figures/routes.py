"""What a run carried compared with its plan of gradient routes: per worker, link and switch, between two moments.

Bytes are those of whole frames as switches counted them: what came in at a port, or, towards a host, what was sent out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from switch_nodes.events import LoadSampled
from testbed.history import Record

if TYPE_CHECKING:
    from topologies.routing.gradients import RoutingPlan

__all__ = ["MeasuredRoute", "SampleSpan", "measured", "spans_of"]


@dataclass(frozen=True, slots=True)
class MeasuredRoute:
    """One row of the plan's load table, with what was found."""

    name: str
    """a worker; `s1->s3`; a switch"""
    planned_bps: float
    measured_bps: float

    @property
    def ratio(self) -> float:
        return self.measured_bps / self.planned_bps


@dataclass(frozen=True, slots=True)
class SampleSpan:
    """Between two samples of one switch."""

    taken_ns: int
    bytes_in: tuple[int, ...]
    bytes_out: tuple[int, ...]
    added_bytes: int
    data_in: int
    bypassed: int

    def bps(self, size: int) -> float:
        return 8e9 * size / self.taken_ns


def measured(plan: RoutingPlan, history: Iterable[Record], from_ns: int, until_ns: int) -> tuple[MeasuredRoute, ...]:
    """Workers, then links in the directions that the plan uses, then switches that aggregate. Raises ValueError where a
    switch has no two samples in that time."""
    spans = spans_of(history, from_ns, until_ns)
    topology = plan.problem.topology
    found = []
    for worker in plan.problem.workers:
        ((_, link, _),) = topology.ports(worker)
        rate = _rate(spans, plan, worker, link.b if link.a == worker else link.a)
        found.append(MeasuredRoute(worker, plan.worker_rates[worker], rate))
    for load in plan.link_loads:
        tail, _, head = load.name.partition("->")
        if tail not in plan.problem.workers:
            found.append(MeasuredRoute(load.name, load.load_bps, _rate(spans, plan, tail, head)))
    for load in plan.switch_loads:
        if load.load_bps:
            span = spans[load.name]
            found.append(MeasuredRoute(load.name, load.load_bps, span.bps(span.added_bytes)))
    return tuple(found)


def spans_of(history: Iterable[Record], from_ns: int, until_ns: int) -> Mapping[str, SampleSpan]:
    """By switch: from its first to its last sample in that time. Raises ValueError where there are no two of them."""
    samples: dict[str, list[LoadSampled]] = {}
    for record in history:
        if isinstance(record.event, LoadSampled):
            within = samples.setdefault(record.node, [])
            if from_ns <= record.event.at_ns <= until_ns:
                within.append(record.event)
    found = {}
    for switch, within in samples.items():
        if len(within) < 2:
            raise ValueError(f"{switch} was not sampled twice between {from_ns} and {until_ns} ns")
        first, last = within[0], within[-1]
        found[switch] = SampleSpan(
            last.at_ns - first.at_ns,
            _differences(first.bytes_in, last.bytes_in),
            _differences(first.bytes_out, last.bytes_out),
            last.added_bytes - first.added_bytes,
            last.data_in - first.data_in,
            last.bypassed - first.bypassed,
        )
    return found


def _rate(spans: Mapping[str, SampleSpan], plan: RoutingPlan, tail: str, head: str) -> float:
    """Along one direction; parallel links together."""
    total = 0.0
    receives = head in spans
    for port, link, _ in plan.problem.topology.ports(head if receives else tail):
        if {link.a, link.b} == {tail, head}:
            span = spans[head if receives else tail]
            total += span.bps(span.bytes_in[port] if receives else span.bytes_out[port])
    return total


def _differences(first: Sequence[int], last: Sequence[int]) -> tuple[int, ...]:
    return tuple(after - before for before, after in zip(first, last, strict=True))
