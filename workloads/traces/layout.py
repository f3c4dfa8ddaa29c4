"""Where the communications of a trace lie in the vectors of its ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from workloads.collectives.held import kept
from workloads.collectives.operations import ALL_REDUCE
from workloads.config import ELEMENT_BYTES
from workloads.traces.matching import MESSAGE, TraceOperation
from workloads.traces.model import BARRIER, RECV, SEND
from workloads.traces.program import Communication

__all__ = ["TraceLayout", "lay_out"]


@dataclass(frozen=True, slots=True)
class TraceLayout:
    elements: int
    """of the vectors of every rank: enough for the rank that needs most"""
    communications: tuple[tuple[Communication, ...], ...]
    """by rank, in the order of the operations that it takes part in; without phases"""


def lay_out(operations: Sequence[TraceOperation], ranks: int, divide: int) -> TraceLayout:
    """Each operation has `bytes / divide` bytes, in whole elements, one at least."""
    found: list[list[Communication]] = [[] for _ in range(ranks)]
    given, held = [0] * ranks, [0] * ranks
    for number, each in enumerate(operations):
        elements = max(1, -(-each.bytes // (ELEMENT_BYTES * divide)))
        for place, rank in enumerate(each.ranks):
            one = replace(_communication(each, place, elements, given[rank], held[rank]), number=number)
            given[rank] += one.gives
            held[rank] += one.holds
            found[rank].append(one)
    return TraceLayout(max(1, *given, *held), tuple(map(tuple, found)))


def _communication(each: TraceOperation, place: int, elements: int, given: int, held: int) -> Communication:
    size = len(each.ranks)
    if each.kind == MESSAGE:
        sends = place == 0
        return Communication(
            SEND if sends else RECV, 0, 0, place, size, given, elements if sends else 0, held, 0 if sends else elements,
            kept=0 if sends else elements, source=each.ranks[0], tag=each.tag, sent_by=each.places[0],
        )  # fmt: skip
    operation = ALL_REDUCE if each.kind == BARRIER else each.kind
    own = kept(operation, place, size, elements, each.root)
    first, number = (0, elements) if own is None or size == 1 else own
    return Communication(
        operation, 0, 0, place, size, given, elements, held, max(elements, first + number), first, number
    )
