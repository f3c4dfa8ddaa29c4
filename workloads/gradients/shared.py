"""A mailbox in memory that processes share: the training's side posts, a worker forked after it was made takes and
leaves."""

from __future__ import annotations

import mmap

import numpy as np

from workloads.collectives.moves import MOVES
from workloads.config import MeshTask
from workloads.errors import InternalError
from workloads.gradients.base import Vector

__all__ = ["ROOM_PIECES", "SharedPieces"]

ROOM_PIECES = 4096
_NO_TASK = -1
"""pieces that may be posted and have no sum"""
_POSTED, _DELIVERED, _CLOSED, _HEAD = 0, 1, 2, 3
_OPERATIONS = tuple(sorted(MOVES))


class SharedPieces:
    """A Mailbox. `gradients`: float32 in shared memory, from which pieces are posted by place; a sum is left at the
    same place of `totals`.

    Each counter has one writer and grows by whole words, a piece is described before it is counted: readers need no
    lock."""

    def __init__(self, gradients: Vector, totals: Vector, ranks: int = 0) -> None:
        """`ranks`: number of them, where pieces may have a task."""
        self._gradients, self._totals, self._ranks = gradients, totals, ranks
        self._tasks = np.frombuffer(mmap.mmap(-1, 8 * ROOM_PIECES * (3 + 3 * ranks)), np.int64).reshape(ROOM_PIECES, -1)
        """(operation, root, members, then as many ranks, and numbers of elements given and taken) of piece i in row
        i mod ROOM_PIECES"""
        self._words = np.frombuffer(mmap.mmap(-1, 8 * (_HEAD + 2 * ROOM_PIECES)), np.int64)
        self._places = self._words[_HEAD:].reshape(ROOM_PIECES, 2)
        """(first element, elements) of piece i in row i mod ROOM_PIECES"""

    @property
    def posted(self) -> int:
        return int(self._words[_POSTED])

    @property
    def delivered(self) -> int:
        return int(self._words[_DELIVERED])

    @property
    def closed(self) -> bool:
        return bool(self._words[_CLOSED])

    @property
    def has_room(self) -> bool:
        return self.posted - self.delivered < ROOM_PIECES

    def post(self, first: int, elements: int, task: MeshTask | None = None) -> None:
        """Raises InternalError when there is no room."""
        if not self.has_room:
            raise InternalError(f"more than {ROOM_PIECES} pieces without a sum")
        number = self.posted
        self._places[number % ROOM_PIECES] = first, elements
        self._write_task(self._tasks[number % ROOM_PIECES], task)
        self._words[_POSTED] = number + 1

    def close(self) -> None:
        self._words[_CLOSED] = 1

    def take(self, piece: int) -> Vector:
        return self._gradients[self._place(piece)]

    def leave(self, piece: int, total: Vector) -> None:
        self._totals[self._place(piece)] = total
        self._words[_DELIVERED] = piece + 1

    def task(self, piece: int) -> MeshTask | None:
        row = [int(word) for word in self._tasks[piece % ROOM_PIECES]]
        operation, root, members = row[:3]
        if operation == _NO_TASK:
            return None
        ranks, gives, takes = (tuple(row[3 + at * self._ranks :][:members]) for at in range(3))
        is_swap = _OPERATIONS[operation] == "swap"
        return MeshTask(_OPERATIONS[operation], ranks, root, gives if is_swap else (), takes if is_swap else ())

    def _write_task(self, row: Vector, task: MeshTask | None) -> None:
        if task is None:
            row[0] = _NO_TASK
            return
        row[:3] = _OPERATIONS.index(task.operation), task.root, len(task.ranks)
        for at, numbers in enumerate((task.ranks, task.gives, task.takes)):
            row[3 + at * self._ranks :][: len(numbers)] = numbers

    def _place(self, piece: int) -> slice:
        first, elements = (int(word) for word in self._places[piece % ROOM_PIECES])
        return slice(first, first + elements)
