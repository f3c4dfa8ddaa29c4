"""Operations over a mesh end with the right vectors, in whatever order connections hand over their messages."""

from __future__ import annotations

import hashlib
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.checkers.folds import ring_fold, tree_fold
from testbed.checkers.operations import held_by_ranks
from tests.workloads.collectives.mesh_ranks import MTU, MeshRanks, mesh_config
from workloads.collectives.meshed import MeshCollective
from workloads.collectives.messages import channel_packets, messages_of
from workloads.collectives.moves import MOVES, held_of_task
from workloads.config import ArithmeticSpec, MeshTask
from workloads.errors import ScenarioError
from workloads.events import CollectiveCompleted, CollectiveStarted

SUM = ArithmeticSpec()
WHOLE = [operation for operation in MOVES if operation != "swap"]


def vectors_of(ranks: int, elements: int, seed: int = 1) -> list[np.ndarray]:
    draw = np.random.default_rng(seed)
    return [draw.standard_normal(elements).astype("<f4") for _ in range(ranks)]


def expected(operation: str, root: int, vectors: list[np.ndarray]) -> list[np.ndarray]:
    if operation == "reduce":
        total = tree_fold(vectors, SUM, root)
    else:
        total = ring_fold(vectors, SUM, first=int(operation == "reduce_scatter"))
    return held_by_ranks(operation, root, vectors, total)


def held(task: MeshTask, place: int, result: np.ndarray, elements: int) -> bytes:
    first, number = held_of_task(task, place, elements)
    return result[first : first + number].tobytes()


@pytest.mark.parametrize(("operation", "ranks"), [*product(WHOLE, (2, 3, 4, 7, 8))])
def test_every_rank_holds_what_it_must(operation: str, ranks: int) -> None:
    for elements, root in ((0, 0), (1, ranks - 1), (ranks, 0), (250, ranks // 2), (3001, 1 % ranks)):
        task = MeshTask(operation, tuple(range(ranks)), root)
        mesh = MeshRanks(ranks, elements, task, message_packets=170 if root else 2)
        vectors = vectors_of(ranks, elements)
        for iteration in range(3):
            results = mesh.run(None, vectors, iteration)
            for rank, right in enumerate(expected(operation, root, vectors)):
                assert held(task, rank, results[rank], elements) == right.tobytes(), (elements, root, rank)
                assert mesh.digests(iteration)[rank] == hashlib.sha256(right.tobytes()).hexdigest()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_groups_and_lengths_may_differ_from_operation_to_operation(data: st.DataObject) -> None:
    ranks = data.draw(st.integers(2, 6))
    mesh = MeshRanks(ranks, data.draw(st.integers(0, 1000)), message_packets=data.draw(st.sampled_from([2, 170])))
    for iteration in range(data.draw(st.integers(1, 4))):
        group = tuple(data.draw(st.permutations(range(ranks)))[: data.draw(st.integers(1, ranks))])
        operation = data.draw(st.sampled_from(WHOLE))
        root = data.draw(st.integers(0, len(group) - 1))
        elements = data.draw(st.sampled_from([0, 1, 5, 64, 257, 1500]))
        vectors = vectors_of(ranks, elements, iteration)
        task = MeshTask(operation, group, root)
        results = mesh.run([task] * ranks, vectors, iteration)
        members = [vectors[rank] for rank in group]
        right = expected(operation, root, members) if len(group) > 1 else members
        for place, rank in enumerate(group):
            if len(group) > 1 or operation not in ("send", "barrier"):
                assert held(task, place, results[rank], elements) == right[place].tobytes()
        outside = set(range(ranks)) - set(group)
        assert all(mesh.digests(iteration)[rank] == hashlib.sha256(b"").hexdigest() for rank in outside)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_swap_takes_lengths_of_its_own_for_every_two_ranks(data: st.DataObject) -> None:
    ranks = data.draw(st.integers(2, 6))
    lengths = [[data.draw(st.sampled_from([0, 0, 1, 3, 200, 700])) for _ in range(ranks)] for _ in range(ranks)]
    tasks = [
        MeshTask("swap", tuple(range(ranks)), 0, tuple(lengths[rank]), tuple(row[rank] for row in lengths))
        for rank in range(ranks)
    ]
    vectors = [
        np.resize(np.arange(max(sum(task.gives), sum(task.takes)), dtype="<f4") + 10_000 * rank,
                  max(sum(task.gives), sum(task.takes)))
        for rank, task in enumerate(tasks)
    ]  # fmt: skip
    results = MeshRanks(ranks, data.draw(st.integers(0, 1000))).run(tasks, vectors)
    for rank, task in enumerate(tasks):
        parts = [vectors[other][sum(lengths[other][:rank]) : sum(lengths[other][: rank + 1])] for other in range(ranks)]
        assert results[rank][: sum(task.takes)].tobytes() == np.concatenate(parts).tobytes()


def test_no_rank_leaves_a_barrier_before_all_are_there() -> None:
    for ranks, seed in product((2, 3, 5, 8), range(20)):
        mesh = MeshRanks(ranks, seed, MeshTask("barrier", tuple(range(ranks))))
        mesh.run(None, vectors_of(ranks, 0))
        begun = [number for number, (_, event) in enumerate(mesh.events) if isinstance(event, CollectiveStarted)]
        ended = [number for number, (_, event) in enumerate(mesh.events) if isinstance(event, CollectiveCompleted)]
        assert len(begun) == ranks
        assert max(begun) < min(ended)


def test_what_one_rank_sends_another_takes_in_that_order() -> None:
    """Both sides work out the messages of a connection for themselves."""
    for operation, ranks in product(WHOLE, (2, 3, 6)):
        task = MeshTask(operation, tuple(range(ranks)), 1)
        sides = [messages_of(task, place, 900, 2 * MTU) for place in range(ranks)]
        for one, other in product(range(ranks), repeat=2):
            given_sizes = [item.stop - item.start for item in sides[one].sends.get(other, ())]
            taken_sizes = [item.stop - item.start for item in sides[other].takes.get(one, ())]
            assert given_sizes == taken_sizes


def test_places_that_several_messages_share_are_cut_alike() -> None:
    for operation, ranks in product(WHOLE, (2, 3, 6, 8)):
        for place in range(ranks):
            found = messages_of(MeshTask(operation, tuple(range(ranks)), 1), place, 997, 2 * MTU)
            read = {(item.start, item.stop) for items in found.sends.values() for item in items if item.from_result}
            filled = {(item.start, item.stop) for items in found.takes.values() for item in items if item.stop}
            spans = sorted(read | filled)
            assert all(one[1] <= other[0] for one, other in pairwise(spans))


def test_packets_of_a_job_are_known_before() -> None:
    config = mesh_config(1, 3, MeshTask("reduce_scatter", (0, 1, 2)))
    assert channel_packets(config, 0) == ()  # to rank 0
    packets = channel_packets(config, 1)  # to rank 2
    sends = messages_of(MeshTask("reduce_scatter", (0, 1, 2)), 1, config.workload.elements, 2 * MTU).sends[2]
    assert sum(packets) == sum(-(-(item.stop - item.start) // MTU) for item in sends) * config.workload.iterations
    assert channel_packets(mesh_config(1, 3), 0) == (), "what a training sends is not known"


def test_saturating_sums_are_refused() -> None:
    config = mesh_config(0, 2, MeshTask("reduce", (0, 1)), arithmetic=ArithmeticSpec("sum", "int32sat"))
    with pytest.raises(ScenarioError, match="would saturate early"):
        MeshCollective(config, MeshRanks(2).wires[0], config.phases, 1)
