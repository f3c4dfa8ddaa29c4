"""A scenario in virtual time whose workers send given gradients: switch programs, cards and protocols of hosts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from testbed.fingerprint.reducer import Array, ReducerRefused
from testbed.fingerprint.targets.agreement import agreed
from testbed.history import Record
from testbed.history.events import NodeExited, TimeLimitReached
from testbed.kernel.apart import Ended, run_apart
from testbed.kernel.overdue import moving, must_answer
from testbed.plan import Plan, make_plan
from testbed.plan.time_need import time_need
from testbed.scenario import Scenario, load_scenario
from testbed.scenario.own_program import ended_own_code, own_code
from testbed.scenario.protocols.known import protocol_of
from testbed.scenario.protocols.own_code import blame
from testbed.worlds.simulated.world import Simulation
from workloads.collectives.operations import ALL_REDUCE
from workloads.errors import ScenarioError
from workloads.events import WorkerFailed
from workloads.gradients import element_dtype
from workloads.gradients.external import attach_sources

__all__ = ["ScenarioReducer"]

_LATE_NS = 5_000_000
_LATE_PACKETS = 200
_PACKET_BITS = 12_000
_OWN_KEYS = ("job.size", "job.iterations", "job.workload")
_PATIENCE = 50
"""times as long as a run without faults may take"""


@dataclass
class _Given:
    """A GradientSource whose gradients are given, shape (runs, elements)."""

    gradients: Array
    sums: Array
    elements: int
    dtype: np.dtype[Any]

    @property
    def iterations(self) -> int:
        return len(self.gradients)

    def gradient(self, iteration: int) -> Array:
        row: Array = self.gradients[iteration]
        return row

    def apply(self, iteration: int, total: Array) -> None:
        self.sums[iteration] = total

    def reset(self) -> None:
        """Nothing to forget."""


class ScenarioReducer:
    """A Reducer. Raises ScenarioError for a scenario that does not load, or whose job is no sum of one gradient."""

    def __init__(self, name: str, overrides: Sequence[str], seed: int | None, elements: int) -> None:
        self._name, self._overrides, self._seed, self.elements = name, tuple(overrides), seed, elements
        for change in self._overrides:
            if change.partition("=")[0].strip() in _OWN_KEYS:
                raise ScenarioError(
                    "is chosen by the fingerprint", file="--set", key=change.partition("=")[0].strip(), found=change,
                    allowed="--vectors N says how many elements a gradient has",
                )  # fmt: skip
        _require(load_scenario(name, self._overrides, seed, "simulated"))
        scenario = self._load(1)
        self.dtype = "float32" if scenario.job.dtype == "float32" else "int32"
        self.ranks = len(make_plan(scenario).workers)
        self.provocations = self.ranks + 1
        self._late_ns = max(_LATE_NS, _LATE_PACKETS * _PACKET_BITS * 10**9 // scenario.link.rate_bps)

    def _load(self, runs: int) -> Scenario:
        sizes = f"job.size={4 * self.elements}B", f"job.iterations={runs}", "job.workload=synthetic"
        return load_scenario(self._name, (*self._overrides, *sizes), self._seed, "simulated")

    def reduce(self, gradients: Array, provocation: int = 0) -> Array:
        """As Reducer.reduce: one iteration for each gradient. Provocation k lets rank k - 1 come late."""
        scenario = self._load(len(gradients))
        late = {provocation - 1: self._late_ns}
        plan = make_plan(scenario)
        workers: Sequence[Any] = plan.workers
        external = tuple(
            replace(worker, workload=replace(worker.workload, kind="external", straggle_ns=late.get(rank, 0)))
            for rank, worker in enumerate(workers)
        )
        patience_ns = int(_PATIENCE * 10**9 * time_need(plan).about_s) + scenario.time_limit_ns
        limited = replace(scenario, time_limit_ns=patience_ns, capture=False)
        plan = replace(plan, workers=external, scenario=limited)
        given = gradients.astype(element_dtype(scenario.job.dtype), copy=False)
        if own_code(scenario) is None:
            return agreed(_simulate(plan, given))
        try:
            return agreed(_unwrapped(run_apart(lambda tell: _wrapped(partial(_simulate, plan, given)))))
        except Ended as end:
            raise ended_own_code(scenario, end.status, overdue=end.overdue) from end


def _wrapped(work: Callable[[], list[Array]]) -> list[Array] | str:
    """In the process apart: a refusal is a value, since only our own errors cross."""
    try:
        return work()
    except ReducerRefused as error:
        return str(error)


def _unwrapped(found: list[Array] | str) -> list[Array]:
    if isinstance(found, str):
        raise ReducerRefused(found)
    return found


def _simulate(plan: Plan, given: Array) -> list[Array]:
    """The sums of each rank. Raises Refused when a worker gives up, or no sum comes."""
    sources = [
        _Given(np.ascontiguousarray(rows), np.zeros_like(rows), rows.shape[1], rows.dtype)
        for rows in given.swapaxes(0, 1)
    ]
    problems: list[str] = []

    def hear(record: Record) -> None:
        match record.event:
            case WorkerFailed(reason=reason, detail=detail):
                problems.append(f"{record.node} gave up: {reason}: {detail}")
            case TimeLimitReached(limit_ns=limit):
                problems.append(f"no sum within {limit / 1e9:g} s of virtual time")
            case NodeExited(node=node, status=status) if status:
                problems.append(f"{node} ended with status {status}")

    attach_sources(dict(enumerate(sources)))
    with blame(plan.scenario.job.protocol, "protocol"), must_answer():
        simulation = Simulation(plan, hear)
        with moving(partial(getattr, simulation.agenda, "now")):
            simulation.run()
    if problems or simulation.unfinished:
        raise ReducerRefused(problems[0] if problems else "the network stood still before there was a sum")
    return [source.sums for source in sources]


def _require(scenario: Scenario) -> None:
    job = scenario.job
    result = protocol_of(job.runs).result()
    wrong = (
        ("jobs", f"{len(scenario.jobs)} jobs", "one job", bool(scenario.jobs)),
        ("beside", "jobs of other protocols", "one job", bool(scenario.beside)),
        ("job.copies", str(job.copies), "1", job.copies != 1),
        ("job.op", job.op, "sum", job.op != "sum"),
        ("job.model", "a model", "a plain gradient", job.model is not None or job.stages is not None),
        ("job.compute", "times of computing", "none", job.compute is not None),
        ("job.operation", job.operation, ALL_REDUCE, job.operation != ALL_REDUCE),
        ("job.protocol", job.protocol, "one that gives all ranks the sum", not result.is_sum),
        ("job.protocol", job.protocol, "one whose sums lack nothing", not result.is_exact),
        ("job.protocol", job.protocol, "one with `job.size`", job.sized is not None),
    )
    for key, found, allowed, is_wrong in wrong:
        if is_wrong:
            raise ScenarioError("has no fingerprint", file=scenario.source, key=key, found=found, allowed=allowed)
