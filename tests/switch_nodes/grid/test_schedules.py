"""No schedule of losses and copies makes a sum wrong over one switch of a plan."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from hashlib import sha256

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.checkers.reference_quantised import quantised_sum
from tests.support.atp_star import Star
from tests.support.grid_star import NODE, grid_program, grid_workers
from workloads.datagrams.blocks import PartialSent
from workloads.events import CollectiveCompleted, WorkerFailed
from workloads.gradients import create_source
from workloads.grid import GridConfig, NodeShare
from workloads.wire.aggregation import Datagram


@settings(max_examples=60, deadline=None, database=None)
@given(
    seed=st.integers(0, 1 << 30),
    loss=st.sampled_from((0.0, 0.02, 0.2)),
    twice=st.sampled_from((0.0, 0.1)),
    slots=st.integers(1, 6),
    capacity=st.sampled_from((1e12, 2e8, 0.0)),
    on_collision=st.sampled_from(("drop", "to_ps")),
    split=st.booleans(),
    dtype=st.sampled_from(("int32", "float32")),
)
def test_no_schedule_makes_a_sum_wrong(
    seed: int, loss: float, twice: float, slots: int, capacity: float, on_collision: str, split: bool, dtype: str
) -> None:
    """Every rank is inside every sum once, all workers have the same bits, and nothing waits for ever."""
    draw = random.Random(seed)

    def fate(sender: str, receiver: str, found: Datagram) -> Iterable[int]:
        if draw.random() < loss:
            return ()
        late = draw.choice((0, 0, 0, 30_000, 400_000))
        return (late, draw.choice((0, 1_500_000))) if draw.random() < twice else (late,)

    shares = (
        ((NodeShare(NODE, 1.0),), (NodeShare(NODE, 2.0), NodeShare(0, 1.0)), (NodeShare(NODE, 2.0), NodeShare(0, 1.0)))
        if split
        else None
    )
    workers = grid_workers(shares=shares, elements=120, iterations=2, dtype=dtype)
    program = grid_program(shares=shares, slots=slots, capacity_bps=capacity, on_collision=on_collision)
    star = Star(workers, fate=fate, program=program).run().finish()
    assert not star.told(WorkerFailed)
    assert all(contributions == (1, 1, 1) for _, _, contributions in star.sums())
    assert len({block for _, block, _ in star.sums()}) == len(star.sums())
    for event in star.told(PartialSent):
        assert list(event.contributions) == [event.bitmap >> rank & 1 for rank in range(3)]
    for iteration in range(2):
        digests = {event.sha256 for event in star.told(CollectiveCompleted) if event.iteration == iteration}
        assert digests == {expected(workers, iteration)}


def expected(workers: Sequence[GridConfig], iteration: int) -> str:
    """By the independent reference: integers wrap, floats travel as integers."""
    first = workers[0]
    dtype = first.collective.arithmetic.dtype
    gradients = [
        create_source(each.workload, each.collective.rank, len(workers), dtype).gradient(iteration).copy()
        for each in workers
    ]
    if dtype == "float32":
        total = quantised_sum(gradients, first.elements // 2)
    else:
        total = np.sum(np.stack(gradients), axis=0, dtype=np.int32)
    return sha256(total.data.cast("B")).hexdigest()
