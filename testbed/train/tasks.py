"""Operations of a training over the mesh: what each rank does, and what it must hold then."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from testbed.checkers.folds import ring_fold, tree_fold
from testbed.checkers.operations import held_by_ranks
from testbed.history.training_events import AllReducePosted, PieceExpected
from testbed.train.network import Gradient, Tasks
from testbed.train.session import Carry
from workloads.config import ArithmeticSpec, MeshTask
from workloads.ranks.wire import Post

__all__ = ["expected_of_tasks", "posted_event", "tasks_of", "words_of"]

_SUM = ArithmeticSpec()
"""what trainings add: float32"""


def words_of(post: Post) -> int:
    """Elements of the memory that a post uses."""
    return post.elements if post.wired is None else post.wired.words


def tasks_of(carry: Carry, size: int) -> Tasks:
    """Of every rank of the training. Ranks outside the group do nothing."""
    first = carry.posts[0]
    assert first.wired is not None
    root = carry.ranks.index(first.root) if first.root in carry.ranks else 0
    own = dict(zip(carry.ranks, carry.posts, strict=True))
    tasks = []
    for rank in range(size):
        wired = first.wired if rank not in own else own[rank].wired
        assert wired is not None
        tasks.append(MeshTask(wired.operation, carry.ranks, root, wired.gives, wired.takes))
    return Tasks(first.what, tuple(tasks))


def posted_event(
    number: int, gradients: Sequence[Gradient], first: int, pieces: int, tasks: Tasks | None
) -> AllReducePosted:
    what = "" if tasks is None else tasks.what
    return AllReducePosted(number, max(map(len, gradients)), first, pieces, what)


def expected_of_tasks(iteration: int, tasks: Tasks, gradients: Sequence[Gradient]) -> PieceExpected:
    """Worked out from the ranks' own vectors, without worker code. `gradients`: by rank of the training."""
    group = tasks.of[0].ranks
    held = dict(zip(group, _held([tasks.of[rank] for rank in group], [gradients[rank] for rank in group]), strict=True))
    vectors = [held.get(rank, np.zeros(0, "<f4")) for rank in range(len(tasks.of))]
    return PieceExpected(iteration, tuple(hashlib.sha256(vector.tobytes()).hexdigest() for vector in vectors))


def _held(tasks: Sequence[MeshTask], vectors: Sequence[Gradient]) -> list[Gradient]:
    """By place in the group."""
    operation, root, places = tasks[0].operation, tasks[0].root, range(len(tasks))
    if operation == "swap":
        parts = [np.split(vector, np.cumsum(task.gives)) for vector, task in zip(vectors, tasks, strict=True)]
        return [np.concatenate([parts[other][place] for other in places]) for place in places]
    if operation == "send" and len(tasks) < 2:
        return [vectors[0][:0]]
    if operation == "reduce":
        total = tree_fold(vectors, _SUM, root)
    elif operation in ("all_reduce", "reduce_scatter"):
        total = ring_fold(vectors, _SUM, first=int(operation == "reduce_scatter"))
    else:
        total = vectors[0]
    return list(held_by_ranks(operation, root, vectors, total))
