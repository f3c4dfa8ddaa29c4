"""`tb bench grid` in virtual time, on the fabrics of GRID's paper: a job runs along the plan, and blocks are summed at
its rate.

The bitmap of a packet has 32 bits, so a job has 32 workers at most; the fabrics are whole: 560 and 272 nodes. Plans
know what goes up to the server, not the results that come back. Where a plan fills a link with gradients and results
use that link too, the rate is below the plan's. `expected` says by how much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from testbed.bench.gridsizes import FABRICS, fabric_problem
from testbed.bench.rows import Row
from testbed.checkers import CheckContext, run_checks
from testbed.history import Record
from testbed.history.verdict import Verdict
from testbed.plan import Plan, make_plan
from testbed.protocols.grid.plan_routes import GROUP_IP
from testbed.scenario.model import Job, Routing, Scenario, SwitchOptions, Transport
from testbed.terminal.numbers import bits_per_second
from testbed.worlds.simulated.world import simulate
from topologies import Topology
from workloads.datagrams.blocks import BlockSummed
from workloads.errors import InternalError
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES

if TYPE_CHECKING:
    from topologies.routing.gradients import Plan as RoutingPlan

__all__ = ["FabricRun", "bench_fabrics", "expected_bps", "fabric_scenario", "run_fabric"]

Say = Callable[[str], None]
_PATH_MTU, _MTU = 4096, 9000
_WORKERS, _BLOCKS = 32, 300
_PLANNERS = ("grid", "geryon")
_WITHIN = 0.02


@dataclass(frozen=True, slots=True)
class FabricRun:
    planned_bps: float
    expected_bps: float
    measured_bps: float
    """rate at which sums came, from the first to the last"""


def fabric_scenario(topology: Topology, workers: int, planner: str, blocks: int = _BLOCKS, seed: int = 1) -> Scenario:
    """A fifth of the switches aggregate, drawn with workers and server from `seed`; workers are paced at the plan."""
    links = tuple(replace(link, shape=replace(link.shape, mtu=_MTU)) for link in topology.links)
    topology = replace(topology, links=links)
    problem = fabric_problem(topology, workers, seed)
    return Scenario(
        name=f"fabric-{planner}",
        topology=topology,
        link=links[0].shape,
        world="simulated",
        transport=Transport(path_mtu=_PATH_MTU, rto_ns=60_000_000_000),
        switch=SwitchOptions(program="grid", memory=1 << 14),
        job=Job(
            collective="grid", size_bytes=blocks * _PATH_MTU, dtype="int32", window_packets=blocks,
            server=problem.servers[0], hosts=problem.workers,
        ),
        routing=Routing(
            problem.servers, planner, workers=problem.workers, mode="paced",
            capacities=tuple((name, int(capacity)) for name, capacity in problem.capacities),
        ),
        capture=False,
        time_limit_ns=10_000_000_000,
    )  # fmt: skip


def expected_bps(plan: Plan) -> float:
    """The plan's smallest rate, less where results, at that rate, and gradients are more than a link together can
    take."""
    routed: RoutingPlan = plan.routing[0].plan
    loads = {load.name: load.load_bps for load in routed.link_loads}
    topology, fullest = plan.scenario.topology, 1.0
    for switch in plan.switches:
        ports = {port: link for port, link, _ in topology.ports(switch.name)}
        for route in switch.grid.orders[0].routes if switch.grid else ():
            for link in (ports[port] for port in route.ports if route.dst_ip == GROUP_IP):
                far = link.b if link.a == switch.name else link.a
                together = loads.get(f"{switch.name}->{far}", 0.0) + routed.min_rate_bps
                fullest = max(fullest, together / link.shape.rate_bps)
    return routed.min_rate_bps / fullest


def run_fabric(scenario: Scenario) -> FabricRun:
    """Raises InternalError when a sum is wrong."""
    plan = make_plan(scenario)
    history = simulate(plan)
    checks = run_checks(CheckContext(plan, history, ())).results
    wrong = [check for check in checks if check.verdict is not Verdict.PASS]
    if wrong:
        raise InternalError(f"{scenario.name}: {wrong[0].name} did not pass: {wrong[0].detail}")
    rate = _rate_bps(history, scenario.job.server)
    return FabricRun(plan.routing[0].plan.min_rate_bps, expected_bps(plan), rate)


def _rate_bps(history: list[Record], server: str | None) -> float:
    sums = [r.t for r in history if isinstance(r.event, BlockSummed) and r.node == server]
    frame_bits = 8 * (_PATH_MTU + AGGREGATION_OVERHEAD_BYTES)
    return 1e9 * frame_bits * (len(sums) - 1) / (max(sums) - min(sums))


def bench_fabrics(say: Say) -> list[Row]:
    """Raises InternalError when a sum is wrong."""
    rows = []
    for name, build in FABRICS.items():
        for planner in _PLANNERS:
            run = run_fabric(fabric_scenario(build(), _WORKERS, planner))
            say(f"{name}, {planner}: {bits_per_second(run.measured_bps)} of planned {bits_per_second(run.planned_bps)}")
            less = run.expected_bps < run.planned_bps * (1 - _WITHIN)
            rows.append(
                Row(
                    f"{planner}: {name}, {_WORKERS} workers", f"plan {bits_per_second(run.planned_bps)}", 1,
                    run.measured_bps,
                    0.0, "bit/s", run.measured_bps / run.expected_bps, 1 - _WITHIN,
                    most=run.planned_bps / run.expected_bps + _WITHIN,
                    note=f"with results on full links {bits_per_second(run.expected_bps)}" if less else "",
                    world="simulated",
                )
            )  # fmt: skip
    return rows
