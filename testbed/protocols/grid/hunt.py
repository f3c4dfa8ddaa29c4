"""Schedules of GRID: a network, planners and their limits, a job that is small, little memory; `draw_grid_faults` adds
the trouble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar

from testbed.hunt.contract import Hunted
from testbed.hunt.draw_link import draw_shape, other_shape
from testbed.hunt.plans import plan_of
from testbed.hunt.survival_datagrams import travel_ns
from testbed.hunt.tape import draw_value
from testbed.plan.auto_timers import drafted
from testbed.protocols.grid.hunt_faults import draw_grid_faults, with_limit
from testbed.protocols.grid.hunt_recipes import GRID_RECIPES
from testbed.scenario.keys.job import Straggler
from testbed.scenario.model import Job, Routing, Scenario, SwitchOptions, Transport
from topologies import LinkShape, Topology, rack, spine_leaf
from topologies.assembly import Cable, assemble, host, switch
from workloads.errors import ScenarioError
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES
from workloads.wire.envelope import ETHERNET

__all__ = ["draw_grid_schedule"]

T = TypeVar("T")

_ETHERNET = ETHERNET.size
_MTUS = {256: 90, 512: 5, 1024: 3, 8192: 2}
_QUEUES = {1000: 82, 16: 8, 6: 6, 3: 4}
_WORKERS = {2: 30, 3: 30, 4: 20, 5: 7, 6: 5, 7: 3, 8: 5}
_WINDOWS = {1: 12, 2: 24, 3: 18, 4: 16, 6: 10, 8: 10, 16: 10}
_ITERATIONS = {1: 62, 2: 28, 3: 10}

_WORKLOADS = {"synthetic": 65, "extreme": 35}
_MEMORY = {1: 20, 2: 22, 3: 14, 4: 14, 8: 14, 64: 16}
_NETWORKS = {"rack": 46, "spine_leaf": 30, "triangle": 24}
_PLANNERS = {
    "switchml": 30, "atp": 16, "atp-unmerged": 9, "grid": 12, "grid-lp": 12, "atp-whole": 4, "grid-rounded": 3,
    "grid-eq1": 3, "shortest": 3, "geryon": 4, "multipath": 4,
}  # fmt: skip
_CAPACITIES = {0.1: 10, 0.6: 12, 1.0: 14, 3.0: 24, 100.0: 40}
"""of a switch, in rates of a host's link"""
_BUCKETS_NS = {10_000: 12, 100_000: 14, 1_000_000: 14, 10_000_000: 60}
_MOST_CONTRIBUTIONS = 32
"""of all workers together, unless the dice want a large job"""
_FOLLOWS_RECIPE = 0.4
"""share of the traced ones"""
_LEAST_RTO_NS = 200_000
_TRIES = 50


def draw_grid_schedule(
    draw: Random, protocol: Hunted, base: Scenario | None, program: str, *, traced: bool, seed: int
) -> Scenario:
    """With `base`: that scenario with other faults. Else all of it is drawn, with `program` on the switches that sum.
    `seed`: of the run, which planners draw from, too. The time limit is when it must have ended."""
    if base is not None:
        calm = replace(base, faults=(), world="simulated", source="", seed=seed)
        plan_of(calm)
        return with_limit(draw_grid_faults(draw, calm))
    calm = _with_plan(draw, protocol, program, seed)
    if traced and draw.random() < _FOLLOWS_RECIPE:
        return with_limit(draw.choice(GRID_RECIPES)(draw, calm))
    return with_limit(draw_grid_faults(draw, calm))


def _with_plan(draw: Random, protocol: Hunted, program: str, seed: int) -> Scenario:
    """A drawn scenario with a plan: what planners refuse is drawn again."""
    for _ in range(_TRIES):
        calm = replace(_calm(draw, protocol, program), seed=seed)
        try:
            plan_of(drafted(calm))  # its timeout is drawn later, and no planner asks for it
        except ScenarioError:
            continue
        return _with_times(draw, calm)
    raise AssertionError("most of what is drawn has a plan")


def _weighted(draw: Random, weights: dict[T, int]) -> T:
    return draw.choices(list(weights), list(weights.values()))[0]


def _calm(draw: Random, protocol: Hunted, program: str) -> Scenario:
    mtu, workers = _weighted(draw, _MTUS), _weighted(draw, _WORKERS)
    shape = draw_shape(draw, AGGREGATION_OVERHEAD_BYTES - _ETHERNET + mtu, _QUEUES)
    topology = _topology(draw, workers + 1, shape)
    names = [node.name for node in topology.hosts]
    server = draw.choice((names[-1], draw.choice(names)))
    hosts = [name for name in names if name != server]
    if draw.random() < 0.3:
        draw.shuffle(hosts)
    job = _job(draw, protocol, hosts, server, mtu)
    routing = _routing(draw, topology, job, shape)
    plain = any(rate == 0 for _, rate in routing.capacities) and draw.random() < 0.5
    return Scenario(
        name="hunt",
        topology=topology,
        link=shape,
        world="simulated",
        transport=Transport(path_mtu=mtu),
        switch=SwitchOptions(
            program=program, memory=_weighted(draw, _MEMORY), commodity="openflow" if plain else "soft"
        ),
        job=job,
        routing=routing,
        capture=False,
    )


def _topology(draw: Random, hosts: int, shape: LinkShape) -> Topology:
    """A rack; leaves of at least one host each under one or two spines; three switches in a triangle, as in GRID's
    example."""
    kind = _weighted(draw, _NETWORKS)
    if kind == "rack":
        overrides = {f"h{draw.randint(1, hosts)}-s1": other_shape(draw, shape)} if draw.random() < 0.25 else {}
        return rack(hosts, shape, overrides)
    trunk = other_shape(draw, shape) if draw.random() < 0.3 else shape
    if kind == "spine_leaf":
        leaves = min(hosts, draw.choice((2, 2, 3)))
        cuts = sorted(draw.sample(range(1, hosts), leaves - 1))
        counts = [end - start for start, end in zip([0, *cuts], [*cuts, hosts], strict=True)]
        return spine_leaf(counts, draw.choice((1, 2, 2)), shape, trunk)
    return _triangle(hosts, [draw.randrange(3) for _ in range(hosts)], shape, trunk)


def _triangle(hosts: int, homes: Sequence[int], shape: LinkShape, trunk: LinkShape) -> Topology:
    """`homes`: by host, 0 .. 2."""
    names = ("s1", "s2", "s3")
    cables = [Cable(f"h{number}", names[home], shape) for number, home in enumerate(homes, 1)]
    cables += [Cable("s1", "s3", trunk), Cable("s1", "s2", trunk), Cable("s2", "s3", trunk)]
    return assemble("custom", [*map(host, range(1, hosts + 1)), *map(switch, names)], cables)


def _job(draw: Random, protocol: Hunted, hosts: Sequence[str], server: str, mtu: int) -> Job:
    """A drawn job. A sum that leaves int32 is reported and ends the job at once. Gradients of few elements let some
    sums be exact."""
    iterations, dtype, window = (
        _weighted(draw, _ITERATIONS),
        _weighted(draw, dict(protocol.dtypes)),
        _weighted(draw, _WINDOWS),
    )
    packets = _MOST_CONTRIBUTIONS * _weighted(draw, {1: 95, 4: 5}) // len(hosts)
    room = max(1, packets // iterations)
    if dtype == "float32":  # exponents go ahead by a window
        window = max(1, min(window, room // 2))
        room = max(1, room - window)
    blocks = max(draw.randint(1, room), draw.randint(1, room))
    last = mtu if draw.random() < 0.3 else draw.randrange(4, mtu + 1, 4)
    workload = draw_value(draw, _WORKLOADS)
    if dtype == "int32sat" and workload == "synthetic":
        blocks, last = 1, 4 * draw.choice((1, 1, 1, 2, 4))
    return Job(
        protocol=protocol.name,
        workload=workload,
        hosts=tuple(hosts),
        server=server,
        size_bytes=(blocks - 1) * mtu + last,
        dtype=dtype,
        iterations=iterations,
        window_packets=window,
    )


def _routing(draw: Random, topology: Topology, job: Job, shape: LinkShape) -> Routing:
    capacity = round(_weighted(draw, _CAPACITIES) * shape.rate_bps)
    others: dict[str, int] = {}
    if len(topology.switches) > 1:
        for node in topology.switches:
            if draw.random() < 0.25:
                others[node.name] = draw.choice((0, 0, round(_weighted(draw, _CAPACITIES) * shape.rate_bps)))
    paced = job.dtype != "float32" and draw.random() < 0.4
    return Routing(
        servers=(job.server,),
        planner=_weighted(draw, _PLANNERS),
        capacity_bps=capacity,
        capacities=tuple(others.items()),
        mode="paced" if paced else "aimd",
        pace=draw.choice((1.0, 1.0, 0.98, 0.5, 1.5)) if paced else 1.0,
        on_collision=draw.choice(("drop", "drop", "to_ps")),
        bucket_ns=_weighted(draw, _BUCKETS_NS),
    )


def _with_times(draw: Random, scenario: Scenario) -> Scenario:
    """The timeout, from hasty, where every packet is sent several times, to patient; stragglers; how soon there is a
    new plan."""
    travel = travel_ns(scenario)
    rto = max(_LEAST_RTO_NS, round(travel * draw.choice((0.1, 0.3, 0.3, 0.7, 1, 2, 4))))
    job, routing = scenario.job, scenario.routing
    assert routing is not None, "drawn with the rest"
    if draw.random() < 0.15:
        late = draw.randint(1, draw.choice((1, 4, 16)) * rto)
        job = replace(job, straggler=Straggler(draw.randrange(len(job.hosts)), late))
    routing = replace(routing, react_ns=draw.choice((1, draw.randint(1, travel), draw.randint(1, 4 * rto))))
    return replace(scenario, transport=replace(scenario.transport, rto_ns=rto), job=job, routing=routing)
