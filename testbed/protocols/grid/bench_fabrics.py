"""`tb bench grid` in virtual time, on the fabrics of GRID's paper: a job runs along the plan, and blocks are summed at
its rate.

The bitmap of a packet has 32 bits, so a job has 32 workers at most; the fabrics are whole: 560 and 272 nodes. Plans
know what goes up to the server, not the results that come back. Where a plan fills a link with gradients and results
use that link too, the rate is below the plan's. `expected` says by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from testbed.bench.rows import Row
from testbed.bench.swept import FOLDER, Say, keep_swept, require_sums, run_swept
from testbed.comparison.figures import Figure
from testbed.history import Record
from testbed.plan import Plan, make_plan
from testbed.protocols.grid.bench_sizes import FABRICS, fabric_problem
from testbed.scenario import dump_scenario
from testbed.scenario.model import Job, Routing, Scenario, SwitchOptions, Transport
from testbed.sweeps.scenario_model import Outcome, Point, ScenarioSweep, Variant, name_of
from testbed.terminal.numbers import bits_per_second
from topologies import Topology
from workloads.datagrams.blocks import BlockSummed
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES

if TYPE_CHECKING:
    from topologies.routing.gradients import RoutingPlan

__all__ = ["FabricRun", "bench_fabrics", "expected_bps", "fabric_point", "fabric_scenario", "rates", "run_of"]

_NAME = "grid-fabrics"
_DESCRIPTION = "A job along its plan on the fabrics of GRID's paper: tb bench grid (docs/routing.md)"
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
    topology = replace(topology, kind="custom", links=links)  # a file has no fat tree with so many hosts per switch
    problem = fabric_problem(topology, workers, seed)
    return Scenario(
        name=f"fabric-{planner}",
        topology=topology,
        link=links[0].shape,
        world="simulated",
        transport=Transport(path_mtu=_PATH_MTU, rto_ns=60_000_000_000),
        switch=SwitchOptions(program="grid", memory=1 << 14),
        job=Job(
            protocol="grid", size_bytes=blocks * _PATH_MTU, dtype="int32", window_packets=blocks,
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
        routes = () if switch.grid is None else switch.grid.orders[0].routes
        to_all = None if switch.grid is None else switch.grid.group_ip
        for route in routes:
            for link in (ports[port] for port in route.ports if route.dst_ip == to_all):
                far = link.b if link.a == switch.name else link.a
                together = loads.get(f"{switch.name}->{far}", 0.0) + routed.min_rate_bps
                fullest = max(fullest, together / link.shape.rate_bps)
    return routed.min_rate_bps / fullest


def rates(scenario: Scenario, history: Sequence[Record], document: Mapping[str, Any]) -> dict[str, Figure]:
    """`Point.measure`: the fields of FabricRun."""
    plan = make_plan(scenario)
    return {
        "planned_bps": plan.routing[0].plan.min_rate_bps,
        "expected_bps": expected_bps(plan),
        "sums_bps": _rate_bps(history, scenario.job.server),
    }


def run_of(outcome: Outcome) -> FabricRun:
    return FabricRun(*(float(outcome.figures[name] or 0) for name in ("planned_bps", "expected_bps", "sums_bps")))


def _rate_bps(history: Sequence[Record], server: str | None) -> float:
    sums = [r.t for r in history if isinstance(r.event, BlockSummed) and r.node == server]
    frame_bits = 8 * (_PATH_MTU + AGGREGATION_OVERHEAD_BYTES)
    return 1e9 * frame_bits * (len(sums) - 1) / (max(sums) - min(sums))


def fabric_point(scenario: Scenario, fabric: str, planner: str) -> Point:
    labels = (("scenario", "grid"), ("variant", planner), ("fabric", fabric), ("world", "simulated"))
    return Point(labels, scenario.seed, "simulated", dump_scenario(scenario), measure=name_of(rates))


def bench_fabrics(say: Say) -> list[Row]:
    """Every run is kept under `runs/bench-grid`. Raises InternalError when a sum is wrong."""
    points = [
        fabric_point(fabric_scenario(build(), _WORKERS, planner), name, planner)
        for name, build in FABRICS.items()
        for planner in _PLANNERS
    ]
    sweep = ScenarioSweep(
        _NAME, _DESCRIPTION, ("grid",), tuple(map(Variant, _PLANNERS)), (("fabric", tuple(FABRICS)),),
        worlds=("simulated",), figures=("sums_bps", "planned_bps", "expected_bps"),
    )  # fmt: skip
    finished = run_swept(say, _NAME, sweep, FOLDER / "bench-grid" / _NAME, 0, points)
    require_sums(finished)
    keep_swept(say, _NAME, finished, FOLDER / "bench-grid" / _NAME)
    return [_row(point, run_of(outcome)) for point, outcome in zip(finished.points, finished.outcomes, strict=True)]


def _row(point: Point, run: FabricRun) -> Row:
    less = run.expected_bps < run.planned_bps * (1 - _WITHIN)
    return Row(
        f"{point.values['variant']}: {point.values['fabric']}, {_WORKERS} workers",
        f"plan {bits_per_second(run.planned_bps)}", 1, run.measured_bps,
        0.0, "bit/s", run.measured_bps / run.expected_bps, 1 - _WITHIN,
        most=run.planned_bps / run.expected_bps + _WITHIN,
        note=f"with results on full links {bits_per_second(run.expected_bps)}" if less else "",
        world="simulated",
    )  # fmt: skip
