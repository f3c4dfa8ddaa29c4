"""`tb bench grid`: GRID's worked example on packets. Each of three plans for one network runs with workers that send at
its rates. The rows compare what workers, links and switches carried with the plan's load table. They also compare the
smallest rates with each other (the published 1 : 2.4375 : 3). A control sends 5 % above the plan, and must lose packets
or find no capacity: else the rates would prove nothing. With losses the sums must be as exact, and the rates are
reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median

from testbed.bench.measure import Told
from testbed.bench.rows import Row, for_whom, spread
from testbed.faults.events import FaultStruck
from testbed.faults.model import Loss
from testbed.figures.routes import Measured, measured, spans_of
from testbed.history import Record
from testbed.history.events import ShapingMeasured
from testbed.kernel.scratch import scratch
from testbed.plan import make_plan
from testbed.runs.run import run_scenario
from testbed.scenario.model import Job, Routing, Scenario, SwitchOptions, Transport
from testbed.terminal.numbers import bits_per_second
from topologies import LinkShape, grid_triangle
from workloads.errors import InternalError
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES

__all__ = ["Run", "bench_grid", "grid_scenario", "run_grid"]

Say = Callable[[str], None]
_LINK_BPS, _SERVER_BPS, _CAPACITY_BPS = 30_000_000, 90_000_000, 90_000_000
_PATH_MTU = 8192
_QUEUE_PACKETS, _CONTROL_QUEUE_PACKETS = 1000, 24
_OVERLOAD = 1.05
_LOSS = 0.005
_RTO_NS = 6_000_000_000
"""longer than the slowest worker's packets are late behind the fastest one's"""


@dataclass(frozen=True, slots=True)
class _Planner:
    """What the published example says about a planner of gradient routes."""

    name: str
    published: float
    """smallest rate, in units of the first planner's"""
    fastest: float
    """rate of its fastest worker, in units of a link: what that one sends must last for the whole measurement"""
    fills_links: bool = False
    """workers fill their own links, so that more than the plan cannot be asked for"""
    contradicted: str = ""
    """the load for which the published table contradicts itself"""


_PLANNERS = (
    _Planner("geryon", 1.0, 0.5),
    _Planner("atp", 2.4375, 1.0, contradicted="s3->ps"),
    _Planner("grid", 3.0, 1.0, fills_links=True),
)


@dataclass(frozen=True, slots=True)
class _Settings:
    warm_ns: int
    measured_ns: int
    pace: float
    """pace compared with the plan: in real time links and buckets need room for errors of clocks and schedulers"""
    bucket_ns: int
    repeats: int
    rate_within: float
    load_within: float


_SETTINGS = {
    "simulated": _Settings(200_000_000, 1_000_000_000, 1.0, 10_000_000, 1, 0.02, 0.02),
    "emulated": _Settings(2_000_000_000, 6_000_000_000, 0.98, 200_000_000, 5, 0.03, 0.05),
}


@dataclass(frozen=True, slots=True)
class Run:
    loads: tuple[Measured, ...]
    """planned values as the workers were paced"""
    min_rate_bps: float
    bypassed: float
    """share of the packets that came to the aggregators but went around"""
    drops: int
    """frames that found a full queue"""
    strikes: int
    """hits of faults"""
    fidelity: str
    dilation: int = 1
    deviation: float | None = None
    """deviation of the JCT from that of the reference run in virtual time"""


def grid_scenario(
    planner: str, world: str, pace: float, *, overload: bool = False, loss: float = 0.0, slower: int = 1
) -> Scenario:
    """Every worker sends until the measurement is over, and the job is judged as always. `overload`: queues are short,
    and what is lost stays lost. `loss`: probability, on every link, both ways. `slower`: all rates divided by that."""
    settings = _SETTINGS[world]
    shape = LinkShape(
        rate_bps=_LINK_BPS // slower, mtu=9000, queue_packets=_CONTROL_QUEUE_PACKETS if overload else _QUEUE_PACKETS
    )
    fastest_bps = next(each.fastest for each in _PLANNERS if each.name == planner) * _LINK_BPS / slower
    frames = (
        fastest_bps * (settings.warm_ns + settings.measured_ns) * 1.1 / 8e9 / (_PATH_MTU + AGGREGATION_OVERHEAD_BYTES)
    )
    topology = grid_triangle(shape, replace(shape, rate_bps=_SERVER_BPS // slower))
    losses = Loss("loss", links=tuple(link.name for link in topology.links), rate=loss)
    return Scenario(
        name=f"bench-grid-{planner}",
        topology=topology,
        link=shape,
        world=world,
        transport=Transport(path_mtu=_PATH_MTU, rto_ns=_RTO_NS),
        switch=SwitchOptions(program="grid", memory=1 << 14),
        job=Job(
            collective="grid", size_bytes=int(frames) * _PATH_MTU, dtype="int32", window_packets=int(frames),
            server="ps",
        ),
        routing=Routing(
            ("ps",), planner, capacity_bps=_CAPACITY_BPS // slower, mode="paced", pace=pace,
            bucket_ns=settings.bucket_ns,
            sample_ns=settings.measured_ns // 20,
        ),
        faults=(losses,) if loss else (),
        capture=False,
        time_limit_ns=settings.warm_ns + 2 * settings.measured_ns if overload else 120_000_000_000,
    )  # fmt: skip


def run_grid(scenario: Scenario) -> Run:
    """Raises InternalError when a sum is wrong: a fast wrong answer is no measurement."""
    settings = _SETTINGS[scenario.world]
    with scratch() as folder:
        result = run_scenario(scenario, folder / "run")
    complete = scenario.time_limit_ns > 60_000_000_000
    wrong = [check for check in result.document["checks"] if check["verdict"] == "fail"]
    if complete and wrong:
        raise InternalError(f"{scenario.name}: {wrong[0]['name']} failed: {wrong[0]['detail']}")
    told = Told.of(result.document)
    found = _judge(scenario, result.history, settings, str(result.document["fidelity"]["verdict"]))
    return replace(found, dilation=told.dilation, deviation=told.deviation)


def _judge(scenario: Scenario, history: list[Record], settings: _Settings, fidelity: str) -> Run:
    assert scenario.routing is not None
    plan = make_plan(scenario).routing[0].plan
    window = settings.warm_ns, settings.warm_ns + settings.measured_ns
    loads = measured(plan, history, *window)
    spans = spans_of(history, *window).values()
    arrived = sum(span.data_in for span in spans)
    pace = scenario.routing.pace
    workers = {*plan.problem.workers}
    return Run(
        tuple(replace(load, planned_bps=pace * load.planned_bps) for load in loads),
        min(load.measured_bps for load in loads if load.name in workers),
        sum(span.bypassed for span in spans) / arrived if arrived else 0.0,
        sum(record.event.drops for record in history if isinstance(record.event, ShapingMeasured)),
        sum(isinstance(record.event, FaultStruck) for record in history),
        fidelity,
    )


def bench_grid(say: Say, world: str = "simulated", slower: int = 1) -> list[Row]:
    """`slower`: divisor of all rates, for machines with too little CPU time. Raises InternalError when a sum is
    wrong."""
    settings = _SETTINGS[world]
    rows: list[Row] = []
    rates: dict[str, list[float]] = {}
    measured_runs: list[Run] = []
    for planner in _PLANNERS:
        name, runs = planner.name, []
        for number in range(settings.repeats):
            runs.append(run_grid(replace(grid_scenario(name, world, settings.pace, slower=slower), seed=number)))
            rates.setdefault(name, []).append(runs[-1].min_rate_bps)
            say(f"{name}, run {number + 1}: slowest worker {bits_per_second(runs[-1].min_rate_bps)}")
        measured_runs += runs
        rows += _load_rows(planner, runs, settings, world)
        if not planner.fills_links:
            rows.append(_control(say, name, world, slower, runs))
        rows.append(_lossy(say, name, world, slower))
    base, *others = _PLANNERS
    for planner in others:
        ratios = [rate / first for rate, first in zip(rates[planner.name], rates[base.name], strict=True)]
        within = settings.rate_within
        rows.append(
            Row(
                f"smallest rate, {planner.name} / {base.name}", f"published {planner.published}", len(ratios),
                median(ratios), spread(ratios), "",
                median(ratios) / planner.published, 1 - within, most=1 + within, **for_whom(world, measured_runs),
            )
        )  # fmt: skip
    return rows


def _load_rows(planner: _Planner, runs: list[Run], settings: _Settings, world: str) -> list[Row]:
    fidelity = "pass" if all(run.fidelity == "pass" for run in runs) else "unknown"
    rows = []
    for place, load in enumerate(runs[0].loads):
        values = [run.loads[place].measured_bps for run in runs]
        is_rate = "->" not in load.name and load.name.startswith("w")
        within = settings.rate_within if is_rate else settings.load_within
        asked = load.name != planner.contradicted
        rows.append(
            Row(
                f"{planner.name}: {load.name}", f"plan {bits_per_second(load.planned_bps)}", len(values),
                median(values), spread(values), "bit/s", median(values) / load.planned_bps,
                1 - within if asked else None, fidelity, most=1 + within if asked else None,
                note="" if asked else "the published table contradicts itself here",
                **for_whom(world, runs),
            )
        )  # fmt: skip
    return rows


def _control(say: Say, planner: str, world: str, slower: int, planned: list[Run]) -> Row:
    """More than the plan has no place: frames find full queues, or go around switches."""
    run = run_grid(grid_scenario(planner, world, _OVERLOAD, overload=True, slower=slower))
    more = run.bypassed - max(each.bypassed for each in planned)
    say(f"{planner}, control at {_OVERLOAD:.0%} of the plan: {run.drops} drops, {more:+.2%} bypassed")
    seen = float(run.drops > 0 or more > 0.01)
    return Row(
        f"{planner}: {_OVERLOAD:.0%} of the plan has no place", "drops, or more bypassed", 1, seen or 0.0, 0.0, "",
        seen, 1.0,
        run.fidelity, note=f"{run.drops} drops, {more:+.2%} bypassed", **for_whom(world, [run]),
    )  # fmt: skip


def _lossy(say: Say, planner: str, world: str, slower: int) -> Row:
    run = run_grid(grid_scenario(planner, world, _SETTINGS[world].pace, loss=_LOSS, slower=slower))
    say(f"{planner}, {_LOSS:.1%} loss: slowest worker {bits_per_second(run.min_rate_bps)}, exact sums")
    planned_bps = min(load.planned_bps for load in run.loads if load.name.startswith("w"))
    return Row(
        f"{planner}: smallest rate, {_LOSS:.1%} loss", f"plan {bits_per_second(planned_bps)}", 1, run.min_rate_bps,
        0.0, "bit/s",
        run.min_rate_bps / planned_bps, None, run.fidelity, note=f"sums exact; {run.strikes} packets lost",
        **for_whom(world, [run]),
    )  # fmt: skip
