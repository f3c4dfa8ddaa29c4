"""Workers and their server where no switch sums: everything is merged at the server, whatever the network does."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.checkers.reference_quantised import quantised_sum
from tests.support.atp_star import HOP_NS, Fate, Star, aggregating, atp_workers
from tests.support.left_out import present
from workloads.atp import AtpConfig
from workloads.datagrams.blocks import BlockSummed, ContributionIgnored
from workloads.events import CollectiveCompleted, DatagramResent, WorkerFailed, WorkerFinished
from workloads.gradients import create_source
from workloads.wire.aggregation import Datagram, DatagramFlag, DatagramKind


def expected(job: tuple[AtpConfig, ...], iteration: int) -> str:
    first = job[0]
    arithmetic = first.collective.arithmetic
    gradients = [
        create_source(w.workload, w.collective.rank, len(job), arithmetic.dtype).gradient(iteration).copy() for w in job
    ]
    return sha256(quantised_sum(gradients, first.elements // 2).data.cast("B")).hexdigest()


def assert_right(star: Star, *jobs: tuple[AtpConfig, ...]) -> None:
    """Every worker finished with the right bits; every block was summed once, of every rank once."""
    assert not star.told(WorkerFailed)
    for job in jobs:
        for worker in job:
            assert star.told(WorkerFinished, worker.name)
            digests = {event.iteration: event.sha256 for event in star.told(CollectiveCompleted, worker.name)}
            assert digests == {number: expected(job, number) for number in range(worker.workload.iterations)}
        own = [event for event in star.told(BlockSummed, "ps") if event.job == job[0].group]
        assert Counter(event.block for event in own).most_common(1)[0][1] == 1
        assert {event.contributions for event in own} == {(1,) * len(job)}


def hostile(seed: int, loss: float, duplicate: float, reorder: int) -> Fate:
    draw = random.Random(seed)

    def fate(sender: str, receiver: str, found: Datagram) -> Iterable[int]:
        copies = 1 + (draw.random() < duplicate)
        return [draw.randrange(reorder + 1) * HOP_NS for _ in range(copies) if draw.random() >= loss]

    return fate


@pytest.mark.parametrize("kind", ["atp", "esa"])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_without_faults_every_packet_leaves_once(kind: str, dtype: str) -> None:
    job = atp_workers(kind=kind, dtype=dtype, iterations=3, elements=70)
    star = Star(job).run()
    assert_right(star, job)
    assert not star.told(DatagramResent)
    assert not star.told(ContributionIgnored)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1 << 30),
    kind=st.sampled_from(present(["atp", "esa"])),
    workers=st.integers(1, 5),
    window=st.integers(1, 6),
    dtype=st.sampled_from(["int32", "float32"]),
    loss=st.sampled_from([0.0, 0.05, 0.3]),
    duplicate=st.sampled_from([0.0, 0.1]),
    reorder=st.integers(0, 8),
    aimd=st.booleans(),
)
def test_any_loss_duplication_and_order(seed, kind, workers, window, dtype, loss, duplicate, reorder, aimd) -> None:
    job = atp_workers(
        workers, kind=kind, window=window, dtype=dtype, iterations=2, elements=8 * (seed % 9) + 5, aimd=aimd
    )
    star = Star(job, fate=hostile(seed, loss, duplicate, reorder)).run()
    assert_right(star, job)


def test_two_jobs_of_one_server_do_not_meet() -> None:
    one = atp_workers(2, job=1, iterations=2)
    other = atp_workers(3, job=2, kind="esa", first_host=2, dtype="float32", elements=77)
    star = Star(one, other, fate=hostile(4, 0.1, 0.05, 4)).run()
    assert_right(star, one, other)
    assert {job for job, _, _ in star.sums()} == {1, 2}


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1 << 30),
    kind=st.sampled_from(present(["atp", "esa"])),
    workers=st.integers(1, 5),
    window=st.integers(1, 6),
    memory=st.integers(1, 12),
    dtype=st.sampled_from(["int32", "float32"]),
    loss=st.sampled_from([0.0, 0.05, 0.3]),
    duplicate=st.sampled_from([0.0, 0.1]),
    reorder=st.integers(0, 8),
    free=st.sampled_from(["early", "ack"]),
    ps_copy=st.booleans(),
    reminder=st.booleans(),
)
def test_with_a_switch_that_sums(
    seed, kind, workers, window, memory, dtype, loss, duplicate, reorder, free, ps_copy, reminder
) -> None:
    more = {"window": window, "memory": memory, "dtype": dtype, "iterations": 2, "kind": kind}
    one = atp_workers(workers, job=1, elements=8 * (seed % 9) + 5, priority="comm", **more)
    other = atp_workers(2, job=2, elements=8 * (seed % 7) + 3, first_host=workers, priority="las", **more)
    # without reminders somebody may wait for a result that only a worker has: the server must have copies, and get them
    # all
    safe = kind == "atp" or free == "ack" or reminder
    knobs = {"free": free, "ps_copy": ps_copy, "reminder": reminder} if kind == "esa" and safe else {}
    remind = kind == "esa" and knobs.get("reminder", True)
    star = Star(
        one, other, fate=hostile(seed, loss, duplicate, reorder), program=aggregating(kind, **knobs), remind=remind
    ).run()
    assert not star.told(WorkerFailed)
    for job in (one, other):
        for worker in job:
            digests = {event.iteration: event.sha256 for event in star.told(CollectiveCompleted, worker.name)}
            assert digests == {number: expected(job, number) for number in range(2)}


def trace(kind: str, seed: int, **knobs: object) -> list[tuple[object, ...]]:
    """Every frame of a job, but for the number of its policy."""
    seen: list[tuple[object, ...]] = []
    fate, draw = hostile(seed, 0.1, 0.05, 4), random.Random(seed)
    job = atp_workers(
        3, kind=kind, iterations=2, elements=90, memory=draw.randrange(2, 9), dtype="float32", priority="equal"
    )
    other = atp_workers(2, job=8, kind=kind, elements=70, memory=job[0].memory, first_host=3, priority="equal")

    def watched(sender: str, receiver: str, found: Datagram) -> Iterable[int]:
        seen.append((star.now, sender, receiver, found.dst_ip, found.header._replace(policy=0), bytes(found.payload)))
        return fate(sender, receiver, found)

    star = Star(job, other, fate=watched, program=aggregating(kind, **knobs), remind=False)
    star.run()
    assert_right(star, job, other)
    return seen


@pytest.mark.parametrize("seed", range(4))
def test_esa_without_its_additions_is_atp_packet_for_packet(seed: int) -> None:
    esa = trace("esa", seed, age="none", free="ack", reminder=False)
    assert esa == trace("atp", seed)
    assert len(esa) > 300


def test_an_entry_that_moved_for_one_worker_only_is_moved_again_without_a_restart() -> None:
    """ESA: the server moves an entry, one worker misses that, and late copies of the same block complete in the switch,
    which gives that worker the sum without the move."""
    short = atp_workers(2, kind="esa", job=7, elements=8, window=1, memory=3)
    long = atp_workers(2, kind="esa", job=9, elements=8 * 60, window=1, memory=3, first_host=2)

    def fate(sender: str, receiver: str, found: Datagram):
        header = found.header
        if sender == "h2":
            return (200_000,)  # job 7 holds the slot that long
        if sender in ("h3", "h4") and (header.sequence, header.kind) == (1, DatagramKind.DATA):
            return (0, 400_000)
        moves = header.kind == DatagramKind.RESULT and header.flags & DatagramFlag.COLLISION
        return () if moves and (header.sequence, sender, receiver) == (1, "s1", "h4") else (0,)

    star = Star(short, long, fate=fate, program=aggregating("esa")).run().finish()
    assert list(star.workers["h3"]._slots._slots) == list(star.workers["h4"]._slots._slots)
    assert len([event for event in star.told(DatagramResent) if event.job == 9]) < 20
