"""Whether a plan holds: routes that exist, streams that arrive, links and switches that can take it."""

from __future__ import annotations

from collections.abc import Iterator

from topologies.graph import Role
from topologies.routing.gradients.plan import Merge, Route, RoutingPlan, Stream

__all__ = ["TOLERANCE", "violations"]

TOLERANCE = 1e-6
"""relative: solvers compute in floating point"""


def violations(plan: RoutingPlan) -> tuple[str, ...]:
    """What is wrong with it, one text each; none: it holds. Checked from the topology alone, by none of the planners'
    code."""
    return tuple(_violations(plan))


def _violations(plan: RoutingPlan) -> Iterator[str]:
    problem, ground = plan.problem, _ground(plan)
    switches = set(problem.aggregators)
    for stream in plan.streams:
        what = f"{stream.worker} to {stream.node} for {stream.server}"
        if stream.worker not in problem.workers or stream.server not in problem.servers:
            yield f"{what}: no worker or server of the problem"
        if stream.node != stream.server and stream.node not in switches:
            yield f"{what}: {stream.node} aggregates nothing"
        yield from _wrong_routes(ground, stream, stream.worker, stream.node, what)
    if len({(s.worker, s.server, s.node) for s in plan.streams}) != len(plan.streams):
        yield "two streams of one worker, node and server"
    for merge in plan.merges:
        yield from _wrong_routes(
            ground, merge, merge.switch, merge.server, f"aggregate of {merge.switch} for {merge.server}"
        )
    yield from _unequal(plan)
    for load in (*plan.link_loads, *plan.switch_loads):
        if load.load_bps > load.capacity_bps * (1 + TOLERANCE):
            yield f"{load.name}: load {load.load_bps:.6g} above capacity {load.capacity_bps:.6g}"
    if plan.min_rate_bps < problem.demand_bps * (1 - TOLERANCE):
        yield f"smallest rate {plan.min_rate_bps:.6g} below the demand {problem.demand_bps:.6g}"
    if plan.min_rate_bps > plan.bound_bps * (1 + TOLERANCE):
        yield f"smallest rate {plan.min_rate_bps:.6g} above the bound {plan.bound_bps:.6g}"


_Ground = tuple[dict[str, set[str]], set[str]]
"""(ends by link, hosts)"""


def _ground(plan: RoutingPlan) -> _Ground:
    topology = plan.problem.topology
    return (
        {link.name: {link.a, link.b} for link in topology.links},
        {node.name for node in topology.nodes if node.role is Role.HOST},
    )


def _wrong_routes(ground: _Ground, part: Stream | Merge, start: str, end: str, what: str) -> Iterator[str]:
    for route in part.routes:
        if not route.rate_bps > 0:
            yield f"{what}: a route without a rate"
        if route.nodes[:1] != (start,) or route.nodes[-1:] != (end,):
            yield f"{what}: a route from {route.nodes[0]} to {route.nodes[-1]}"
        if len(set(route.nodes)) != len(route.nodes):
            yield f"{what}: a route that circles"
        yield from _wrong_links(ground, route, what)


def _wrong_links(ground: _Ground, route: Route, what: str) -> Iterator[str]:
    ends, hosts = ground
    if len(route.links) != len(route.nodes) - 1:
        yield f"{what}: {len(route.links)} links for {len(route.nodes)} nodes"
    for tail, head, link in zip(route.nodes, route.nodes[1:], route.links, strict=False):
        if ends.get(link) != {tail, head}:
            yield f"{what}: {link} does not lead from {tail} to {head}"
    for node in route.nodes[1:-1]:
        if node in hosts:
            yield f"{what}: host {node} is on the way"


def _unequal(plan: RoutingPlan) -> Iterator[str]:
    """What comes in and what goes out. A merged stream is as fast as its fastest input, and every worker serves every
    server that has a share at all."""
    fastest: dict[tuple[str, str], float] = {}
    served = {(worker, server): 0.0 for worker in plan.problem.workers for server in plan.problem.servers}
    for stream in plan.streams:
        served[stream.worker, stream.server] = served.get((stream.worker, stream.server), 0.0) + stream.rate_bps
        if stream.node != stream.server:
            key = (stream.node, stream.server)
            fastest[key] = max(fastest.get(key, 0.0), stream.rate_bps)
    used = {server for (_, server), rate in served.items() if rate > 0}
    for (worker, server), rate in served.items():
        if not rate > 0 and server in used:
            yield f"{worker} sends nothing to {server}"
    if not used:
        yield "no worker sends anything"
    merged = {(merge.switch, merge.server): merge.rate_bps for merge in plan.merges}
    if len(merged) != len(plan.merges):
        yield "two aggregates of one switch and server"
    for key in fastest.keys() | merged.keys():
        into, out = fastest.get(key, 0.0), merged.get(key, 0.0)
        if abs(into - out) > TOLERANCE * max(into, out):
            yield f"aggregate of {key[0]} for {key[1]}: fastest input {into:.6g}, output {out:.6g}"
