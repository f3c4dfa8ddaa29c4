"""`tb bench grid`: GRID's worked example on packets. Each of three plans for one network runs with workers that send at
its rates. The rows compare what workers, links and switches carried with the plan's load table. They also compare the
smallest rates with each other (the published 1 : 2.4375 : 3). A control sends 5 % above the plan, and must lose packets
or find no capacity: else the rates would prove nothing. With losses the sums must be as exact, and the rates are
reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from testbed.bench.measure import ToldRun, conditions
from testbed.bench.rows import Row, spread, trust_of
from testbed.bench.swept import FOLDER, Say, keep_swept, require_sums, run_swept
from testbed.comparison.figures import Figure
from testbed.faults.events import FaultStruck
from testbed.faults.model import Loss
from testbed.figures.routes import MeasuredRoute, measured, spans_of
from testbed.history import Record
from testbed.history.events import ShapingMeasured
from testbed.plan import make_plan
from testbed.scenario import dump_scenario
from testbed.scenario.model import Job, Routing, Scenario, SwitchOptions, Transport
from testbed.sweeps.scenario_model import Outcome, Point, ScenarioSweep, Variant, name_of
from testbed.terminal.numbers import bits_per_second
from topologies import LinkShape, grid_triangle
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES

__all__ = ["GridRun", "bench_grid", "grid_scenario", "loads", "run_of"]

_DESCRIPTION = "GRID's worked example, along the plans of three planners: tb bench grid (docs/routing.md)"
_PLAN, _CONTROL, _LOSSY = "as planned", "overloaded", "lossy"
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
class GridRun:
    loads: tuple[MeasuredRoute, ...]
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
            protocol="grid", size_bytes=int(frames) * _PATH_MTU, dtype="int32", window_packets=int(frames),
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


def loads(scenario: Scenario, history: Sequence[Record], document: Mapping[str, Any]) -> dict[str, Figure]:
    """`Point.measure`: what workers, links and switches carried, next to what the plan says for their pace."""
    assert scenario.routing is not None
    settings, pace = _SETTINGS[scenario.world], scenario.routing.pace
    plan = make_plan(scenario).routing[0].plan
    window = settings.warm_ns, settings.warm_ns + settings.measured_ns
    found = measured(plan, history, *window)
    spans = spans_of(history, *window).values()
    arrived, workers = sum(span.data_in for span in spans), {*plan.problem.workers}
    return {
        "min_rate_bps": min(load.measured_bps for load in found if load.name in workers),
        "bypassed": sum(span.bypassed for span in spans) / arrived if arrived else 0.0,
        "drops": sum(record.event.drops for record in history if isinstance(record.event, ShapingMeasured)),
        "hits": sum(isinstance(record.event, FaultStruck) for record in history),
        **{f"planned.{load.name}_bps": pace * load.planned_bps for load in found},
        **{f"measured.{load.name}_bps": load.measured_bps for load in found},
        **conditions(scenario, history, document),
    }


def run_of(outcome: Outcome) -> GridRun:
    found, told = {name: value or 0 for name, value in outcome.figures.items()}, ToldRun.of_figures(outcome.figures)
    names = [name.removeprefix("planned.") for name in found if name.startswith("planned.")]
    return GridRun(
        tuple(
            MeasuredRoute(name.removesuffix("_bps"), found[f"planned.{name}"], found[f"measured.{name}"])
            for name in names
        ),
        found["min_rate_bps"], found["bypassed"], int(found["drops"]), int(found["hits"]),
        "unknown" if outcome.untimed else "pass", told.dilation, told.deviation,
    )  # fmt: skip


def _point(scenario: Scenario, planner: str, kind: str) -> Point:
    labels = (("scenario", "grid"), ("variant", planner), ("run", kind), ("world", scenario.world))
    return Point(labels, scenario.seed, scenario.world, dump_scenario(scenario), measure=name_of(loads))


def _points(world: str, slower: int) -> list[Point]:
    """Of each planner the plan, several times in real time; more than the plan, where that is possible; and losses."""
    settings, points = _SETTINGS[world], list[Point]()
    for planner in _PLANNERS:
        plain = grid_scenario(planner.name, world, settings.pace, slower=slower)
        points += [_point(replace(plain, seed=seed), planner.name, _PLAN) for seed in range(settings.repeats)]
        if not planner.fills_links:
            overloaded = grid_scenario(planner.name, world, _OVERLOAD, overload=True, slower=slower)
            points.append(_point(overloaded, planner.name, _CONTROL))
        lossy = grid_scenario(planner.name, world, settings.pace, loss=_LOSS, slower=slower)
        points.append(_point(lossy, planner.name, _LOSSY))
    return points


def _runs(say: Say, world: str, slower: int) -> dict[tuple[str, str], list[GridRun]]:
    """By planner and kind."""
    points, title = _points(world, slower), f"grid-{world}"
    sweep = ScenarioSweep(
        title, _DESCRIPTION, ("grid",), tuple(Variant(planner.name) for planner in _PLANNERS),
        (("run", (_PLAN, _CONTROL, _LOSSY)),), worlds=(world,), figures=("min_rate_bps", "bypassed", "drops"),
    )  # fmt: skip
    folder = FOLDER / "bench-grid" / title
    finished = run_swept(say, title, sweep, folder, 0, points)
    require_sums(finished, lambda point: point.values["run"] == _CONTROL)
    keep_swept(say, title, finished, folder)
    found: dict[tuple[str, str], list[GridRun]] = {}
    for point, outcome in zip(finished.points, finished.outcomes, strict=True):
        found.setdefault((str(point.values["variant"]), str(point.values["run"])), []).append(run_of(outcome))
    return found


def bench_grid(say: Say, world: str = "simulated", slower: int = 1) -> list[Row]:
    """`slower`: divisor of all rates, for machines with too little CPU time. Every run is kept under `runs/bench-grid`:
    the same command goes on after an interruption. Raises InternalError when a sum is wrong."""
    settings, found = _SETTINGS[world], _runs(say, world, slower)
    rows: list[Row] = []
    for planner in _PLANNERS:
        name = planner.name
        rows += _load_rows(planner, found[name, _PLAN], settings, world)
        if not planner.fills_links:
            rows.append(_control(name, world, found[name, _CONTROL][0], found[name, _PLAN]))
        rows.append(_lossy(name, world, found[name, _LOSSY][0]))
    base, *others = _PLANNERS
    planned = {planner.name: found[planner.name, _PLAN] for planner in _PLANNERS}
    for planner in others:
        ratios = [
            run.min_rate_bps / first.min_rate_bps
            for run, first in zip(planned[planner.name], planned[base.name], strict=True)
        ]
        within = settings.rate_within
        rows.append(
            Row(
                f"smallest rate, {planner.name} / {base.name}", f"published {planner.published}", len(ratios),
                median(ratios), spread(ratios), "",
                median(ratios) / planner.published, 1 - within, most=1 + within,
                **trust_of(world, [run for runs in planned.values() for run in runs]),
            )
        )  # fmt: skip
    return rows


def _load_rows(planner: _Planner, runs: list[GridRun], settings: _Settings, world: str) -> list[Row]:
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
                **trust_of(world, runs),
            )
        )  # fmt: skip
    return rows


def _control(planner: str, world: str, run: GridRun, planned: list[GridRun]) -> Row:
    """More than the plan has no place: frames find full queues, or go around switches."""
    more = run.bypassed - max(each.bypassed for each in planned)
    seen = float(run.drops > 0 or more > 0.01)
    return Row(
        f"{planner}: {_OVERLOAD:.0%} of the plan has no place", "drops, or more bypassed", 1, seen or 0.0, 0.0, "",
        seen, 1.0,
        run.fidelity, note=f"{run.drops} drops, {more:+.2%} bypassed", **trust_of(world, [run]),
    )  # fmt: skip


def _lossy(planner: str, world: str, run: GridRun) -> Row:
    planned_bps = min(load.planned_bps for load in run.loads if load.name.startswith("w"))
    return Row(
        f"{planner}: smallest rate, {_LOSS:.1%} loss", f"plan {bits_per_second(planned_bps)}", 1, run.min_rate_bps,
        0.0, "bit/s",
        run.min_rate_bps / planned_bps, None, run.fidelity, note=f"sums exact; {run.strikes} packets lost",
        **trust_of(world, [run]),
    )  # fmt: skip
