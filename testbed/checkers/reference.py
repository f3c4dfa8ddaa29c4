"""The independent reference: what every worker must hold, worked out in one process without switch or worker code.

In which order a protocol adds is its own to say (`Protocol.order`); `testbed.checkers.orders` has the orders of ours,
`testbed.checkers.folds` the arithmetic.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np

from testbed.checkers.contract import JudgedProtocol, judged_protocol
from testbed.checkers.folds import Array
from testbed.plan import Plan
from testbed.scenario.protocols.own_code import require
from workloads.config import HostConfig, WorkerConfig, WorkloadConfig
from workloads.ownvalues import Allowed

__all__ = [
    "Array", "JudgedGradients", "SourceFactory", "default_sources", "expected_contributions",
    "expected_results", "workers_in",
]  # fmt: skip


_CONTRIBUTIONS = Allowed(
    "for each block a tuple of 0 or 1, one for each rank; or None",
    lambda found: found is None or all(isinstance(each, tuple) and set(each) <= {0, 1} for each in found),
)


class JudgedGradients(Protocol):
    """`workloads.gradients`: one rank's gradients; `apply` gives it the reduced one, as a worker does."""

    def gradient(self, iteration: int) -> Array: ...

    def apply(self, iteration: int, total: Array) -> object: ...


@runtime_checkable
class _DrawnGradients(JudgedGradients, Protocol):
    """`workloads.gradients.DrawnSource`"""

    elements: int
    dtype: np.dtype[Any]

    def draw(self, iteration: int, first: int, into: Array) -> None: ...


SourceFactory: TypeAlias = Callable[[WorkloadConfig, int, int, str], JudgedGradients]
"""(config, rank, group size, ArithmeticSpec.dtype)"""


def default_sources() -> SourceFactory:
    """`workloads.gradients.create_source`; looked up when needed, since models load slowly."""
    return cast(SourceFactory, importlib.import_module("workloads.gradients").create_source)


def expected_results(plan: Plan, create: SourceFactory | None = None) -> Iterator[list[Array]]:
    """Per iteration, what each worker must hold, in the order of the plan: of the workers whose job has that iteration
    (`workers_in`). A worker that trains gets the result before its next gradient, so the reference trains along."""
    groups = [_expected_of_group(plan, workers, create or default_sources()) for workers in plan.groups.values()]
    for totals in zip_longest(*groups, fillvalue=()):
        yield [total for group in totals for total in group]


def expected_contributions(
    plan: Plan, workers: Sequence[HostConfig], create: SourceFactory | None = None
) -> list[tuple[int, ...]] | None:
    """By block of a ring or job, from its first iteration on: how often the packet of each rank enters its sum. None:
    the protocol does not make it depend on the data."""
    protocol = judged_protocol(plan.scenario.job.protocol)
    if type(protocol).contributions is JudgedProtocol.contributions:
        return None
    found: list[tuple[int, ...]] = []
    for gradients, _ in _iterations(plan, workers, create or default_sources()):
        of_iteration = protocol.contributions(workers, gradients)
        due = require(protocol.contributions, of_iteration, _CONTRIBUTIONS)
        if due is None:
            return None
        found += due
    return found


def _sums(gradients: Sequence[Array], lengths: Sequence[int]) -> Allowed:
    """What an order may return. `lengths`: of what each rank holds."""
    ranks, like = len(gradients), gradients[0]
    words = f"a list of {ranks} arrays, one for each rank, each of {like.size} elements of type {like.dtype}"

    def is_one(each: object, length: int) -> bool:
        return isinstance(each, np.ndarray) and (each.shape, each.dtype) == ((length,), like.dtype)

    return Allowed(words, lambda found: len(found) == ranks and all(map(is_one, found, lengths)))


def workers_in(plan: Plan, iteration: int) -> tuple[str, ...]:
    """Names of those whose job has that iteration, in the order of the plan."""
    return tuple(worker.name for worker in plan.workers if worker.workload.iterations > iteration)


def _expected_of_group(plan: Plan, workers: Sequence[HostConfig], make: SourceFactory) -> Iterator[list[Array]]:
    """The same for one ring or job, in rank order."""
    for _, totals in _iterations(plan, workers, make):
        yield totals


def _iterations(
    plan: Plan, workers: Sequence[HostConfig], make: SourceFactory
) -> Iterator[tuple[list[Array], list[Array]]]:
    """(gradients, results) of each iteration, in rank order."""
    size, first = len(workers), workers[0]
    order = judged_protocol(plan.scenario.job.runs).order
    sources = [
        make(replace(worker.workload, given=None), rank, size, first.collective.arithmetic.dtype)
        for rank, worker in enumerate(workers)
    ]
    kept_parts = [
        worker.collective.kept if isinstance(worker, WorkerConfig) else worker.workload.kept for worker in workers
    ]
    for iteration in range(first.workload.iterations):
        gradients = [_drawn(source, iteration) for source in sources]
        lengths = [gradients[0].size if part is None else part[1] for part in kept_parts]
        totals = require(order, order(plan, workers, gradients), _sums(gradients, lengths))
        for source, total in zip(sources, totals, strict=True):
            source.apply(iteration, total.copy())
        yield gradients, totals


def _drawn(source: JudgedGradients, iteration: int) -> Array:
    """A copy: a source may reuse its buffer from call to call. One that draws into other memory needs no buffer."""
    if isinstance(source, _DrawnGradients):
        gradient = np.empty(source.elements, source.dtype)
        source.draw(iteration, 0, gradient)
        return gradient
    return np.array(source.gradient(iteration)).reshape(-1)
