"""What runs each operation of a trace: a built-in collective, as one ring or as a schedule of pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from testbed.protocols.parts.keys_kinds import RING_KINDS
from testbed.scenario.contract import ScenarioProtocol
from testbed.scenario.job import Job
from testbed.scenario.known import Listed, collectives, protocol_of, protocols
from testbed.scenario.protocol import KnownProtocol
from workloads.collectives.operations import ALL_REDUCE
from workloads.collectives.pairs import PairPhase, PairSide
from workloads.config import ELEMENT_BYTES
from workloads.errors import InternalError
from workloads.traces.matching import MESSAGE, TraceOperation
from workloads.traces.model import BARRIER

__all__ = ["ALL_REDUCES", "TraceRing", "operation_of", "rings_of", "runner"]

_MESSAGE_KIND = "chain_broadcast"
"""a message goes from the first rank to the second of a ring of two"""


@dataclass(frozen=True, slots=True)
class TraceRing:
    """A phase of an operation."""

    step: int
    kind: str
    ranks: tuple[int, ...]
    """of the job, in the order of the ring"""
    first_element: int
    elements: int
    sides: tuple[PairSide, PairSide] | None = None
    """as in PairPhase"""
    is_whole: bool = False
    """the phase is all of the operation; False: it is one of a schedule"""


def _all_reduces() -> tuple[str, ...]:
    return tuple(each.name for each in protocols() if each.as_stage() or _schedules(each, ALL_REDUCE))


def _schedules(protocol: KnownProtocol, operation: str) -> bool:
    """Whether it is a schedule over all hosts that needs no keys of its own."""
    return protocol.job_keys is None and _transfers(protocol, operation, 2, 2, Job()) is not None


def _transfers(
    protocol: KnownProtocol, operation: str, ranks: int, elements: int, job: Job
) -> tuple[PairPhase, ...] | None:
    if not isinstance(protocol, ScenarioProtocol):
        return None
    return protocol.transfers(operation, ranks, elements, job)


ALL_REDUCES = Listed(_all_reduces, lambda name: collectives[name], _all_reduces)
"""what can sum vectors of a trace"""


def operation_of(each: TraceOperation) -> str:
    """The collective operation that it is; a barrier is an all-reduce of one element."""
    return ALL_REDUCE if each.kind == BARRIER else each.kind


def runner(operation: str, all_reduce: str) -> KnownProtocol:
    """The protocol that runs a collective operation."""
    if operation == ALL_REDUCE:
        return protocol_of(all_reduce)
    for protocol in protocols():
        if protocol.sends_zeros(operation):
            continue  # whose switch serves the all-reduces of the trace
        if operation in protocol.operations() and (protocol.as_stage() or _schedules(protocol, operation)):
            return protocol
    raise InternalError(f"no protocol runs {operation} in a trace")


def rings_of(each: TraceOperation, all_reduce: str, divide: int, job: Job) -> tuple[TraceRing, ...]:
    """Its phases; none where it has one rank."""
    elements = max(1, -(-each.bytes // (ELEMENT_BYTES * divide)))
    if each.kind == MESSAGE:
        return (TraceRing(0, _MESSAGE_KIND, each.ranks, 0, elements, is_whole=True),)
    if len(each.ranks) < 2:
        return ()
    operation = operation_of(each)
    protocol = runner(operation, all_reduce)
    phases = _transfers(protocol, operation, len(each.ranks), elements, replace(job, root=each.root, own=None))
    if phases is not None:
        return tuple(
            TraceRing(
                phase.step, phase.kind, tuple(each.ranks[rank] for rank in phase.ranks), phase.first_element,
                phase.elements, phase.sides,
            )
            for phase in phases
        )  # fmt: skip
    return (TraceRing(0, RING_KINDS.get(operation, protocol.name), each.ranks, 0, elements, is_whole=True),)
