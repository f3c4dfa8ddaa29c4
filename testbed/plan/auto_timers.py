"""What `auto` chooses for the retransmission timers: how long a packet and its answer take at worst, and some margin.

The worst round trip has three parts. The first is the way there and back over empty queues. The second is the wait
behind everything else that may be under way on the busiest link. The third is the wait for the slowest worker where a
sum needs all of them. No part depends on the world.

Between namespaces, nodes are processes that wait for a processor. Timers after which connections give up are no shorter
than such a wait. Dilation makes it shorter in emulated time; where it is short enough, a run in virtual time has the
same timers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from testbed.kernel.load import processors
from testbed.plan.contract import planned_protocol
from testbed.plan.model import Plan
from testbed.plan.paths import (
    LinkUse,
    booked_shares,
    data_paths,
    most_connections,
    most_under_way,
    tenant_paths,
)
from testbed.plan.timers import Timer, Timers
from testbed.scenario.keys.transport import Transport
from testbed.scenario.model import Scenario
from testbed.scenario.transports import transport_of
from testbed.terminal.numbers import seconds
from workloads.config import HostConfig
from workloads.rc.transport import RELIABLE
from workloads.transports import TransportKind
from workloads.transports.timing import RoundTrip, TimerNeed

__all__ = ["drafted", "has_auto", "processor_wait_ns", "timers_of"]

_SECOND = 1_000_000_000
_ACT_FRAMES = 1
"""what each node may take to act on a frame, in times of a full frame on its link"""
_SLICE_NS = 4_000_000
"""real time that the kernel leaves a process on a processor while others wait: a tick at 250 Hz"""
_DRAFTED = {"timeout_code": 15, "rto_ns": 10_000_000, "rto_low_ns": 3_000_000, "rto_high_ns": 3_000_000}
"""timers of a plan that only shows what is under way"""


def drafted(part: Scenario) -> Scenario:
    """The scenario with some timers, for a plan that shows what is under way."""
    given = part.transport
    left = () if given.speaks_irn else ("rto_low_ns", "rto_high_ns")
    return replace(part, transport=_filled(given, given, {k: v for k, v in _DRAFTED.items() if k not in left}))


def _filled(given: Transport, transport: Transport, values: Mapping[str, Any]) -> Transport:
    """`transport` with those of the values that are not `given`."""
    return replace(transport, **{key: value for key, value in values.items() if getattr(given, key) is None})


def has_auto(part: Scenario, draft: Plan) -> bool:
    """Whether a protocol has a timer that its scenario gives no number for."""
    keys = _kind_of(draft).timer_keys(resends_alone=part.transport.speaks_irn)
    return any(getattr(part.transport, key.field) is None for key in keys)


def timers_of(part: Scenario, draft: Plan, whole: Plan) -> tuple[Transport, Timers]:
    """The transport of one protocol with all timers chosen, and what they follow from. `draft`: a plan of the
    protocol alone; `whole`: with all that shares its links."""
    given, trip, kind = part.transport, _round_trip(draft, whole), _kind_of(draft)
    waits_ns = 0
    if part.world == "emulated" and part.dilation is not None:
        waits_ns = processor_wait_ns(len(part.topology.nodes), processors(), part.dilation)
    need = TimerNeed(
        trip,
        _others_ns(draft, whole, trip.empty_ns),
        is_real=bool(part.nics) or part.world == "lab",
        cuts_rates=given.congestion_control != "none",
        processor_ns=waits_ns,
        resends_alone=given.speaks_irn,
        low_ns=given.rto_low_ns,
        high_ns=given.rto_high_ns,
    )
    transport = _filled(given, draft.scenario.transport, kind.timer_values(need))
    return transport, Timers(trip, tuple(_each(kind, given, transport)), waits_ns)


def processor_wait_ns(processes: int, processors: int, dilation: int) -> int:
    """Emulated time that a process waits at most while all others take their turns."""
    return -(-max(0, processes - processors) * _SLICE_NS // (processors * dilation))


def _kind_of(draft: Plan) -> TransportKind:
    """By which packets of the sums travel."""
    return RELIABLE if draft.ring_workers else transport_of(draft.scenario.job.protocol)


def _each(kind: TransportKind, given: Transport, chosen: Transport) -> Iterator[Timer]:
    for timer in kind.timer_keys(resends_alone=given.speaks_irn):
        value = getattr(chosen, timer.field)
        ns = kind.span_of(value) if timer.is_code else value
        shown = seconds(ns / 1e9) if ns else "never"
        shown = f"{value} ({shown})" if timer.is_code else seconds(value / 1e9)
        yield Timer(timer.key, ns, shown, getattr(given, timer.field) is None, is_repeat=timer.is_repeat)


def _round_trip(draft: Plan, whole: Plan) -> RoundTrip:
    topology, empty, queued, built_up = draft.scenario.topology, 0.0, 0.0, 0.0
    coming, shares, full = most_under_way(whole), booked_shares(whole), _full_queues(whole)
    kind = _kind_of(draft)
    unasked = None if _waits(draft) else kind.unasked_packets
    for worker, path in data_paths(draft):
        frame, way = worker.framing.frame_bytes, 0.0
        answer = kind.answer_bytes(frame)
        for use in path:
            shape, share = topology.link(use[0]).shape, shares.get(use, 0.0)
            way += 2 * (shape.delay_ns + shape.jitter_ns)
            way += 8 * (frame + answer + 2 * _ACT_FRAMES * frame) * _SECOND / shape.rate_bps
            # A queue grows where more comes than leaves; where a sum waits, the whole window does.
            most = shape.queue_packets + 1 if share > 1 or unasked is None else unasked
            waiting = max(min(coming[use], most * frame), full.get(use, 0))
            waits_ns = 8 * waiting * _SECOND / shape.rate_bps
            queued, built_up = max(queued, waits_ns), max(built_up, waits_ns if share > 1 and unasked is None else 0.0)
        empty = max(empty, way)
    return RoundTrip(round(empty), round(queued), round(_slower_ns(draft)), round(built_up))


def _waits(draft: Plan) -> bool:
    """An answer comes when all workers sent, as that of a sum does."""
    if _kind_of(draft) is RELIABLE:
        return any(switch.rings for switch in draft.switches)
    return not planned_protocol(draft.scenario.job.protocol).answers_at_once()


def _full_queues(whole: Plan) -> Mapping[LinkUse, int]:
    """Bytes in the queues that other tenants may keep full."""
    shapes = {link.name: link.shape for link in whole.scenario.topology.links}
    uses = {use for _, paths in tenant_paths(whole) for path in paths for use in path}
    return {use: (shapes[use[0]].queue_packets + 1) * shapes[use[0]].mtu for use in uses}


def _others_ns(draft: Plan, whole: Plan, empty_ns: int) -> float:
    """The wait behind other connections on the busiest link, when each has a round trip's worth under way."""
    together, own = most_connections(whole), {use for _, path in data_paths(draft) for use in path}
    return empty_ns * max(0.0, *(together[use] - 1 for use in own))


def _slower_ns(draft: Plan) -> float:
    """By how much a worker may be later than another one of its group, where packets wait for all of them."""
    spreads = [0.0]
    for group in draft.groups.values() if _waits(draft) else ():
        earliest, latest = zip(*map(_ready_ns, group), strict=True)
        spreads.append(max(latest) - min(earliest))
    return max(spreads)


def _ready_ns(worker: HostConfig) -> tuple[float, float]:
    """When its gradient is ready in an iteration, at the earliest and at the latest."""
    work = worker.workload
    if work.compute is None:
        return work.straggle_ns, work.straggle_ns
    takes = sum(layer.forward_ns + layer.backward_ns for layer in work.compute.layers) * work.compute.slowdown
    return work.straggle_ns + takes * (1 - work.compute.jitter), work.straggle_ns + takes * (1 + work.compute.jitter)
