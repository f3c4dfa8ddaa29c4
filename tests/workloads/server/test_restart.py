"""A parameter server that starts anew has lost every sum: it asks for what it lost, or the job ends and says what is
lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.atp_star import Star, aggregating, atp_workers
from tests.support.left_out import present
from tests.workloads.server.test_star import expected, hostile
from workloads.datagrams.blocks import BlockLost, ServerStatistics
from workloads.events import CollectiveCompleted, DatagramResent, WorkerFailed, WorkerFinished
from workloads.wire.aggregation import Datagram, DatagramFlag, DatagramKind


def run_with_restarts(star: Star, steps: list[int], restart) -> None:
    """`restart` after so many more frames each."""
    for step in steps:
        goal = star.frames + step
        star.run(lambda goal=goal: star.settled or star.frames >= goal)
        if star.settled:
            break
        restart(star)
    star.run()


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 1 << 30),
    kind=st.sampled_from(present(["atp", "esa"])),
    sums=st.booleans(),
    workers=st.integers(1, 4),
    window=st.integers(1, 5),
    loss=st.sampled_from([0.0, 0.1, 0.3]),
    steps=st.lists(st.integers(0, 150), min_size=1, max_size=4),
)
def test_the_job_ends_with_the_right_sums(seed, kind, sums, workers, window, loss, steps) -> None:
    job = atp_workers(workers, kind=kind, window=window, iterations=2, elements=90)
    star = Star(job, fate=hostile(seed, loss, 0.05, 4), program=aggregating(kind) if sums else None)
    run_with_restarts(star, steps, Star.restart_server)
    assert not star.told(WorkerFailed)
    for worker in job:
        assert star.told(WorkerFinished, worker.name)
        digests = {event.iteration: event.sha256 for event in star.told(CollectiveCompleted, worker.name)}
        assert digests == {number: expected(job, number) for number in range(2)}


@pytest.mark.parametrize("window", [1, 4])
def test_an_entry_that_moved_for_one_worker_only_is_moved_again(window: int) -> None:
    """The server dies with the result that h3 has and h4 lacks, and which moved the entry: h4 gets the sum through h3,
    without the move. What both send then meets in no slot of the switch, until the server moves both."""
    short = atp_workers(2, job=7, elements=8 * window, window=window, memory=window + 2)
    long = atp_workers(2, job=9, elements=8 * 60, window=window, memory=window + 2, first_host=2)
    moving: list[int] = []

    def fate(sender: str, receiver: str, found: Datagram):
        header = found.header
        if (
            (header.kind, header.job) == (DatagramKind.RESULT, 9)
            and header.flags & DatagramFlag.COLLISION
            and not star.lives
        ):
            moving.append(header.sequence)
            return () if header.sequence == moving[0] and receiver == "h4" else (0,)
        return (0,)

    star = Star(short, long, fate=fate, program=aggregating("atp"))
    star.run(lambda: bool(moving) and star.workers["h3"]._window.base >= moving[0])
    star.restart_server()
    star.run().finish()
    assert all(star.told(WorkerFinished, name) for name in star.workers)
    assert list(star.workers["h3"]._slots._slots) == list(star.workers["h4"]._slots._slots)
    assert len([event for event in star.told(DatagramResent) if event.job == 9]) < 20


def test_a_result_that_one_worker_has_is_given_to_the_others_through_the_server() -> None:
    """h1 alone gets the first result, then the server dies with it."""
    job, died = atp_workers(3, window=1, elements=24), []

    def fate(sender: str, receiver: str, found: Datagram):
        lost = found.header.kind == DatagramKind.RESULT and receiver in ("h2", "h3") and not died
        return () if lost else (0,)

    star = Star(job, fate=fate)
    star.run(lambda: star.workers["h1"]._window.base == 1)
    died.append(star.restart_server())
    star.run().finish()
    assert all(star.told(WorkerFinished, name) for name in star.workers)
    (told,) = star.told(ServerStatistics, "ps")
    assert told.nacks > 0, "the server asked"
    assert not star.told(BlockLost)
    (first, *_) = [block for _, block, contributions in star.sums() if contributions == (1, 1, 1)]
    assert first == 0


def test_a_worker_that_starts_anew_catches_up_while_the_server_has_all() -> None:
    job = atp_workers(2, window=4, elements=60)
    star = Star(job, fate=lambda sender, receiver, found: (0, 0) if found.header.sequence % 3 == 1 else (0,))
    star.run(lambda: star.workers["h2"]._window.base == 3)
    star.restart_worker("h2")
    star.run()
    assert not star.told(WorkerFailed)
    assert {event.sha256 for event in star.told(CollectiveCompleted)} == {expected(job, 0)}


def test_a_worker_that_starts_anew_too_late_is_told_that_sums_are_gone() -> None:
    job = atp_workers(2, window=2, elements=200)
    star = Star(job)
    star.run(lambda: star.workers["h2"]._window.base == 12)
    star.restart_worker("h2")
    star.run(lambda: star.workers["h2"].failed)
    (failed,) = star.told(WorkerFailed, "h2")
    assert failed.reason == "lost"
    assert failed.detail == "packet 1 of job 7: the parameter server no longer has its sum, others do"
    assert not star.told(BlockLost), "the sum was made, and nobody else waits for it"


def test_when_server_and_worker_have_lost_it_the_job_ends() -> None:
    """h1 alone had the result; it starts anew like the server, so that nobody can ever sum block 0 ... except h1
    itself, who asks for it from the beginning and contributes once more."""
    job, died = atp_workers(3, window=1, elements=24), []

    def fate(sender: str, receiver: str, found: Datagram):
        lost = found.header.kind == DatagramKind.RESULT and receiver in ("h2", "h3") and not died
        return () if lost else (0,)

    star = Star(job, fate=fate)
    star.run(lambda: star.workers["h1"]._window.base == 1)
    died.append(star.restart_server())
    star.restart_worker("h1")
    star.run()
    assert not star.told(WorkerFailed), "a gradient is the same the second time"
    assert {event.sha256 for event in star.told(CollectiveCompleted)} == {expected(job, 0)}
