"""Bugs planted in each operation of a mesh, by kind: each is a change to one function, and a run of the operation must
notice it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.mesh_mutants import MESH_PLANTED, Patch, run_operation
from workloads.collectives import meshed, moves
from workloads.collectives.moves import ADD, PUT, SIGNAL, Move
from workloads.config import MeshTask

__all__ = ["OPERATION_PLANTED", "runs_of"]

Plant = Callable[[Patch, str], None]
_SUMS = ("all_reduce", "reduce_scatter", "reduce")
_MOVED = ("all_gather", "broadcast", "all_to_all", "send")
_DATA = (*_SUMS, *_MOVED)
_ROOTED = ("broadcast", "reduce", "send")
_ROUND = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")
_ALL = (*_DATA, "barrier")


def runs_of(operation: str) -> None:
    """Raises AssertionError, or whatever a broken mesh raises, where the operation goes wrong."""
    for ranks in (2, 3, 5):
        for elements, packets in ((0, 2), (ranks + 1, 2), (3001, 2), (40_000, 170)):
            run_operation(operation, ranks, elements, packets)


def _schedule(change: Callable[[list[Move], MeshTask], Sequence[Move]]) -> Plant:
    """`change`: of all moves of the operation."""

    def plant(patch: Patch, operation: str) -> None:
        right = moves.MOVES[operation]

        def wrong(task: MeshTask, place: int, elements: int) -> Iterator[Move]:
            return iter(change(list(right(task, place, elements)), task))

        patch.setattr(moves, "MOVES", {**moves.MOVES, operation: wrong})

    return plant


def _each(change: Callable[[Move, MeshTask], Move]) -> Plant:
    """`change`: of each move with elements."""
    return _schedule(lambda all_moves, task: [change(move, task) if move.elements else move for move in all_moves])


def _known(name: str) -> Plant:
    return lambda patch, operation: MESH_PLANTED[name](patch)


def _last_step(all_moves: list[Move], task: MeshTask) -> list[Move]:
    last = max(move.step for move in all_moves)
    return [move for move in all_moves if move.step < last]


def _first_data(all_moves: list[Move], task: MeshTask) -> list[Move]:
    first = min(move.step for move in all_moves if move.kind != SIGNAL or task.operation == "barrier")
    return [move for move in all_moves if move.step != first]


def _twice(all_moves: list[Move], task: MeshTask) -> list[Move]:
    """The last addition, as after a retransmission that counts."""
    last = [move for move in all_moves if move.kind == ADD][-1]
    return [*all_moves, replace(last, step=max(move.step for move in all_moves) + 1)]


def _next_chunk(move: Move, task: MeshTask) -> Move:
    return replace(move, start=move.start + move.elements)


def _other_root(patch: Patch, operation: str) -> None:
    right = moves.MOVES[operation]
    patch.setattr(
        moves,
        "MOVES",
        {
            **moves.MOVES,
            operation: lambda task, place, elements: right(
                replace(task, root=(task.root + 1) % len(task.ranks)), place, elements
            ),
        },
    )


def _another_target(all_moves: list[Move], task: MeshTask) -> list[Move]:
    """Rank 0 and the last one change places as targets."""
    size = len(task.ranks)
    swap = {0: size - 1, size - 1: 0}
    return [
        move if swap.get(move.target, move.target) == move.source
        else replace(move, target=swap.get(move.target, move.target))
        for move in all_moves
    ]  # fmt: skip


def _over_early(patch: Patch, operation: str) -> None:
    """A rank has its result when one message is missing."""
    patch.setattr(meshed._Channel, "is_whole", property(lambda self: self.taken + 1 >= len(self.takes)))


def _first_vector(patch: Patch, operation: str) -> None:
    """The vector of the first iteration is given again."""
    right, first = meshed.MeshCollective.start, {}

    def start(self: Any, iteration: int, gradient: Any, result: Any, now: int) -> None:
        first.setdefault((id(self), len(gradient)), gradient.copy())
        right(self, iteration, first[id(self), len(gradient)] if iteration else gradient, result, now)

    patch.setattr(meshed.MeshCollective, "start", start)


def _words_swapped(patch: Patch, operation: str) -> None:
    """What came is written with its bytes turned."""
    right = meshed.ReceiveSlots.view

    def view(self: Any, message: int) -> Any:
        turned = np.frombuffer(right(self, message), np.uint8).copy()
        turned[: len(turned) // 4 * 4] = turned[: len(turned) // 4 * 4].view("<u4").byteswap().view(np.uint8)
        return memoryview(turned)

    patch.setattr(meshed.ReceiveSlots, "view", view)


def _slot_before(patch: Patch, operation: str) -> None:
    """What came is taken from the slot of the message before."""
    right = meshed.ReceiveSlots.view
    patch.setattr(meshed.ReceiveSlots, "view", lambda self, message: right(self, max(0, message - 1)))


def _signals_to(distance: Callable[[int], int]) -> Plant:
    """`distance`: by number of ranks."""
    return _schedule(
        lambda all_moves, task: [
            replace(move, target=(move.source + distance(len(task.ranks))) % len(task.ranks)) for move in all_moves
        ]
    )


def _to_rank_0(all_moves: list[Move], task: MeshTask) -> list[Move]:
    return [replace(move, target=int(move.source == 0)) for move in all_moves]


def _without(rank: Callable[[int], int]) -> Plant:
    """A rank takes no part."""
    return _schedule(
        lambda all_moves, task: [move for move in all_moves if rank(len(task.ranks)) not in (move.source, move.target)]
    )


def _ends_at_once(patch: Patch, operation: str) -> None:
    """A rank does not wait for messages that came before in another operation."""
    patch.setattr(meshed._Channel, "is_whole", property(lambda self: True))


_KINDS: Mapping[str, tuple[Plant, Sequence[str]]] = {
    "reads one element later": (_each(lambda move, task: replace(move, start=move.start + 1)), _DATA),
    "writes one element later": (_each(lambda move, task: replace(move, into=move.into + 1)), _DATA),
    "loses the last element of each block": (
        _each(lambda move, task: replace(move, elements=move.elements - 1)), _DATA,
    ),
    "leaves out the last step": (_schedule(_last_step), _ALL),
    "leaves out the first step with data": (_schedule(_first_data), _ALL),
    "reads the chunk of the next rank": (_each(_next_chunk), _ROUND),
    "has the next rank as root": (_other_root, _ROOTED),
    "exchanges two targets": (_schedule(_another_target), (*_ROUND, "reduce")),
    "adds a block twice": (_schedule(_twice), _SUMS),
    "replaces instead of adding": (
        _each(lambda move, task: replace(move, kind=PUT) if move.kind == ADD else move), _SUMS,
    ),
    "adds instead of replacing": (_each(lambda move, task: replace(move, kind=ADD)), _MOVED),
    "ends one message early": (_over_early, _ALL),
    "ends at once": (_ends_at_once, _ALL),
    "gives the vector of the first iteration": (_first_vector, _DATA),
    "turns the bytes of words": (_words_swapped, _DATA),
    "takes from the slot before": (_slot_before, _DATA),
    "counts messages from 0": (_known("messages are counted from 0 in each operation"), _ALL),
    "posts no receive again": (_known("a receive is not posted again"), _DATA),
    "stops when its result is whole": (_known("a rank whose result is whole stops sending"), _DATA),
    "signals at once": (_known("a message is sent before its data came"), ("barrier",)),
    "signals to the next rank alone": (_signals_to(lambda size: 1), ("barrier",)),
    "signals to rank 0 alone": (_schedule(_to_rank_0), ("barrier",)),
    "does without rank 0": (_without(lambda size: 0), _ALL),
    "does without the last rank": (_without(lambda size: size - 1), _ALL),
}  # fmt: skip

OPERATION_PLANTED: Mapping[tuple[str, str], Callable[[pytest.MonkeyPatch], None]] = {
    (operation, name): lambda patch, plant=plant, operation=operation: plant(patch, operation)
    for name, (plant, operations) in _KINDS.items()
    for operation in operations
}
"""by operation and kind"""
