"""What a run says about congestion and other tenants: marks, CNPs, rates over time, goodput of background flows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, TypeVar

from testbed.checkers.context import CheckContext
from testbed.checkers.rates import marks_of, rate_timeline
from testbed.history.events import TcpFlowMeasured
from testbed.plan import PlannedFlow
from testbed.plan.congestion import time_scale
from workloads.connected import ConnectedConfig
from workloads.events import CnpSent, CollectiveCompleted, CongestionStatistics, FlowReceived, FlowSent

__all__ = ["background_metrics", "congestion_metrics"]

_Flow = TypeVar("_Flow", FlowSent, FlowReceived, TcpFlowMeasured)


def congestion_metrics(context: CheckContext) -> dict[str, Any] | None:
    """The `congestion` of the metrics; None for a run without congestion control."""
    scenario = context.plan.scenario
    if scenario.transport.congestion_control == "none":
        return None
    statistics = context.events(CongestionStatistics)
    end = max((record.event.completed_ns for record in context.events(CollectiveCompleted)), default=0)
    end = end or max((record.t for record in context.history), default=0)
    rates = {}
    for worker in context.plan.ring_workers:
        timeline = rate_timeline(context, worker.name)
        line = timeline[0][1]
        rates[worker.name] = {
            "time_scale": time_scale(scenario.transport.dcqcn, line),
            "line_bps": line,
            "min_bps": min(rate for _, rate in timeline),
            "mean_bps": _mean(timeline, end),
        }
    return {
        "control": scenario.transport.congestion_control,
        "parameters": _parameters(context),
        "ce_marks": marks_of(context),
        "cnps_sent": len(context.events(CnpSent)),
        "cnps_received": sum(record.event.cnps_received for record in statistics),
        "rate_cuts": sum(record.event.cuts for record in statistics),
        "rates": rates,
    }


def _parameters(context: CheckContext) -> dict[str, Any] | None:
    """Of the first queue pair that has any; None where datagrams travel."""
    for worker in context.plan.workers:
        for qp in worker.queue_pairs if isinstance(worker, ConnectedConfig) else ():
            found = qp.dcqcn
            if found is not None:
                return {"preset": context.plan.scenario.transport.dcqcn.preset, **asdict(found)}
    return None


def _mean(timeline: list[tuple[int, int]], end: int) -> float:
    """Over time, up to `end`."""
    if end <= 0:
        return float(timeline[0][1])
    starts = [min(at, end) for at, _ in timeline] + [end]
    return sum(rate * (starts[index + 1] - starts[index]) for index, (_, rate) in enumerate(timeline)) / end


def background_metrics(context: CheckContext) -> list[dict[str, Any]] | None:
    """The `background` of the metrics, one entry per flow of the scenario; None where there are none."""
    if not context.plan.background:
        return None
    return [_udp(context, flow) if flow.kind == "udp" else _tcp(context, flow) for flow in context.plan.background]


def _entry(flow: PlannedFlow, offered: float | None, received: int, goodput: float | None) -> dict[str, Any]:
    """Rates of payload."""
    return {
        "name": flow.config.name, "kind": flow.kind, "from": flow.source, "to": flow.target, "offered_bps": offered,
        "goodput_bps": goodput, "bytes": received, "missing_packets": None, "marked_packets": None,
        "retransmits": None, "trouble": "",
    }  # fmt: skip


def _one(context: CheckContext, kind: type[_Flow], flow: PlannedFlow) -> _Flow | None:
    """The last one: a host that restarted reports its last life."""
    events = [record.event for record in context.events(kind) if record.event.flow == flow.config.name]
    return events[-1] if events else None


def _udp(context: CheckContext, flow: PlannedFlow) -> dict[str, Any]:
    config = flow.config
    sent, came = _one(context, FlowSent, flow), _one(context, FlowReceived, flow)
    assert config.rate_bps is not None
    offered = config.rate_bps * config.payload_bytes / config.frame_bytes
    if came is None:
        return _entry(flow, offered, 0, None) | {"trouble": "its receiver reported nothing"}
    duration = (came.last_ns - came.first_ns) / 1e9
    # The first datagram begins the time in which the others came.
    goodput = 8 * (came.bytes - config.payload_bytes) / duration if came.packets > 1 and duration > 0 else None
    entry = _entry(flow, offered, came.bytes, goodput) | {"marked_packets": came.marked}
    return entry if sent is None else entry | {"missing_packets": max(0, sent.packets - came.packets)}


def _tcp(context: CheckContext, flow: PlannedFlow) -> dict[str, Any]:
    measured = _one(context, TcpFlowMeasured, flow)
    offered = None if flow.config.rate_bps is None else float(flow.config.rate_bps)
    if measured is None:
        return _entry(flow, offered, 0, None) | {"trouble": "it never began"}
    goodput = 8e9 * measured.bytes / measured.duration_ns if measured.duration_ns else None
    return _entry(flow, offered, measured.bytes, goodput) | {
        "retransmits": measured.retransmits, "trouble": measured.trouble,
    }  # fmt: skip
