"""Bugs planted in the mesh, each by a change to one function; and runs of which one at least must notice each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from testbed.checkers.folds import ring_fold, tree_fold
from testbed.checkers.operations import held_by_ranks
from tests.workloads.collectives.mesh_ranks import MeshRanks
from workloads.collectives import meshed as mesh
from workloads.collectives import messages, moves
from workloads.config import ArithmeticSpec, MeshTask
from workloads.events import CollectiveCompleted, CollectiveStarted

__all__ = ["MESH_PLANTED", "all_runs", "run_operation"]

Patch = pytest.MonkeyPatch


def all_runs() -> None:
    """Raises AssertionError, or whatever a broken mesh raises, where an operation goes wrong."""
    for operation, ranks in product(moves.MOVES, (2, 3, 5)):
        for elements, packets in ((0, 2), (ranks + 1, 2), (3001, 2), (40_000, 170)):
            if operation != "swap":
                run_operation(operation, ranks, elements, packets)
    for ranks in (2, 3, 5):
        lengths = [[(7 * one + 3 * other) % 5 * 40 for other in range(ranks)] for one in range(ranks)]
        _swap(lengths)


def run_operation(operation: str, ranks: int, elements: int, packets: int) -> None:
    """As `all_runs`, of one operation: two iterations."""
    task = MeshTask(operation, tuple(range(ranks)), ranks - 1)
    ring = MeshRanks(ranks, elements, task, message_packets=packets)
    draw = np.random.default_rng(elements)
    for iteration in range(2):
        vectors = [draw.standard_normal(elements).astype("<f4") for _ in range(ranks)]
        total = ring_fold(vectors, ArithmeticSpec(), first=int(operation == "reduce_scatter"))
        if operation == "reduce":
            total = tree_fold(vectors, ArithmeticSpec(), ranks - 1)
        results = ring.run(None, vectors, iteration)
        for rank, right in enumerate(held_by_ranks(operation, ranks - 1, vectors, total)):
            first, number = moves.held_of_task(task, rank, elements)
            assert results[rank][first : first + number].tobytes() == right.tobytes()
    if operation == "barrier":
        begun, ended = (
            [at for at, (_, event) in enumerate(ring.events) if isinstance(event, kind) and event.iteration == 1]
            for kind in (CollectiveStarted, CollectiveCompleted)
        )
        assert max(begun) < min(ended)


def _swap(lengths: list[list[int]]) -> None:
    ranks = len(lengths)
    tasks = [
        MeshTask("swap", tuple(range(ranks)), 0, tuple(lengths[rank]), tuple(row[rank] for row in lengths))
        for rank in range(ranks)
    ]
    vectors = [
        np.arange(max(sum(task.gives), sum(task.takes)), dtype="<f4") + 1000 * rank for rank, task in enumerate(tasks)
    ]
    results = MeshRanks(ranks).run(tasks, vectors)
    for rank, task in enumerate(tasks):
        parts = [vectors[one][sum(lengths[one][:rank]) : sum(lengths[one][: rank + 1])] for one in range(ranks)]
        assert results[rank][: sum(task.takes)].tobytes() == np.concatenate(parts).tobytes()


def _moves(operation: str, change: Callable[[list[moves.Move], MeshTask], list[moves.Move]]) -> Callable[[Patch], None]:
    """The schedule of an operation, changed."""

    def plant(patch: Patch) -> None:
        right = moves.MOVES[operation]

        def wrong(task: MeshTask, place: int, elements: int) -> Any:
            return iter(change(list(right(task, place, elements)), task))

        patch.setattr(moves, "MOVES", {**moves.MOVES, operation: wrong})

    return plant


def _outgoing(**values: Any) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(messages, "OwnMessage", _with(messages.OwnMessage, values))


def _incoming(**values: Any) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(messages, "TakenMessage", _with(messages.TakenMessage, values))


def _with(kind: Any, values: Mapping[str, Any]) -> Callable[..., Any]:
    return lambda *args: replace(kind(*args), **values)


def _stops_when_whole(patch: Patch) -> None:
    right = mesh.MeshCollective._advance

    def advance(self: Any, now: int) -> None:
        if not self._over:
            right(self, now)

    patch.setattr(mesh.MeshCollective, "_advance", advance)


def _forgets_numbers(patch: Patch) -> None:
    def end(self: Any) -> None:
        self.take_base += len(self.takes)
        self.begin((), ())

    patch.setattr(mesh._Channel, "end", end)


def _half_the_slots(patch: Patch) -> None:
    right = mesh._Channel.post

    def post(self: Any, source: memoryview, now: int) -> Any:
        self.window, kept = max(1, self.window // 4), self.window
        try:
            return right(self, source, now)
        finally:
            self.window = kept

    patch.setattr(mesh._Channel, "post", post)


def _posts_no_receive(patch: Patch) -> None:
    right = mesh.ReceiveSlots.post

    def post(self: Any, requests: int, now: int) -> None:
        if requests > 1:
            right(self, requests, now)

    patch.setattr(mesh.ReceiveSlots, "post", post)


MESH_PLANTED: dict[str, Callable[[Patch], None]] = {
    "a reduce-scatter leads chunks to the rank before": _moves(
        "reduce_scatter", lambda all_moves, task: list(moves._round_the_ring("add", len(task.ranks), 3001, 0, 0))
    ),
    "an all-gather ends a step too early": _moves(
        "all_gather", lambda all_moves, task: [move for move in all_moves if move.step < len(task.ranks) - 2]
    ),
    "an all-reduce adds what is final": _moves(
        "all_reduce", lambda all_moves, task: [replace(move, kind="add") for move in all_moves]
    ),
    "a broadcast begins at rank 0, whatever the root": lambda patch: patch.setattr(
        moves, "meetings_of_tree", lambda size, step, root=0, right=moves.meetings_of_tree: right(size, step)
    ),
    "a reduce leaves out the last round": _moves(
        "reduce",
        lambda all_moves, task: [move for move in all_moves if move.step < 2 * (len(task.ranks) - 2).bit_length()],
    ),
    "a barrier leaves out the last round": _moves(
        "barrier", lambda all_moves, task: [move for move in all_moves if (2 << move.step) < len(task.ranks)]
    ),
    "an all-to-all puts blocks where the target's rank says": _moves(
        "all_to_all", lambda all_moves, task: [replace(move, into=move.target * move.elements) for move in all_moves]
    ),
    "a swap takes every block to the front": _moves(
        "swap", lambda all_moves, task: [replace(move, into=0) for move in all_moves]
    ),
    "own blocks are not copied": lambda patch: patch.setattr(mesh, "own_block", lambda *_: None),
    "a result is written before the message that it replaces is acknowledged": _incoming(acked=()),
    "a message is sent before its data came": _outgoing(after=()),
    "a message is sent from the own vector, whatever came": _outgoing(from_result=False),
    "a sum begins with the own vector again and again": _incoming(to_own=True),
    "a rank whose result is whole stops sending": _stops_when_whole,
    "messages are counted from 0 in each operation": _forgets_numbers,
    "messages go to slots that are in use": _half_the_slots,
    "a receive is not posted again": _posts_no_receive,
}
