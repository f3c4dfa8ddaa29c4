"""What the ranks of a training do in an operation over the mesh, and what they must hold."""

from __future__ import annotations

import hashlib
from itertools import product

import numpy as np
import pytest

from testbed.train.network import Tasks
from testbed.train.session import Carry
from testbed.train.tasks import expected_of_tasks, posted_event, tasks_of, words_of
from tests.workloads.collectives.mesh_ranks import MeshRanks
from workloads.collectives.moves import MOVES
from workloads.config import MeshTask
from workloads.ranks.wire import Post, Wired

GROUP = (3, 0, 2)


def post(operation: str, words: int, **more: tuple[int, ...]) -> Post:
    wired = Wired(operation, words, **more)
    return Post(0, "reduce", "float32", "sum", words, True, 0, root=2, wired=wired)


def test_a_rank_outside_of_the_group_does_nothing_and_the_root_has_a_place_in_it() -> None:
    tasks = tasks_of(Carry(5, tuple(post("reduce", 7) for _ in GROUP), GROUP), 4)
    assert tasks == Tasks("reduce", (MeshTask("reduce", GROUP, 2),) * 4)
    assert posted_event(5, [np.zeros(0), *[np.zeros(7)] * 3], 9, 1, tasks).what == "reduce"
    assert posted_event(5, [np.zeros(7)] * 4, 9, 1, None).what == ""
    assert words_of(post("reduce", 7)) == 7
    assert words_of(Post(0, "all_reduce", "float32", "sum", 12, True, 0)) == 12


def test_each_rank_of_a_swap_gives_and_takes_lengths_of_its_own() -> None:
    posts = [post("swap", 9, gives=(rank, 1, 2), takes=(2, 1, rank)) for rank in range(3)]
    tasks = tasks_of(Carry(5, tuple(posts), GROUP), 4)
    assert [tasks.of[rank].gives for rank in GROUP] == [(0, 1, 2), (1, 1, 2), (2, 1, 2)]


@pytest.mark.parametrize(("operation", "elements"), [*product(MOVES, (0, 3, 250))])
def test_the_reference_says_what_a_mesh_brings(operation: str, elements: int) -> None:
    lengths = [[(elements * one + other) % 4 for other in range(3)] for one in range(3)]
    tasks = [
        MeshTask(operation, GROUP, 1)
        if operation != "swap" or rank not in GROUP
        else MeshTask(
            "swap", GROUP, 1, tuple(lengths[GROUP.index(rank)]), tuple(row[GROUP.index(rank)] for row in lengths)
        )
        for rank in range(4)
    ]
    draw = np.random.default_rng(1)
    vectors = [
        draw.standard_normal(0 if rank == 1 else max(sum(task.gives), sum(task.takes), elements)).astype("<f4")
        for rank, task in enumerate(tasks)
    ]
    mesh = MeshRanks(4)
    mesh.run(tasks, vectors)
    expected = expected_of_tasks(0, Tasks(operation, tuple(tasks)), vectors).sha256
    assert expected == tuple(mesh.digests()[rank] for rank in range(4))
    assert expected[1] == hashlib.sha256(b"").hexdigest()
