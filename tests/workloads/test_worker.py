"""Two workers back to back: each one's successor and predecessor is the other, a switch is not needed (ring shift)."""

import numpy as np
import pytest

from tests.support.references import contributions, ring_fold, sha256
from tests.support.simulation import rack_plan
from workloads.events import CollectiveCompleted, QpFailed, RcStatistics, WorkerFailed, WorkerFinished
from workloads.gradients import create_source
from workloads.machine import BatchMachine, FrameBatch
from workloads.worker import WorkerMachine


def make(**options):
    transport = options.pop("transport", {})
    plan = rack_plan(
        2, job={"protocol": "shift", "size_bytes": 20_000, "message_packets": 4, **options}, transport=transport
    )
    workers = []
    for config in plan.workers:
        c = config.collective
        workers.append(WorkerMachine(config, create_source(config.workload, c.rank, c.size, c.arithmetic.dtype)))
    return plan, workers


def exchange(workers, *, batched=False, now=0, lose=lambda frame: False, rounds=2000):
    """Frames go to and fro, and timers come, until nothing is left to do; returns the time."""
    for _ in range(rounds):
        moved = False
        for index, worker in enumerate(workers):
            due = worker.get_timer()
            if due is not None and due <= now:
                worker.handle_timer(now)
                moved = True
            if batched:
                batch = FrameBatch.of(64, 2048)
                worker.fill_batch(batch, now)
                frames = [bytes(batch.row(row)) for row in range(batch.count)]
            else:
                frames = [bytes(frame) for _, frame in worker.frames_to_send(now)]
            frames = [frame for frame in frames if not lose(frame)]
            moved = moved or bool(frames)
            peer = workers[1 - index]
            if batched and frames:
                batch = FrameBatch.of(len(frames), 2048)
                for frame in frames:
                    batch.append(0, frame)
                peer.receive_batch(batch, now)
            else:
                for frame in frames:
                    peer.receive_frame(0, frame, now)
        now += 1000
        if not moved:
            due = [at for worker in workers if (at := worker.get_timer()) is not None]
            if not due:
                return now
            now = max(now, min(due))
    raise AssertionError("no end")


def events(worker, kind=object):
    found = []
    while (event := worker.next_event()) is not None:
        found.append(event)
    return [event for event in found if isinstance(event, kind)]


@pytest.mark.parametrize("batched", [False, True])
def test_a_job_of_three_iterations(batched):
    plan, workers = make(iterations=3)
    exchange(workers, batched=batched)
    for rank, worker in enumerate(workers):
        assert worker.finished
        assert not worker.failed
        told = events(worker)
        done = [event for event in told if isinstance(event, CollectiveCompleted)]
        assert [event.iteration for event in done] == [0, 1, 2]
        assert [event.sha256 for event in done] == [sha256(contributions(plan, i)[1 - rank]) for i in range(3)]
        assert isinstance(told[-1], WorkerFinished)
        worker.finish(0)
        assert [type(event) for event in events(worker)] == [RcStatistics] * 2


def test_a_ring_of_two():
    plan, workers = make(protocol="ring")
    exchange(workers)
    expected = sha256(ring_fold(contributions(plan, 0), "sum", "float32"))
    assert [events(worker, CollectiveCompleted)[0].sha256 for worker in workers] == [expected] * 2


def test_it_offers_the_batch_verbs():
    assert isinstance(make()[1][0], BatchMachine)


def test_nothing_leaves_before_the_first_timer():
    worker = make()[1][0]
    assert list(worker.frames_to_send(5)) == []
    assert worker.get_timer() <= 0
    worker.handle_timer(7_000)
    assert list(worker.frames_to_send(7_000))


def test_a_peer_that_starts_first_finds_receives_posted():
    workers = make()[1]
    workers[0].handle_timer(0)
    for _, frame in workers[0].frames_to_send(0):
        workers[1].receive_frame(0, bytes(frame), 0)
    kinds = {type(event).__name__ for event in events(workers[1])}
    assert "RnrNakSent" not in kinds
    assert "MessageReceived" in kinds


def test_a_finished_worker_still_answers():
    workers = make()[1]
    seen = []
    exchange(workers, lose=lambda frame: bool(seen.append(frame)))
    assert workers[1].finished
    data = next(frame for frame in seen if frame[42] in (0x0A, 0x0B) and frame[30:34] == seen_ip(workers[1]))
    workers[1].receive_frame(0, data, 10**9)
    answers = [bytes(frame) for _, frame in workers[1].frames_to_send(10**9)]
    assert [frame[42] for frame in answers] == [0x11]


def seen_ip(worker):
    return worker._config.to_successor.envelope.src_ip


def test_a_failed_queue_pair_fails_the_worker_once_with_its_reason():
    workers = make(transport={"timeout_code": 1, "retry_count": 2})[1]
    worker, now = workers[0], 0
    worker.handle_timer(0)
    while list(worker.frames_to_send(now)):
        now = worker.get_timer()
        worker.handle_timer(now)
    told = events(worker)
    (failed,) = [event for event in told if isinstance(event, WorkerFailed)]
    (qp,) = [event for event in told if isinstance(event, QpFailed)]
    assert (failed.reason, failed.detail) == (qp.status, qp.detail) == ("RETRY_EXC", qp.detail)
    assert worker.failed
    assert not worker.finished
    assert list(worker.frames_to_send(now)) == []


def test_a_worker_holds_its_gradient_and_one_result_only():
    import tracemalloc

    plan = rack_plan(2, job={"protocol": "netreduce", "size_bytes": 8_000_000})
    tracemalloc.start()
    config = plan.workers[0]
    worker = WorkerMachine(config, create_source(config.workload, 0, 2))
    worker.handle_timer(0)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 2.2 * 8_000_000
    assert peak < 2.5 * 8_000_000
    assert np.prod(worker._result.shape) == 2_000_000


@pytest.mark.parametrize(("protocol", "is_one"), [("ring", True), ("shift", False)])
def test_a_ring_needs_one_memory_for_gradient_and_result(protocol, is_one):
    _, workers = make(protocol=protocol)
    source = create_source(workers[0]._config.workload, 0, 2)
    assert np.shares_memory(workers[0]._gradient, workers[0]._result) == is_one
    assert workers[0]._gradient.tobytes() == source.gradient(0).tobytes()
