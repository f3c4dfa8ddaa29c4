"""The independent reference: what every worker must hold, worked out in one process without switch or worker code.

Arithmetic (protocol text section 7): float32 is a left fold in rank order, rounded to binary32 at every step, a NaN
becomes 0x7fc00000; int32 wraps; int32sat is the exact sum clamped once; xor is bitwise; in a float32 max NaN wins and
+0 is above -0.
Over machines of several workers: inside a machine first, then the machines' partial sums in the order of the machines.
Parallel NetReduce folds piece c of n in the order c, c+1, ..., c-1 (mod n) of each machine's workers; Tencent's all-reduce the whole
gradient from the last worker of a machine to its first, and the machines' partial sums as a ring.
SwitchML, ATP and ESA sum integers that the workers agreed on by exponents (`quantised_sum`).
A ring all-reduce folds chunk c of P in the order c, c+1, ..., c-1 (mod P), one rounding (or clamp) per step.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, zip_longest
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from testbed.checkers.blocks import IN_BLOCKS
from testbed.checkers.reference_quantised import quantised_sum, scaled_sum
from testbed.plan import Plan
from topologies import machine_groups
from workloads.atp import AtpConfig
from workloads.config import ArithmeticSpec, HostConfig, WorkerConfig, WorkloadConfig

__all__ = [
    "Array",
    "GradientSource",
    "SourceFactory",
    "default_sources",
    "expected_results",
    "fold",
    "machines_fold",
    "ring_fold",
    "workers_in",
]

Array: TypeAlias = NDArray[Any]
_CANONICAL_NAN = np.uint32(0x7FC00000)
_INT32 = np.iinfo(np.int32)


class GradientSource(Protocol):
    """`workloads.gradients`: one rank's gradients; `apply` gives it the reduced one, as a worker does."""

    def gradient(self, iteration: int) -> Array: ...

    def apply(self, iteration: int, total: Array) -> object: ...


SourceFactory: TypeAlias = Callable[[WorkloadConfig, int, int, str], GradientSource]
"""(config, rank, group size, ArithmeticSpec.dtype)"""


def default_sources() -> SourceFactory:
    """`workloads.gradients.create_source`; looked up when needed, since models load slowly."""
    return cast(SourceFactory, importlib.import_module("workloads.gradients").create_source)


def fold(gradients: Sequence[Array], arithmetic: ArithmeticSpec) -> Array:
    """Reduce arrays of one shape, (n,) float32 or int32, in the order given. Raises ValueError for what is not defined."""
    if arithmetic.dtype == "int32sat" and arithmetic.op == "sum":
        total = np.zeros(len(gradients[0]), np.int64)
        for gradient in gradients:
            total += gradient
        return np.clip(total, _INT32.min, _INT32.max).astype(np.int32)
    total = np.array(gradients[0], dtype=np.float32 if arithmetic.dtype == "float32" else np.int32)
    with np.errstate(all="ignore"):
        for gradient in gradients[1:]:
            _combine(total, gradient, arithmetic.op)
    return total if arithmetic.op == "xor" else _canonical(total)


def _fold_by_racks(gradients: Sequence[Array], racks: Sequence[int], arithmetic: ArithmeticSpec) -> Array:
    """Each rack by rank, then the racks in their order (protocol text section 7, two levels)."""
    ends = list(accumulate(racks))
    return fold(
        [fold(gradients[end - size : end], arithmetic) for end, size in zip(ends, racks, strict=True)], arithmetic
    )


def ring_fold(gradients: Sequence[Array], arithmetic: ArithmeticSpec) -> Array:
    """As a ring all-reduce over len(gradients) ranks does it, chunks as `numpy.array_split` cuts them."""
    size = len(gradients)
    chunks = [np.array_split(gradient, size) for gradient in gradients]
    parts = []
    for first in range(size):
        total = chunks[first][first]
        for step in range(1, size):
            total = fold([total, chunks[(first + step) % size][first]], arithmetic)
        parts.append(total)
    return np.concatenate(parts)


def machines_fold(
    kind: str, groups: Sequence[Sequence[int]], gradients: Sequence[Array], arithmetic: ArithmeticSpec
) -> Array:
    """`kind`: parallel_netreduce or tencent; `groups`: the ranks of each machine."""
    if kind == "tencent":
        masters = [fold([gradients[rank] for rank in reversed(group)], arithmetic) for group in groups]
        return ring_fold(masters, arithmetic)
    pieces = []
    workers = len(groups[0])
    cut = [np.array_split(gradient, workers) for gradient in gradients]
    for piece in range(workers):
        partial = [
            fold([cut[group[(piece + step) % workers]][piece] for step in range(workers)], arithmetic)
            for group in groups
        ]
        pieces.append(fold(partial, arithmetic))
    return np.concatenate(pieces)


def _combine(total: Array, gradient: Array, op: str) -> None:
    if op == "sum":
        np.add(total, gradient, out=total)
    elif op == "max" and total.dtype == np.float32:
        _maximum(total, gradient)
    elif op == "max":
        np.maximum(total, gradient, out=total)
    elif op == "xor":
        words = total.view(np.uint32)
        np.bitwise_xor(words, np.ascontiguousarray(gradient).view(np.uint32), out=words)
    else:
        raise ValueError(f"no arithmetic for op {op!r}")


def _maximum(total: Array, gradient: Array) -> None:
    """IEEE 754-2019 maximum: equal values have equal bits but for zeros, where AND leaves the sign only if both have it."""
    other = np.array(gradient, np.float32)
    equal = total == other
    total.view(np.uint32)[equal] &= other.view(np.uint32)[equal]
    np.copyto(total, other, where=(other > total) | np.isnan(other))


def _canonical(total: Array) -> Array:
    if total.dtype == np.float32:
        total.view(np.uint32)[np.isnan(total)] = _CANONICAL_NAN
    return total


def expected_results(plan: Plan, create: SourceFactory | None = None) -> Iterator[list[Array]]:
    """Per iteration, what each worker must hold, in the order of the plan: of the workers whose job has that iteration
    (`workers_in`). A worker that trains gets the result before its next gradient, so the reference trains along."""
    groups = [_expected_of_group(plan, workers, create or default_sources()) for workers in plan.groups.values()]
    for totals in zip_longest(*groups, fillvalue=()):
        yield [total for group in totals for total in group]


def workers_in(plan: Plan, iteration: int) -> tuple[str, ...]:
    """Names of those whose job has that iteration, in the order of the plan."""
    return tuple(worker.name for worker in plan.workers if worker.workload.iterations > iteration)


def _expected_of_group(plan: Plan, workers: Sequence[HostConfig], make: SourceFactory) -> Iterator[list[Array]]:
    """The same for one ring or job, in rank order."""
    size, first = len(workers), workers[0]
    collective = first.collective
    dtype = collective.arithmetic.dtype
    sources = [make(worker.workload, rank, size, dtype) for rank, worker in enumerate(workers)]
    ranks = {worker.name: rank for rank, worker in enumerate(workers)}
    groups = [
        [ranks[host.name] for host in group if host.name in ranks] for group in machine_groups(plan.scenario.topology)
    ]
    for iteration in range(first.workload.iterations):
        # A source may reuse its buffer from call to call; the worker's copy is on the wire by then, ours is not.
        gradients = [np.array(source.gradient(iteration)).reshape(-1) for source in sources]
        if collective.kind == "shift":
            totals = [gradients[rank - 1] for rank in range(size)]
        elif collective.kind == "ring":
            totals = [ring_fold(gradients, collective.arithmetic)] * size
        elif isinstance(first, IN_BLOCKS):
            scale = first.fixed_scale if isinstance(first, AtpConfig) else None
            totals = [
                quantised_sum(gradients, first.elements // 2) if scale is None else scaled_sum(gradients, scale)
            ] * size
        elif isinstance(first, WorkerConfig) and first.phases:
            totals = [machines_fold(collective.kind, groups, gradients, collective.arithmetic)] * size
        else:
            totals = [_fold_by_racks(gradients, plan.racks or (size,), collective.arithmetic)] * size
        for source, total in zip(sources, totals, strict=True):
            source.apply(iteration, total.copy())
        yield totals
