"""The operations of a mesh as data: which block each rank sends to which other rank, step by step.

A mesh has a connection between every two ranks. The ranks of an operation are counted by their places in its group.

| operation | schedule | P ranks, n elements: what a rank sends |
|---|---|---|
| all_reduce | ring: both halves | 2 (P - 1) / P n |
| reduce_scatter | ring: chunk c goes c + 1, c + 2, ..., c | (P - 1) / P n |
| all_gather | ring: rank r begins with chunk r | (P - 1) / P n |
| broadcast, reduce | binomial tree from or to the root; the rank that takes a vector says first that it is ready | 0 to ⌈log₂ P⌉ n |
| all_to_all | in step s rank r gives rank r + s its chunk | (P - 1) / P n |
| swap | the same, with lengths of its own for every two ranks | what the others take |
| send | from the root to the next rank, which says first that it is ready | n, of the root alone |
| barrier | dissemination (Hensgen, Finkel, Manber 1988): in round k a signal to the rank 2^k places on | ⌈log₂ P⌉ signals |

A signal is a message of no bytes. A rank sends it when it has taken everything of the steps before. Data waits for the
signals that the same rank sent in steps before.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from workloads.collectives.pairs import meetings_of_tree
from workloads.collectives.schedules import chunk_bounds
from workloads.config import ELEMENT_BYTES, MeshTask

__all__ = ["ADD", "MOVES", "PUT", "SIGNAL", "SWAP", "Move", "held_of_task", "message_bounds", "moves_of", "own_block"]

PUT, ADD, SWAP, SIGNAL = "put", "add", "swap", "signal"


@dataclass(frozen=True, slots=True)
class Move:
    """A block that one rank sends to another; all numbers count elements."""

    step: int
    source: int
    """place in the group"""
    target: int
    kind: str
    """`put` replaces what the target holds, `add` adds to it; `swap` is `put` of the source's own vector, whatever the
    source holds by then; `signal` has no elements"""
    start: int = 0
    """first element of what the source holds"""
    elements: int = 0
    into: int = 0
    """first element of the target's result"""


Moves = Iterator[Move]


def _chunks(elements: int, size: int) -> list[tuple[int, int]]:
    """(first, number) of each chunk"""
    return [(start // ELEMENT_BYTES, (stop - start) // ELEMENT_BYTES) for start, stop in chunk_bounds(elements, size)]


def _round_the_ring(kind: str, size: int, elements: int, first_step: int, ahead: int) -> Moves:
    """In P - 1 steps rank r sends chunk (r + ahead - s) mod P to the next rank."""
    chunks = _chunks(elements, size)
    for step in range(size - 1):
        for rank in range(size):
            start, number = chunks[(rank + ahead - step) % size]
            yield Move(first_step + step, rank, (rank + 1) % size, kind, start, number, start)


def _all_reduce(task: MeshTask, place: int, elements: int) -> Moves:
    size = len(task.ranks)
    yield from _round_the_ring(ADD, size, elements, 0, 0)
    yield from _round_the_ring(PUT, size, elements, size - 1, 1)


def _reduce_scatter(task: MeshTask, place: int, elements: int) -> Moves:
    return _round_the_ring(ADD, len(task.ranks), elements, 0, -1)


def _all_gather(task: MeshTask, place: int, elements: int) -> Moves:
    return _round_the_ring(PUT, len(task.ranks), elements, 0, 0)


def _broadcast(task: MeshTask, place: int, elements: int) -> Moves:
    size = len(task.ranks)
    for number, step in enumerate(reversed(range((size - 1).bit_length()))):
        for parent, child in meetings_of_tree(size, step, task.root):
            yield Move(2 * number, child, parent, SIGNAL)
            yield Move(2 * number + 1, parent, child, PUT, 0, elements)


def _reduce(task: MeshTask, place: int, elements: int) -> Moves:
    size = len(task.ranks)
    for step in range((size - 1).bit_length()):
        for parent, child in meetings_of_tree(size, step, task.root):
            yield Move(2 * step, parent, child, SIGNAL)
            yield Move(2 * step + 1, child, parent, ADD, 0, elements)


def _all_to_all(task: MeshTask, place: int, elements: int) -> Moves:
    size = len(task.ranks)
    chunks = _chunks(elements, size)
    for step in range(1, size):
        for source in range(size):
            target = (source + step) % size
            start, number = chunks[target]
            yield Move(step, source, target, SWAP, start, number, source * number)


def _swap(task: MeshTask, place: int, elements: int) -> Moves:
    """Those of this rank alone: it does not know what the others give each other."""
    given, taken, size = _first_of(task.gives), _first_of(task.takes), len(task.ranks)
    for step in range(1, size):
        target, source = (place + step) % size, (place - step) % size
        yield Move(step, place, target, SWAP, given[target], task.gives[target])
        yield Move(step, source, place, SWAP, 0, task.takes[source], taken[source])


def _first_of(lengths: Sequence[int]) -> list[int]:
    return [0, *accumulate(lengths)]


def _send(task: MeshTask, place: int, elements: int) -> Moves:
    target = (task.root + 1) % len(task.ranks)
    yield Move(0, target, task.root, SIGNAL)
    yield Move(1, task.root, target, PUT, 0, elements)


def _barrier(task: MeshTask, place: int, elements: int) -> Moves:
    size = len(task.ranks)
    for step in range((size - 1).bit_length()):
        for rank in range(size):
            yield Move(step, rank, (rank + (1 << step)) % size, SIGNAL)


MOVES: Mapping[str, Callable[[MeshTask, int, int], Moves]] = {
    "all_reduce": _all_reduce,
    "reduce_scatter": _reduce_scatter,
    "all_gather": _all_gather,
    "broadcast": _broadcast,
    "reduce": _reduce,
    "all_to_all": _all_to_all,
    "swap": _swap,
    "send": _send,
    "barrier": _barrier,
}
"""by operation: (task, place of a rank, elements of its vector) -> moves, in which that rank's are complete"""


def moves_of(task: MeshTask, place: int, elements: int) -> list[Move]:
    """Moves that the rank at `place` takes part in, by step; no data without elements among them. A group of one rank
    has none."""
    if len(task.ranks) < 2:
        return []
    found = [
        move
        for move in MOVES[task.operation](task, place, elements)
        if place in (move.source, move.target) and (move.elements or move.kind == SIGNAL)
    ]
    return sorted(found, key=lambda move: move.step)


def own_block(task: MeshTask, place: int, elements: int) -> tuple[int, int, int] | None:
    """(first, number, first in the result) of the elements of its own vector that a rank holds in the end, or begins
    with; None: there are none."""
    size = len(task.ranks)
    if size == 1:
        return None if task.operation == "send" else (0, elements, 0)
    start, number = _chunks(elements, size)[place]
    if task.operation == "all_gather":
        return start, number, start
    if task.operation == "all_to_all":
        return start, number, place * number
    if task.operation == "swap":
        return _first_of(task.gives)[place], task.gives[place], _first_of(task.takes)[place]
    if task.operation == "broadcast" and place == task.root:
        return 0, elements, 0
    return None


def held_of_task(task: MeshTask, place: int | None, elements: int) -> tuple[int, int]:
    """(first, number) of the elements of its result that a rank holds in the end. `place`: None where the rank is not
    in the group."""
    size = len(task.ranks)
    if place is None or task.operation == "barrier":
        return 0, 0
    if task.operation == "reduce_scatter":
        return _chunks(elements, size)[place]
    if task.operation == "all_to_all":
        return 0, size * _chunks(elements, size)[place][1]
    if task.operation == "swap":
        return 0, sum(task.takes)
    if task.operation == "reduce" and place != task.root:
        return 0, 0
    if task.operation == "send" and (size < 2 or place != (task.root + 1) % size):
        return 0, 0
    return 0, elements


def message_bounds(start: int, elements: int, length: int) -> list[tuple[int, int]]:
    """(first, behind the last) byte of each message of a block; `length`: bytes of the longest."""
    first, last = start * ELEMENT_BYTES, (start + elements) * ELEMENT_BYTES
    return list(pairwise([*range(first, last, length), last]))
