"""A worker that starts its job anew as ring: two of them back to back, with a network that takes all data of the first
life."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from testbed.plan import Plan
from tests.support.references import contributions, ring_fold, sha256
from tests.support.simulation import rack_plan
from workloads.config import WorkerConfig
from workloads.events import CollectiveCompleted, RcStatistics, WorkerFailed, WorkerFellBack, WorkerFinished
from workloads.fallback import FallbackWorker, create_worker
from workloads.machine import BatchMachine, Event, FrameBatch
from workloads.worker import WorkerMachine

_DATA_DSCP = 26


def plan_of(**job: Any) -> Plan:
    job = {"size_bytes": 20_000, "message_packets": 4, "iterations": 2, "fallback": "ring", **job}
    return rack_plan(2, job=job, transport={"timeout_code": 8, "retry_count": 2})


def patient(config: WorkerConfig) -> WorkerConfig:
    """Its first life tries for ever."""
    return replace(config, to_successor=replace(config.to_successor, retry_count=7, retry7_infinite=True))


def run(
    workers: list[Any], *, batched: bool, lose: Any = lambda frame: frame[15] >> 2 == _DATA_DSCP
) -> list[list[Event]]:
    """Until both have finished or one has failed, and then some; the events of each."""
    told: list[list[Event]] = [[], []]
    now = 0
    for _ in range(20_000):
        for index, worker in enumerate(workers):
            if (due := worker.get_timer()) is not None and due <= now:
                worker.handle_timer(now)
            frames = FrameBatch.of(64, 2048)
            if batched:
                worker.fill_batch(frames, now)
            else:
                for _, frame in worker.frames_to_send(now):
                    frames.append(0, frame)
                    if frames.count == frames.capacity:
                        break
            kept = FrameBatch.of(64, 2048)
            for row in range(frames.count):
                if not lose(frames.row(row)):
                    kept.append(0, frames.row(row))
            peer = workers[1 - index]
            if batched and kept.count:
                peer.receive_batch(kept, now)
            elif kept.count:
                for row in range(kept.count):
                    peer.receive_frame(0, kept.row(row), now)
        for worker, events in zip(workers, told, strict=True):
            events.extend(iter(worker.next_event, None))
        over = any(worker.failed for worker in workers) or all(worker.finished for worker in workers)
        if over and now > 200_000_000:
            return told
        now += 50_000
    raise AssertionError("no end")


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("patience", [False, True])
def test_the_job_is_done_again_as_ring(batched: bool, patience: bool) -> None:
    """With `patience` only the first worker's connection dies; the second hears of it by the ring's first packet."""
    plan = plan_of()
    configs = [plan.workers[0], patient(plan.workers[1]) if patience else plan.workers[1]]
    workers = [create_worker(config) for config in configs]
    assert all(isinstance(worker, FallbackWorker) and isinstance(worker, BatchMachine) for worker in workers)
    told = run(workers, batched=batched)
    reasons = [[event.reason for event in events if isinstance(event, WorkerFellBack)] for events in told]
    assert reasons[0] == ["RETRY_EXC"]
    assert reasons[1] in ([["peer"]] if patience else [["RETRY_EXC"], ["peer"]])
    for events in told:
        assert [event.sha256 for event in events if isinstance(event, CollectiveCompleted)] == [
            sha256(ring_fold(contributions(plan, iteration), "sum", "float32")) for iteration in range(2)
        ]
        assert sum(isinstance(event, WorkerFinished) for event in events) == 1
        assert not [event for event in events if isinstance(event, WorkerFailed)]
        assert sum(isinstance(event, RcStatistics) for event in events) == 2  # of the first life's queue pairs
    for worker in workers:
        worker.finish(0)
        assert sum(isinstance(event, RcStatistics) for event in iter(worker.next_event, None)) == 2


def test_a_worker_that_had_finished_takes_part_again() -> None:
    """Back to back, a worker's contributions are the other's results; here the second worker's last ACK never comes."""
    plan = plan_of(iterations=1)
    workers = [create_worker(plan.workers[0]), create_worker(plan.workers[1])]
    sent_to = plan.workers[1].to_successor

    def lose(frame: memoryview) -> bool:
        """ACKs of the second worker's data, in the first life."""
        return bytes(frame[47:50]) == sent_to.qpn.to_bytes(3, "big")

    told = run(workers, batched=False, lose=lose)
    finished = [sum(isinstance(event, WorkerFinished) for event in events) for events in told]
    assert finished[1] == 1
    assert [[event.reason for event in events if isinstance(event, WorkerFellBack)] for events in told] == [
        ["peer"], ["RETRY_EXC"],
    ]  # fmt: skip
    last = [[event for event in events if isinstance(event, CollectiveCompleted)][-1].sha256 for events in told]
    assert last == [sha256(ring_fold(contributions(plan, 0), "sum", "float32"))] * 2


def test_a_dead_ring_is_the_end() -> None:
    told = run([create_worker(config) for config in plan_of().workers], batched=False, lose=lambda frame: True)
    for events in told:
        assert [event.reason for event in events if isinstance(event, WorkerFellBack | WorkerFailed)] == [
            "RETRY_EXC"
        ] * 2
        assert isinstance(events[-1], WorkerFailed) or any(isinstance(event, WorkerFailed) for event in events)


def test_a_wrong_result_ends_the_job() -> None:
    """Only a dead path is a reason to go on without the network."""
    plan = plan_of()
    spoilt = replace(plan.workers[1], collective=replace(plan.workers[1].collective, ring_id=9))
    told = run([create_worker(plan.workers[0]), create_worker(spoilt)], batched=False, lose=lambda frame: False)
    assert {event.reason for events in told for event in events if isinstance(event, WorkerFailed)} == {"bad_result"}
    assert not [event for events in told for event in events if isinstance(event, WorkerFellBack)]


@pytest.mark.parametrize("batched", [False, True])
def test_only_a_whole_packet_from_a_neighbour_makes_a_worker_fall_back(batched: bool) -> None:
    plan = plan_of()
    first, second = plan.workers
    assert first.fallback is not None
    ring = create_worker(first.fallback)
    ring.handle_timer(0)
    frame = next(bytes(frame) for _, frame in ring.frames_to_send(0))
    damaged = frame[:-1] + bytes((frame[-1] ^ 1,))
    stranger = frame[:26] + bytes((10, 0, 0, 9)) + frame[30:]
    other = frame[:36] + b"\x12\x34" + frame[38:]
    for data, falls in ((damaged, False), (stranger, False), (other, False), (frame[:50], False), (frame, True)):
        worker = create_worker(second)
        if batched:
            batch = FrameBatch.of(1, 2048)
            batch.append(0, data)
            worker.receive_batch(batch, 0)
        else:
            worker.receive_frame(0, data, 0)
        assert any(isinstance(event, WorkerFellBack) for event in iter(worker.next_event, None)) == falls


def test_who_is_made() -> None:
    worker = plan_of().workers[0]
    assert type(create_worker(replace(worker, fallback=None))) is WorkerMachine
    assert worker.fallback is not None
    again = worker.reborn(2)
    assert again.fallback is not None
    numbers = {qp.qpn for config in (worker, worker.fallback, again, again.fallback)
               for qp in (config.to_successor, config.from_predecessor)}  # fmt: skip
    assert len(numbers) == 8
    assert worker.fallback.collective.kind == "ring"
    assert {worker.fallback.to_successor.envelope.tos, worker.fallback.from_predecessor.envelope.tos} == {2}
