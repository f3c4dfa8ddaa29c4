"""What ranks of a DLCP job must hold, worked out from the gradients and from which packets they told to have come.

Each flow ends with exactly ceil((1 - p) M) of its M packets. The server's sum is the fold, by rank, of the gradients
with +0 for what did not come, and a worker's result is that sum with +0 for what did not come of it. Every packet that
came entered its sum once. And no element is further from the full sum than the magnitudes that were left out, added up.

Where switches add on the way, a gradient may count with more than it needs, and the server's sum is the fold of the
parts that it told, each the fold by rank of those inside; a part of several ranks is one that a switch told of.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from testbed.checkers.context import CheckContext
from testbed.checkers.folds import Array, fold
from testbed.checkers.reference import GradientSource, SourceFactory, default_sources
from testbed.faults.model import Kill
from testbed.history.verdict import CheckResult, Verdict
from testbed.terminal.words import violations
from workloads.config import ArithmeticSpec
from workloads.datagrams.blocks import BlockSummed, PartialSent
from workloads.dlcp import DlcpConfig
from workloads.dlcp.events import FlowClosed, SumParts
from workloads.events import CollectiveCompleted

__all__ = ["bounded_loss", "error_bound", "without"]

_NAME = "bounded_loss"
_SHOWN = 8
_ROUNDING = 2.0**-23
"""of one addition of float32, relative to the sum of magnitudes; twice what IEEE 754 allows"""


@dataclass(slots=True)
class _Told:
    """What the hosts of all jobs told."""

    closed: dict[tuple[str, int, int], FlowClosed] = field(default_factory=dict)
    """by receiver, iteration and sender's rank"""
    digests: dict[tuple[str, int], str] = field(default_factory=dict)
    """by host and iteration"""
    summed: dict[tuple[str, int], tuple[int, ...]] = field(default_factory=dict)
    """by server and block: how often each rank is inside"""
    parts: dict[tuple[str, int], tuple[int, ...]] = field(default_factory=dict)
    """by server and block, where switches add: what the server added up"""
    sent: set[tuple[int, int, int]] = field(default_factory=set)
    """sums of switches: (job, block, bitmap)"""
    twice: list[str] = field(default_factory=list)
    """and sums of switches that are not what their bitmap says"""
    killed: set[str] = field(default_factory=set)
    """hosts, which may have told less than they did"""


@dataclass(slots=True)
class _Findings:
    wrong: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    compared: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    """packets that did not count, and all, of gradients and of sums"""


def bounded_loss(context: CheckContext, create: SourceFactory | None = None) -> CheckResult:
    """`create` makes the gradients; None: `workloads.gradients.create_source`."""
    told, findings = _told(context), _Findings()
    findings.wrong += told.twice
    for group in context.plan.groups.values():
        hosts = [worker for worker in group if isinstance(worker, DlcpConfig)]
        findings.wrong += _Job(hosts, told, findings).problems(create or default_sources())
    if findings.wrong:
        return CheckResult(_NAME, Verdict.FAIL, violations(findings.wrong), tuple(findings.wrong[:_SHOWN]))
    if findings.missing or not findings.compared:
        missing = findings.missing or ["no host completed an iteration"]
        detail = f"the {findings.compared} results that were told are right, others are missing; first: {missing[0]}"
        return CheckResult(_NAME, Verdict.UNKNOWN, detail, tuple(missing[:_SHOWN]))
    out = findings.left_out
    detail = (
        f"all {findings.compared} results are the sums of what came: without {out['up']} of {out['up of']} packets of "
        f"gradients, and {out['down']} of {out['down of']} of sums"
    )
    return CheckResult(_NAME, Verdict.PASS, detail)


def without(values: Array, bitmap: int, elements: int) -> Array:
    """`values`, shape (n,), with +0 in packets of `elements` whose bit is not set."""
    packets = -(-len(values) // elements)
    inside = np.array([bitmap >> packet & 1 for packet in range(packets)], np.bool_)
    return np.where(np.repeat(inside, elements)[: len(values)], values, values.dtype.type(0))


def error_bound(gradients: Sequence[Array], came: Sequence[Array], total: Array, result: Array) -> Array:
    """Per element, float64: the magnitudes that did not come, of gradients and of the sum; and what rounding adds."""
    with np.errstate(invalid="ignore"):
        wide = [np.asarray(gradient, np.float64) for gradient in gradients]
        dropped = sum(np.abs(full - part) for full, part in zip(wide, came, strict=True))
        dropped = dropped + np.abs(np.asarray(total, np.float64) - result)
    if total.dtype != np.float32:
        return np.asarray(dropped)
    return np.asarray(dropped + 2 * len(wide) * _ROUNDING * sum(np.abs(full) for full in wide))


def _too_far(gradients: Sequence[Array], result: Array, bound: Array, arithmetic: ArithmeticSpec) -> int | None:
    """An element further than that from the full sum. What is no number is not compared."""
    with np.errstate(all="ignore"):
        if arithmetic.dtype == "int32":  # both wrap, and so does their distance
            distance = np.abs(np.subtract(result, fold(gradients, arithmetic), dtype=np.int32).astype(np.float64))
        elif arithmetic.dtype == "int32sat":
            distance = np.abs(result.astype(np.float64) - fold(gradients, arithmetic))
        else:
            exact = np.sum(np.asarray(gradients, np.float64), axis=0)
            distance = np.where(np.isfinite(exact) & np.isfinite(result), np.abs(result - exact), 0)
        far = np.flatnonzero(distance > bound)
    return int(far[0]) if len(far) else None


class _Job:
    """One job: its hosts by rank, the server being the last one."""

    def __init__(self, hosts: Sequence[DlcpConfig], told: _Told, findings: _Findings) -> None:
        self._hosts, self._told, self._findings = hosts, told, findings
        self._server = hosts[-1]
        self._arithmetic = self._server.collective.arithmetic
        self._packets = -(-self._server.workload.elements // self._server.elements)
        kept = (1 - Fraction(repr(self._server.loss_bound))) * self._packets
        self._needed = -(-kept.numerator // kept.denominator)
        self._in_parts = bool(self._server.service_ip)

    def problems(self, create: SourceFactory) -> Iterator[str]:
        size = len(self._hosts)
        sources = [create(host.workload, rank, size, self._arithmetic.dtype) for rank, host in enumerate(self._hosts)]
        for iteration in range(self._server.workload.iterations):
            if not any((host.name, iteration) in self._told.digests for host in self._hosts):
                self._findings.missing += [f"{host.name}, iteration {iteration}" for host in self._hosts]
                return
            most = self._packets if self._in_parts else self._needed
            up = [self._bitmap(self._server.name, iteration, rank, most) for rank in range(size - 1)]
            broken = [text for text in up if isinstance(text, str)]
            if broken and self._server.name in self._told.killed:
                self._findings.missing += broken
            else:
                yield from broken
            if broken:
                return
            bitmaps = [bitmap for bitmap in up if isinstance(bitmap, int)] + [(1 << self._packets) - 1]
            self._count("up", bitmaps[:-1])
            yield from self._entered(iteration, bitmaps)
            broken = list(self._parts_of(iteration, bitmaps)) if self._in_parts else []
            yield from broken
            if broken:
                return
            yield from self._iteration(iteration, bitmaps, sources)

    def _bitmap(self, receiver: str, iteration: int, sender: int, most: int) -> int | str:
        """Of a flow, which ends with `most` packets or fewer; or what is wrong with it."""
        title = f"{receiver}, iteration {iteration}, flow of rank {sender}"
        closed = self._told.closed.get((receiver, iteration, sender))
        if closed is None:
            return f"{title}: its end was not told, and the sum was formed"
        bitmap = int(closed.bitmap, 16)
        if closed.packets != self._packets or bitmap >> self._packets:
            return f"{title}: {closed.packets} packets, it has {self._packets}"
        if closed.counted != bitmap.bit_count() or not self._needed <= closed.counted <= most:
            came = f"{closed.counted} packets counted, {bitmap.bit_count()} in the bitmap"
            return f"{title}: {came}; it ends with {self._needed} of {self._packets}"
        return bitmap

    def _count(self, way: str, bitmaps: Sequence[int]) -> None:
        self._findings.left_out[way] += sum(self._packets - bitmap.bit_count() for bitmap in bitmaps)
        self._findings.left_out[f"{way} of"] += self._packets * len(bitmaps)

    def _entered(self, iteration: int, bitmaps: Sequence[int]) -> Iterator[str]:
        """Each packet that came entered its sum once, and no other did."""
        for packet in range(self._packets):
            block = iteration * self._packets + packet
            inside = self._told.summed.get((self._server.name, block))
            wanted = tuple(bitmap >> packet & 1 for bitmap in bitmaps)
            if inside != wanted:
                found = "nothing is told of its sum" if inside is None else f"its sum has the ranks {inside} times"
                yield f"{self._server.name}, iteration {iteration}, packet {packet}: {found}, {wanted} came"

    def _parts_of(self, iteration: int, bitmaps: Sequence[int]) -> Iterator[str]:
        """The parts of each sum are who is inside, apart from each other, and those of several are switches'."""
        for packet in range(self._packets):
            block = iteration * self._packets + packet
            parts = self._told.parts.get((self._server.name, block), ())
            inside = sum(1 << rank for rank, bitmap in enumerate(bitmaps) if bitmap >> packet & 1)
            title = f"{self._server.name}, iteration {iteration}, packet {packet}"
            if sum(parts) != inside or sum(part.bit_count() for part in parts) != inside.bit_count():
                yield f"{title}: the parts {[f'{part:#x}' for part in parts]} are not the ranks {inside:#x}"
            for part in parts:
                if part.bit_count() > 1 and (self._server.group, block, part) not in self._told.sent:
                    yield f"{title}: no switch sent a sum of the ranks {part:#x}"

    def _total(self, iteration: int, gradients: Sequence[Array], came: Sequence[Array]) -> Array:
        if not self._in_parts:
            return fold(came, self._arithmetic)
        total, size = np.empty_like(gradients[0]), self._server.elements
        for packet in range(self._packets):
            place = slice(packet * size, (packet + 1) * size)
            parts = self._told.parts[self._server.name, iteration * self._packets + packet]
            sums = [
                fold([gradients[rank][place] for rank in range(len(gradients)) if part >> rank & 1], self._arithmetic)
                for part in sorted(parts, key=lambda part: part & -part)
            ]
            total[place] = fold(sums, self._arithmetic)
        return total

    def _iteration(self, iteration: int, bitmaps: Sequence[int], sources: Sequence[GradientSource]) -> Iterator[str]:
        """Its results; each source gets its own, as its host does."""
        gradients = [np.array(source.gradient(iteration)).reshape(-1) for source in sources]
        size = self._server.elements
        came = [without(each, bitmap, size) for each, bitmap in zip(gradients, bitmaps, strict=True)]
        total = self._total(iteration, gradients, came)
        for rank, (host, source) in enumerate(zip(self._hosts, sources, strict=True)):
            digest = self._told.digests.get((host.name, iteration))
            result = total
            if host is not self._server:
                down = self._bitmap(host.name, iteration, len(self._hosts) - 1, self._needed)
                if isinstance(down, str):
                    if digest is None:
                        self._findings.missing.append(f"{host.name}, iteration {iteration}")
                    else:
                        yield down
                    continue
                self._count("down", [down])
                result = without(total, down, size)
            yield from self._compare(host.name, iteration, digest, result)
            bound = error_bound(gradients, came, total, result)
            if (element := _too_far(gradients, result, bound, self._arithmetic)) is not None:
                yield (
                    f"{host.name}, iteration {iteration}: element {element} is {result[element]}, further than "
                    f"{bound[element]:g} from the full sum (rank {rank})"
                )
            source.apply(iteration, result.copy())

    def _compare(self, host: str, iteration: int, digest: str | None, result: Array) -> Iterator[str]:
        if digest is None:
            self._findings.missing.append(f"{host}, iteration {iteration}")
            return
        self._findings.compared += 1
        right = hashlib.sha256(result.astype(result.dtype.newbyteorder("<"), copy=False).tobytes()).hexdigest()
        if digest != right:
            yield f"{host}, iteration {iteration}: sha256 {digest[:16]}... instead of {right[:16]}..."


def _told(context: CheckContext) -> _Told:
    told = _Told(killed={fault.node for fault in context.plan.scenario.faults if isinstance(fault, Kill)})
    for closed in context.events(FlowClosed):
        key = closed.node, closed.event.iteration, closed.event.sender
        if key in told.closed:
            told.twice.append(f"{key[0]} ended the flow of rank {key[2]} in iteration {key[1]} twice")
        told.closed[key] = closed.event
    for summed in context.events(BlockSummed):
        if (summed.node, summed.event.block) in told.summed:
            told.twice.append(f"{summed.node} summed block {summed.event.block} twice")
        told.summed[summed.node, summed.event.block] = summed.event.contributions
    for parts in context.events(SumParts):
        told.parts[parts.node, parts.event.block] = parts.event.parts
    for sent in context.events(PartialSent):
        told.sent.add((sent.event.job, sent.event.block, sent.event.bitmap))
        inside = tuple(sent.event.bitmap >> rank & 1 for rank in range(len(sent.event.contributions)))
        if sent.event.contributions != inside:
            told.twice.append(f"{sent.node} sent a sum of {sent.event.contributions} as one of {inside}")
    for done in context.events(CollectiveCompleted):
        told.digests[done.node, done.event.iteration] = done.event.sha256
    return told
