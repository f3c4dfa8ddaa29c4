"""What runs each operation of a trace: a built-in protocol, as one ring or as a schedule of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from switch_nodes.kinds import sums
from testbed.protocols.parts.keys_kinds import RING_KINDS
from testbed.scenario.checks.contract import ScenarioProtocol
from testbed.scenario.keys.job import Job
from testbed.scenario.protocols.known import Listed, protocol_of, protocols, summaries
from testbed.scenario.protocols.protocol import KnownProtocol
from workloads.collectives.operations import ALL_REDUCE, OPERATIONS
from workloads.collectives.pairs import PairPhase, PairSide
from workloads.config import ELEMENT_BYTES
from workloads.errors import ScenarioError
from workloads.traces.matching import MESSAGE, TraceOperation
from workloads.traces.model import BARRIER

__all__ = [
    "ALL_REDUCES",
    "TraceRing",
    "connected_operations",
    "fewest_bytes",
    "in_datagrams",
    "operation_of",
    "rings_of",
    "runner",
]

_FEWEST_BYTES = "ring"
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


ALL_REDUCES = Listed(_all_reduces, lambda name: summaries[name], _all_reduces)
"""what can sum vectors of a trace"""


def operation_of(each: TraceOperation) -> str:
    """The collective operation that it is; a barrier is an all-reduce of one element."""
    return ALL_REDUCE if each.kind == BARRIER else each.kind


def in_datagrams(each: TraceOperation, job: Job, ranks: int) -> bool:
    """Whether the workers of the job's own protocol sum it. They sum vectors of all ranks, for each operation that
    sums and that they run."""
    if job.file is None or each.kind == MESSAGE or len(each.ranks) != ranks:
        return False
    operation = operation_of(each)
    return OPERATIONS[operation].sums and operation in protocol_of(job.protocol).operations()


def connected_operations(operations: Sequence[TraceOperation], job: Job, ranks: int) -> tuple[TraceOperation, ...]:
    """Those that need connections."""
    return tuple(each for each in operations if not in_datagrams(each, job, ranks))


def runner(operation: str, all_reduce: str) -> KnownProtocol:
    """The protocol that runs a collective operation."""
    if operation == ALL_REDUCE:
        return protocol_of(all_reduce)
    for protocol in protocols():
        if _runs(operation, protocol):
            return protocol
    raise ScenarioError(
        "no installed protocol runs an operation of the trace", key="job.workload", found=operation,
        allowed=", ".join(each for each in OPERATIONS if each == ALL_REDUCE or _has_runner(each)),
    )  # fmt: skip


def _has_runner(operation: str) -> bool:
    return any(map(partial(_runs, operation), protocols()))


def _runs(operation: str, protocol: KnownProtocol) -> bool:
    if protocol.sends_zeros(operation):
        return False  # its switch serves the all-reduces of the trace
    return operation in protocol.operations() and bool(protocol.as_stage() or _schedules(protocol, operation))


def fewest_bytes() -> str:
    """What sums vectors that no switch sums. A ring sends the fewest bytes; where it is not installed, the first that
    can."""
    able = [name for name in _all_reduces() if not sums(protocol_of(name).programs[0])]
    return _FEWEST_BYTES if _FEWEST_BYTES in able else able[0]


def rings_of(each: TraceOperation, all_reduce: str, divide: int, job: Job) -> tuple[TraceRing, ...]:
    """Its phases; none where it has one rank."""
    elements = max(1, -(-each.bytes // (ELEMENT_BYTES * divide)))
    if each.kind == MESSAGE:
        return (TraceRing(0, _MESSAGE_KIND, each.ranks, 0, elements, is_whole=True),)
    if len(each.ranks) < 2:
        return ()
    operation = operation_of(each)
    protocol = runner(operation, all_reduce)
    phases = _transfers(
        protocol, operation, len(each.ranks), elements, replace(job, root=each.root, own=None, file=None)
    )
    if phases is not None:
        return tuple(
            TraceRing(
                phase.step, phase.kind, tuple(each.ranks[rank] for rank in phase.ranks), phase.first_element,
                phase.elements, phase.sides,
            )
            for phase in phases
        )  # fmt: skip
    return (TraceRing(0, RING_KINDS.get(operation, protocol.name), each.ranks, 0, elements, is_whole=True),)
