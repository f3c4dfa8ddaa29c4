"""From a scenario to the workers, the parameter server and the switches of a job that follows a plan of gradient
routes.

Where faults take links or switches away, there is a new plan for what remains. There is no controller in the run: its
plans are made before. A plan holds after the time that the controller would take to react (`routing.react`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig, JobMember
from switch_nodes.routes.layout import PlannedRoute, RoutedSwitch, RouteOrders
from switch_nodes.steering.layout import HostEntry, SteeringConfig
from testbed.plan.gradient_routes import plan_scenario
from testbed.plan.jobs import PlannedJob, plan_jobs
from testbed.plan.model import Plan, RoutedFrom, Unroutable
from testbed.plan.outages import outages, remaining
from testbed.plan.switches import plan_switches
from testbed.protocols.grid.plan_routes import GROUP_IP, GROUP_MAC, aggregator_ip, aggregator_mac, routes_of
from testbed.scenario.model import Routing, Scenario
from topologies import Node
from topologies.routing.gradients import RoutingPlan
from workloads import grid
from workloads.config import JobShare
from workloads.errors import InternalError, ScenarioError
from workloads.grid.config import SERVER
from workloads.server import JobOfServer, Reset, ServedMember, ServerConfig
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT

__all__ = ["plan_grid", "shares_of"]

_ELEMENT_BYTES, _ECT0 = 4, 0x02


@dataclass(frozen=True, slots=True)
class _Parts:
    scenario: Scenario
    routing: Routing
    job: PlannedJob
    server: Node
    plans: tuple[RoutedFrom, ...]
    unroutable: tuple[Unroutable, ...]
    nodes: Mapping[str, int]
    """ids of switches"""
    window: int


def plan_grid(scenario: Scenario) -> Plan:
    """Raises ScenarioError where there is no plan, or none that tables of addresses can hold."""
    routing = scenario.routing
    (job,) = plan_jobs(scenario)
    if routing is None or job.server is None:
        raise InternalError("protocol grid without routing or server was not refused")
    blocks = -(-job.workloads[0].elements // _elements(scenario))
    nodes = {switch.name: number for number, switch in enumerate(scenario.topology.switches, 1)}
    plans, routes, unroutable = _plans(scenario, routing, nodes)
    parts = _Parts(
        scenario, routing, job, job.server, plans, unroutable, nodes, min(job.job.window_packets, blocks)
    )  # fmt: skip
    plain = replace(scenario, switch=replace(scenario.switch, program="forward"))
    switches = plan_switches(plain, job.arithmetic)
    return Plan(
        scenario, tuple(_workers(parts)), tuple(_switch(parts, switch, routes) for switch in switches), (),
        servers=(_server(parts),), routing=parts.plans, unroutable=parts.unroutable,
    )  # fmt: skip


def shares_of(plan: RoutingPlan, nodes: Mapping[str, int]) -> tuple[tuple[grid.NodeShare, ...], ...]:
    """By rank; switches in the order of their ids, the server last."""
    found: list[tuple[grid.NodeShare, ...]] = []
    for worker in plan.problem.workers:
        streams = [stream for stream in plan.streams if stream.worker == worker]
        shares = [grid.NodeShare(nodes.get(stream.node, SERVER), stream.rate_bps) for stream in streams]
        found.append(tuple(sorted(shares, key=lambda part: part.node or 1 << 16)))
    return tuple(found)


_Routes = Mapping[str, tuple[PlannedRoute, ...]]
"""by switch"""


def _plans(
    scenario: Scenario, routing: Routing, nodes: Mapping[str, int]
) -> tuple[tuple[RoutedFrom, ...], tuple[_Routes, ...], tuple[Unroutable, ...]]:
    """With the routes of each. The first one must exist. Where a change cannot be planned around, or not so that tables
    of addresses hold the plan, the one before it stays: the job waits, or fails."""
    first = plan_scenario(scenario, kept=True)
    found, routes, without = [RoutedFrom(0, first)], [routes_of(first, nodes)], []
    for outage in outages(scenario):
        capacities = tuple((name, rate) for name, rate in routing.capacities if name not in outage.switches)
        left = replace(
            scenario, topology=remaining(scenario.topology, outage), routing=replace(routing, capacities=capacities)
        )
        try:
            plan = plan_scenario(left, kept=True)
            routes.append(routes_of(plan, nodes))
        except ScenarioError as error:
            without.append(Unroutable(outage.at_ns, str(error)))
        else:
            found.append(RoutedFrom(outage.at_ns + routing.react_ns, plan, outage.at_ns))
    return tuple(found), tuple(routes), tuple(without)


def _elements(scenario: Scenario) -> int:
    return scenario.transport.path_mtu // _ELEMENT_BYTES


def _workers(parts: _Parts) -> Iterable[grid.GridConfig]:
    scenario, job, server = parts.scenario, parts.job, parts.server
    draw = random.Random(f"plan {scenario.seed}")
    shares = [shares_of(routed.plan, parts.nodes) for routed in parts.plans]
    goals = tuple(grid.Destination(node, aggregator_ip(node), aggregator_mac(node)) for node in parts.nodes.values())
    paced = parts.routing.mode == "paced"
    for rank, (host, workload) in enumerate(zip(job.hosts, job.workloads, strict=True)):
        orders = tuple(
            grid.GridOrders(
                each, parts.routing.pace * routed.plan.worker_rates[host.name] if paced else 0.0, routed.from_ns
            )
            for routed, each in zip(parts.plans, shares, strict=True)
        )
        yield grid.GridConfig(
            name=host.name,
            collective=JobShare("grid", job.number, rank, len(job.hosts), job.arithmetic),
            workload=workload,
            envelope=Envelope(host.mac, server.mac, host.ip, server.ip, draw.randrange(0xC000, 0x10000), tos=_ECT0),
            elements=_elements(scenario),
            window=parts.window,
            memory=1,
            rto_ns=scenario.transport.chosen_rto_ns,
            group_ip=GROUP_IP,
            destinations=goals,
            orders=orders,
            catch_up_ns=parts.routing.bucket_ns,
        )


def _server(parts: _Parts) -> ServerConfig:
    scenario, job, server = parts.scenario, parts.job, parts.server
    return ServerConfig(
        name=server.name,
        envelope=Envelope(server.mac, GROUP_MAC, server.ip, GROUP_IP, AGGREGATION_PORT, tos=_ECT0),
        jobs=(
            JobOfServer(
                job=job.number,
                kind="grid",
                members=tuple(ServedMember(rank, host.mac, host.ip) for rank, host in enumerate(job.hosts)),
                window=parts.window,
                memory=1,
                salt=0,
                elements=_elements(scenario),
                arithmetic=job.arithmetic,
                rto_ns=scenario.transport.chosen_rto_ns,
            ),
        ),
        trace=scenario.trace,
        resets=tuple(
            Reset(routed.from_ns, routed.because_ns) for routed in parts.plans if routed.because_ns is not None
        ),
    )


def _is_commodity(parts: _Parts, switch: str) -> bool:
    """What aggregates nothing needs no program of ours, as long as its routes stay."""
    nothing = not parts.plans[0].plan.problem.capacity_bps(switch)
    return nothing and parts.scenario.switch.commodity == "openflow" and len(parts.plans) == 1


def _steered(switch: SwitchConfig, hosts: Iterable[Node], routes: tuple[PlannedRoute, ...]) -> SwitchConfig:
    """The same routes as flow rules: by our own program in the simulated world, else in an Open vSwitch."""
    where = {mac: (port,) for mac, port in switch.macs} | dict(switch.groups)
    entries = tuple(HostEntry(host.name, host.mac, where[host.mac]) for host in hosts)
    return replace(switch, program="steer", steering=SteeringConfig(entries, routes=routes))


def _switch(
    parts: _Parts, switch: SwitchConfig, routes: Sequence[Mapping[str, tuple[PlannedRoute, ...]]]
) -> SwitchConfig:
    scenario, job, server, routing = parts.scenario, parts.job, parts.server, parts.routing
    ports = dict(switch.macs) | {mac: several[0] for mac, several in switch.groups}
    node = parts.nodes[switch.name]
    first = parts.plans[0].plan
    orders = tuple(
        RouteOrders(
            table[switch.name],
            shares_of(routed.plan, parts.nodes),
            routed.from_ns,
            routed.plan.planner,
            routed.plan.min_rate_bps,
        )
        for routed, table in zip(parts.plans, routes, strict=True)
        if switch.name in table
    )
    if _is_commodity(parts, switch.name):
        return _steered(switch, scenario.topology.hosts, orders[0].routes)
    members = tuple(JobMember(rank, host.mac, host.ip, ports[host.mac]) for rank, host in enumerate(job.hosts))
    return replace(
        switch,
        program=scenario.switch.program,
        memory=scenario.switch.memory,
        jobs=(
            JobConfig(
                job=job.number,
                members=members,
                service_mac=aggregator_mac(node),
                service_ip=aggregator_ip(node),
                first_slot=0,
                slots=scenario.switch.memory,
                elements=_elements(scenario),
                arithmetic=job.arithmetic,
                server=JobMember(-1, server.mac, server.ip, ports[server.mac]),
                window=parts.window,
            ),
        ),
        grid=RoutedSwitch(
            node=node,
            ip=aggregator_ip(node),
            mac=aggregator_mac(node),
            server_ip=server.ip,
            server_mac=server.mac,
            group_ip=GROUP_IP,
            orders=orders,
            capacity_bps=first.problem.capacity_bps(switch.name),
            depth_ns=routing.bucket_ns,
            on_collision=routing.on_collision,
            sample_ns=routing.sample_ns,
        ),
    )
