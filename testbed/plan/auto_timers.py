"""What `auto` chooses for the retransmission timers: how long a packet and its answer take at worst, and some margin.

The worst round trip has three parts. The first is the way there and back over empty queues. The second is the wait
behind everything else that may be under way on the busiest link. The third is the wait for the slowest worker where a
sum needs all of them. No part depends on the world, so that a run in virtual time and one between namespaces have the
same timers in emulated time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

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
from testbed.plan.timers import RoundTrip, Timer, Timers, rounded_ns
from testbed.scenario.model import Scenario
from testbed.scenario.transport import Transport
from testbed.scenario.transports import transport_of
from testbed.terminal.numbers import seconds
from workloads.config import HostConfig
from workloads.datagrams.problems import LEAST_RTO_NS
from workloads.rc.transport import RELIABLE

__all__ = ["drafted", "timers_of"]

_SECOND = 1_000_000_000
_ANSWER_BYTES = 70
"""of an answer of RoCE with Ethernet, IPv4, UDP, BTH, AETH, both PSNs of IRN, iCRC"""
_ACT_FRAMES = 1
"""what each node may take to act on a frame, in times of a full frame on its link"""
_MARGIN = 2
"""timers in worst round trips"""
_RC_MARGIN = 3
"""the same of RC connections: they give up after some, and while one of them recovers those whose sums need it wait"""
_SLOWED = 4
"""as many times as that where congestion control cuts rates"""
_UNASKED = 64
"""packets after which an RC sender asks for an answer at the latest"""
_LOW_TRIPS = 2
"""RTO_low in round trips over empty queues. RTO_high is 3.2 times RTO_low, but no more than `_MARGIN` worst round
trips; through queues that must build up, no less than one. Where most of the trip is such a queue, it is up to
`_RC_MARGIN` (docs/irn.md)"""
_UNIT_NS = 4_096
_MOST_CODE = 31
_REAL_CODE, _REAL_RTO_NS, _REAL_LOW_NS = 15, 10_000_000, 3_000_000
"""least values towards hosts and devices of a lab, or RDMA devices: their processors and firmware take milliseconds
that no link rate shows"""


def drafted(part: Scenario) -> Scenario:
    """The scenario with some timers, for a plan that shows what is under way."""
    given = part.transport
    usual = {"timeout_code": _REAL_CODE, "rto_ns": _REAL_RTO_NS}
    if given.speaks_irn:
        usual |= {"rto_low_ns": _REAL_LOW_NS, "rto_high_ns": _REAL_LOW_NS}
    return replace(part, transport=_filled(given, given, usual))


def _filled(given: Transport, transport: Transport, values: Mapping[str, Any]) -> Transport:
    """`transport` with those of the values that are not `given`."""
    return replace(transport, **{key: value for key, value in values.items() if getattr(given, key) is None})


def timers_of(part: Scenario, draft: Plan, whole: Plan) -> tuple[Transport, Timers]:
    """The transport of one collective with all timers chosen, and what they follow from. `draft`: a plan of the
    collective alone; `whole`: with all that shares its links."""
    given, trip = part.transport, _round_trip(draft, whole)
    is_real = bool(part.nics) or part.world == "lab"
    changes: dict[str, Any] = {}
    reliable = _is_reliable(draft)
    if not reliable:
        rto = rounded_ns(_MARGIN * trip.queueing_ns + trip.slower_ns)
        changes["rto_ns"] = max(rto, _REAL_RTO_NS if is_real else LEAST_RTO_NS)
    else:
        margin = _RC_MARGIN * (_SLOWED if given.congestion_control != "none" else 1)
        wanted = margin * trip.queueing_ns + trip.slower_ns
        code = next((code for code in range(1, _MOST_CODE) if _UNIT_NS << code >= wanted), _MOST_CODE)
        changes["timeout_code"] = max(code, _REAL_CODE if is_real else 0)
    if reliable and given.speaks_irn:
        calm = _LOW_TRIPS * trip.empty_ns + min(_others_ns(draft, whole, trip.empty_ns), trip.queued_ns)
        calm = given.rto_low_ns or max(rounded_ns(calm), _REAL_LOW_NS if is_real else 0)
        low = rounded_ns(calm + trip.slower_ns)
        low = low if given.rto_high_ns is None else min(low, given.rto_high_ns)
        changes["rto_low_ns"] = given.rto_low_ns or low
        margin = _RC_MARGIN if trip.built_up_ns > trip.empty_ns else _MARGIN
        high = max(min(calm * 16 // 5, margin * trip.queueing_ns), trip.congested_ns) + trip.slower_ns
        changes["rto_high_ns"] = max(changes["rto_low_ns"], rounded_ns(high))
    transport = _filled(given, draft.scenario.transport, changes)
    return transport, Timers(trip, tuple(_each(given, transport, reliable=reliable)))


def _is_reliable(draft: Plan) -> bool:
    """Packets are acknowledged on RoCE connections."""
    return bool(draft.ring_workers) or transport_of(draft.scenario.job.collective) is RELIABLE


def _each(given: Transport, chosen: Transport, *, reliable: bool) -> Iterator[Timer]:
    if not reliable:
        rto = chosen.chosen_rto_ns
        yield Timer("rto", rto, seconds(rto / 1e9), given.rto_ns is None, is_repeat=True)
        return
    code, irn = chosen.chosen_timeout_code, given.speaks_irn
    ns = _UNIT_NS << code if code else 0
    shown = f"{code} ({seconds(ns / 1e9)})" if code else "0 (never)"
    yield Timer("timeout", ns, shown, given.timeout_code is None, is_repeat=not irn)
    if irn:
        owns = given.rto_low_ns, given.rto_high_ns
        for key, own, value in zip(("rto_low", "rto_high"), owns, chosen.chosen_irn_ns, strict=True):
            yield Timer(key, value, seconds(value / 1e9), own is None, is_repeat=True)


def _round_trip(draft: Plan, whole: Plan) -> RoundTrip:
    topology, empty, queued, built_up = draft.scenario.topology, 0.0, 0.0, 0.0
    coming, shares, full = most_under_way(whole), booked_shares(whole), _full_queues(whole)
    waits, reliable = _waits(draft), _is_reliable(draft)
    waits = waits or not reliable
    for worker, path in data_paths(draft):
        frame, way = worker.framing.frame_bytes, 0.0
        answer = _ANSWER_BYTES if reliable else frame
        for use in path:
            shape, share = topology.link(use[0]).shape, shares.get(use, 0.0)
            way += 2 * (shape.delay_ns + shape.jitter_ns)
            way += 8 * (frame + answer + 2 * _ACT_FRAMES * frame) * _SECOND / shape.rate_bps
            # A queue grows where more comes than leaves; where a sum waits, the whole window does.
            most = shape.queue_packets + 1 if share > 1 or waits else _UNASKED
            waiting = max(min(coming[use], most * frame), full.get(use, 0))
            waits_ns = 8 * waiting * _SECOND / shape.rate_bps
            queued, built_up = max(queued, waits_ns), max(built_up, waits_ns if share > 1 and waits else 0.0)
        empty = max(empty, way)
    return RoundTrip(round(empty), round(queued), round(_slower_ns(draft)), round(built_up))


def _waits(draft: Plan) -> bool:
    """An answer comes when all workers sent, as that of a sum does."""
    if _is_reliable(draft):
        return any(switch.rings for switch in draft.switches)
    return not planned_protocol(draft.scenario.job.collective).answers_at_once()


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
