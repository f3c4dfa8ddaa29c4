"""Reports of the hosts of DLCP jobs, and what every judge of such a job does with them."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from testbed.checkers.context import CheckContext
from testbed.checkers.folds import Array, fold
from testbed.checkers.reference import JudgedGradients, SourceFactory
from testbed.faults.model import Kill
from testbed.plan import Plan
from workloads.config import ArithmeticSpec
from workloads.datagrams.blocks import BlockSummed, PartialSent
from workloads.dlcp import DlcpConfig
from workloads.dlcp.events import FlowClosed, SumParts
from workloads.events import CollectiveCompleted
from workloads.machine import Event

__all__ = [
    "Findings",
    "JobJudge",
    "NotTold",
    "ToldLoss",
    "inside_of",
    "killed_in",
    "rounding",
    "told_in",
    "what_came",
    "without",
]

_ROUNDING = 2.0**-23
"""of one addition of float32, relative to the sum of magnitudes; twice what IEEE 754 allows"""


class NotTold(Exception):
    """The end of a flow that a result rests on, or something that cannot be its end."""


@dataclass(slots=True)
class ToldLoss:
    closed: dict[tuple[str, int, int, int], FlowClosed] = field(default_factory=dict)
    """by receiver, iteration, sender's rank and step"""
    digests: dict[tuple[str, int], str] = field(default_factory=dict)
    """by host and iteration"""
    summed: dict[tuple[str, int], tuple[int, ...]] = field(default_factory=dict)
    """by host and block: how often each rank is inside"""
    parts: dict[tuple[str, int], tuple[int, ...]] = field(default_factory=dict)
    """by server and block, where switches add: what the server added up"""
    sent: set[tuple[int, int, int]] = field(default_factory=set)
    """sums of switches: (job, block, bitmap)"""
    wrong: list[str] = field(default_factory=list)
    """what contradicts itself"""
    killed: set[str] = field(default_factory=set)
    """hosts that a fault kills: they may have reported less than they did"""

    def add(self, node: str, event: Event) -> None:
        """What is none of these kinds has no part in it."""
        match event:
            case FlowClosed():
                key = node, event.iteration, event.sender, event.step
                if key in self.closed:
                    self.wrong.append(
                        f"{node} ended the flow of rank {event.sender} in iteration {event.iteration} twice"
                    )
                self.closed[key] = event
            case BlockSummed():
                if (node, event.block) in self.summed:
                    self.wrong.append(f"{node} summed block {event.block} twice")
                self.summed[node, event.block] = event.contributions
            case SumParts():
                self.parts[node, event.block] = event.parts
            case PartialSent():
                self.sent.add((event.job, event.block, event.bitmap))
                inside = tuple(event.bitmap >> rank & 1 for rank in range(len(event.contributions)))
                if event.contributions != inside:
                    self.wrong.append(f"{node} sent a sum of {event.contributions} as one of {inside}")
            case CollectiveCompleted():
                if (node, event.iteration) in self.digests:
                    self.wrong.append(f"{node} reported its result of iteration {event.iteration} twice")
                self.digests[node, event.iteration] = event.sha256


def killed_in(plan: Plan) -> set[str]:
    return {fault.node for fault in plan.scenario.faults if isinstance(fault, Kill)}


def told_in(context: CheckContext) -> ToldLoss:
    told = ToldLoss(killed=killed_in(context.plan))
    for kind in (FlowClosed, BlockSummed, SumParts, PartialSent, CollectiveCompleted):
        for record in context.events(kind):
            told.add(record.node, record.event)
    return told


@dataclass(slots=True)
class Findings:
    wrong: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    compared: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    """packets that did not count, and all, of gradients and of sums"""


def what_came(results: int, left_out: Mapping[str, int]) -> str:
    """What a pass says. `left_out`: as of `Findings`."""
    return (
        f"all {results} results are the sums of what came: without {left_out['up']} of {left_out['up of']} packets of "
        f"gradients, and {left_out['down']} of {left_out['down of']} of sums"
    )


def inside_of(values: Array, bitmap: int, elements: int) -> Array:
    """Which of n elements, in packets of `elements`, came: bool, shape (n,)."""
    packets = -(-len(values) // elements)
    inside = np.array([bitmap >> packet & 1 for packet in range(packets)], np.bool_)
    return np.repeat(inside, elements)[: len(values)]


def without(values: Array, bitmap: int, elements: int) -> Array:
    """`values`, shape (n,), with +0 in packets of `elements` whose bit is not set."""
    return np.where(inside_of(values, bitmap, elements), values, values.dtype.type(0))


def rounding(gradients: Sequence[Array]) -> Array:
    """What rounding of float32 may add to the distance from the exact sum, float64, shape (n,); nothing of integers."""
    if gradients[0].dtype != np.float32:
        return np.zeros(len(gradients[0]))
    magnitudes = np.zeros(len(gradients[0]))
    with np.errstate(invalid="ignore"):
        for gradient in gradients:
            magnitudes += np.abs(np.asarray(gradient, np.float64))
    return np.asarray(2 * len(gradients) * _ROUNDING * magnitudes)


class JobJudge(ABC):
    """One job: its hosts by rank."""

    def __init__(self, hosts: Sequence[DlcpConfig], told: ToldLoss, findings: Findings) -> None:
        self.hosts, self.told, self.findings = hosts, told, findings
        self.arithmetic: ArithmeticSpec = hosts[0].collective.arithmetic
        self.elements, self.size = hosts[0].workload.elements, hosts[0].elements
        self.packets = self.packets_of(self.elements)

    @abstractmethod
    def results(self, iteration: int, gradients: Sequence[Array]) -> Iterator[tuple[int, Array, Array] | str]:
        """(rank, what it must hold, how far that may be from the full sum); or what is wrong. Raises NotTold."""

    def packets_of(self, elements: int) -> int:
        return -(-elements // self.size)

    def problems(self, create: SourceFactory) -> Iterator[str]:
        """Each source gets the result of its own host, so that models that learn are followed."""
        dtype = self.arithmetic.dtype
        sources = [create(host.workload, rank, len(self.hosts), dtype) for rank, host in enumerate(self.hosts)]
        for iteration in range(self.hosts[0].workload.iterations):
            if not any((host.name, iteration) in self.told.digests for host in self.hosts):
                self.findings.missing += [f"{host.name}, iteration {iteration}" for host in self.hosts]
                return
            try:
                yield from self.iteration_problems(iteration, sources)
            except NotTold as error:
                if self.must_have_told(iteration):
                    yield str(error)
                else:
                    self.findings.missing.append(str(error))
                return

    def must_have_told(self, iteration: int) -> bool:
        """All that there is of it: every host has its result, and none was killed."""
        names = {host.name for host in self.hosts}
        return not names & self.told.killed and all((name, iteration) in self.told.digests for name in names)

    def iteration_problems(self, iteration: int, sources: Sequence[JudgedGradients]) -> Iterator[str]:
        """With that iteration's gradients in the sources, by rank. Raises NotTold."""
        gradients = [np.array(source.gradient(iteration)).reshape(-1) for source in sources]
        full, rounded = self._full(gradients), rounding(gradients)
        for found in self.results(iteration, gradients):
            if isinstance(found, str):
                yield found
                continue
            rank, result, bound = found
            host = self.hosts[rank].name
            yield from self._compare(host, iteration, result)
            if (element := self._too_far(full, result, bound + rounded)) is not None:
                yield (
                    f"{host}, iteration {iteration}: element {element} is {result[element]}, further than "
                    f"{bound[element]:g} from the full sum"
                )
            sources[rank].apply(iteration, result.copy())

    def bitmap(
        self, receiver: int, iteration: int, sender: int, packets: int, *, step: int = 0, more: bool = False
    ) -> int:
        """Of a flow of so many packets, which ends with as many as it must have (or `more`). Raises NotTold."""
        name = self.hosts[receiver].name
        title = f"{name}, iteration {iteration}, flow of rank {sender}" + (f" in step {step}" if step else "")
        closed = self.told.closed.get((name, iteration, sender, step))
        if closed is None:
            raise NotTold(f"{title}: its end was not reported")
        bitmap = int(closed.bitmap, 16)
        kept = (1 - Fraction(repr(self.hosts[0].loss_bound))) * packets
        needed = -(-kept.numerator // kept.denominator)
        if closed.packets != packets or bitmap >> packets:
            raise NotTold(f"{title}: {closed.packets} packets, it has {packets}")
        if closed.counted != bitmap.bit_count() or not needed <= closed.counted <= (packets if more else needed):
            came = f"{closed.counted} packets counted, {bitmap.bit_count()} in the bitmap"
            raise NotTold(f"{title}: {came}; it ends with {needed} of {packets}")
        return bitmap

    def count(self, way: str, packets: int, bitmaps: Sequence[int]) -> None:
        self.findings.left_out[way] += sum(packets - bitmap.bit_count() for bitmap in bitmaps)
        self.findings.left_out[f"{way} of"] += packets * len(bitmaps)

    def _compare(self, host: str, iteration: int, result: Array) -> Iterator[str]:
        digest = self.told.digests.get((host, iteration))
        if digest is None:
            self.findings.missing.append(f"{host}, iteration {iteration}")
            return
        self.findings.compared += 1
        right = hashlib.sha256(result.astype(result.dtype.newbyteorder("<"), copy=False).tobytes()).hexdigest()
        if digest != right:
            yield f"{host}, iteration {iteration}: sha256 {digest[:16]}... instead of {right[:16]}..."

    def _full(self, gradients: Sequence[Array]) -> Array:
        """The sum of all: float64 of floats, else of the gradients' type."""
        if self.arithmetic.dtype in ("int32", "int32sat"):
            return fold(gradients, self.arithmetic)
        exact = np.zeros(len(gradients[0]))
        with np.errstate(all="ignore"):
            for gradient in gradients:
                exact += gradient
        return exact

    def _too_far(self, full: Array, result: Array, bound: Array) -> int | None:
        """An element further than that from the full sum. What is no number is not compared."""
        with np.errstate(all="ignore"):
            if self.arithmetic.dtype == "int32":  # both wrap, and so does their distance
                distance = np.abs(np.subtract(result, full, dtype=np.int32).astype(np.float64))
            elif self.arithmetic.dtype == "int32sat":
                distance = np.abs(result.astype(np.float64) - full)
            else:
                distance = np.where(np.isfinite(full) & np.isfinite(result), np.abs(result - full), 0)
            far = np.flatnonzero(distance > bound)
        return int(far[0]) if len(far) else None
