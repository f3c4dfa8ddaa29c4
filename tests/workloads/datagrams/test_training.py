"""The life of a worker: what is due when, with and without layers."""

from dataclasses import replace

import numpy as np
import pytest

from workloads.config import WorkloadConfig
from workloads.datagrams.compute import LayerCompute
from workloads.datagrams.training import Training, longest_digest_delay_ns
from workloads.events import CollectiveCompleted, GradientComputed, TrainingProgress, WorkerFailed, WorkerFinished
from workloads.gradients import create_source
from workloads.layers import ComputeConfig, LayerConfig

COMPUTE = ComputeConfig((LayerConfig(10, 1, 100), LayerConfig(20, 2, 200), LayerConfig(30, 4, 400)))
WORKLOAD = WorkloadConfig("synthetic", 5, 60, 2, compute=COMPUTE)


def training(workload: WorkloadConfig = WORKLOAD, start_ns: int = 0, rank: int = 0) -> Training:
    return Training.of(workload, create_source(workload, rank, 8), rank, start_ns)


def due(life: Training) -> tuple[int, bool, int]:
    """(when, whether it starts the iteration, elements that are ready then)"""
    at = life.get_timer()
    assert at is not None
    life.handle_timer(at - 1)
    assert life.get_timer() == at, "too early does nothing"
    return at, life.handle_timer(at), life.ready


def test_without_layers_all_is_ready_at_once():
    life = training(WorkloadConfig("synthetic", 5, 60, 1, straggle_ns=7, arrival_ns=1000), start_ns=50)
    assert not life.handle_timer(1056)
    assert life.ready == 0
    assert due(life) == (1057, True, 60)
    assert life.get_timer() is None


def test_gradients_become_ready_from_the_last_layer_to_the_first():
    life = training()
    assert [due(life) for _ in range(3)] == [(407, True, 30), (607, False, 50), (707, False, 60)]
    assert life.get_timer() is None
    assert life.events.pop() == GradientComputed(0, 0, 7, 707)


def test_a_late_wake_up_changes_no_time():
    life = training()
    assert life.handle_timer(650)
    assert life.ready == 50
    assert due(life) == (707, False, 60)


def test_the_next_forward_pass_waits_for_results_layer_by_layer():
    life = training()
    while life.get_timer() is not None:
        due(life)
    life.deliver(30, 30, 1000)
    life.deliver(0, 30, 3000)
    life.complete(3000)
    assert life.ready == 60
    assert due(life) == (3000, False, 0)  # the digest
    assert due(life) == (3000 + 4 + 400, True, 30)
    assert [due(life)[0], due(life)[0]] == [3604, 3704]
    assert life.events.pop() == GradientComputed(1, 1000, 3004, 3704)


def test_it_ends_with_the_last_result_whatever_is_computed():
    life = training(WorkloadConfig("synthetic", 5, 60, 1, compute=COMPUTE))
    while life.get_timer() is not None:
        due(life)
    life.result[:] = np.arange(60)
    life.complete(900)
    assert due(life)[0] > 900
    completed, finished = list(life.events)[-2:]
    assert isinstance(completed, CollectiveCompleted)
    assert completed.completed_ns == 900
    assert finished == WorkerFinished(1)
    assert life.get_timer() is None


def test_peers_take_turns_with_their_digests_while_they_compute():
    layers = ComputeConfig((LayerConfig(60, 10_000_000, 40_000_000),))
    lives = [training(replace(WORKLOAD, compute=layers), rank=rank) for rank in range(7)]
    for life in lives:
        assert due(life) == (50_000_000, True, 60)
        life.complete(60_000_000)
    assert [due(life)[0] for life in lives] == [60_000_000 + late * 5_000_000 for late in (0, 1, 2, 3, 4, 5, 5)]
    assert {due(life) for life in lives} == {(110_000_000, True, 60)}, "nothing becomes ready later"
    for life in lives:
        life.complete(200_000_000)
    assert [due(life)[0] for life in lives] == [300_000_000 + rank * 5_000_000 for rank in range(7)]
    assert max(life.events[-2].completed_ns for life in lives) == 200_000_000
    assert 130_000_000 <= longest_digest_delay_ns(7) <= 140_000_000


def test_who_does_not_compute_has_no_turn():
    life = training(WorkloadConfig("synthetic", 5, 60, 2), rank=3)
    due(life)
    life.complete(900)
    assert due(life)[0] == 900


def test_a_failed_job_computes_no_more():
    life = training()
    due(life)
    life.fail("bad_result", "")
    assert life.get_timer() is None


def test_a_job_that_failed_before_its_start_never_starts():
    life = training(WorkloadConfig("synthetic", 5, 60, 1))
    life.fail("lost", "a sum")
    assert life.get_timer() is None
    assert not life.handle_timer(10)


def test_a_result_that_was_whole_before_the_job_failed_is_not_told():
    life = training(WorkloadConfig("synthetic", 5, 60, 2))
    due(life)
    life.complete(900)
    life.fail("lost", "a sum")
    assert not life.handle_timer(10**9)
    assert list(life.events) == [WorkerFailed("lost", "a sum")]


def test_a_job_fails_once_and_not_after_its_end():
    life = training()
    life.fail("lost", "a sum")
    life.fail("overflow", "another one")
    assert list(life.events) == [WorkerFailed("lost", "a sum")]
    over = training(WorkloadConfig("synthetic", 5, 60, 1))
    due(over)
    assert not over.finished
    over.complete(900)
    due(over)
    over.fail("lost", "a sum")
    assert (over.finished, over.failed) == (True, False)
    assert not any(isinstance(event, WorkerFailed) for event in over.events)


def test_each_iteration_has_its_own_gradient_and_starts_in_a_wake_up_after_the_digest():
    workload = WorkloadConfig("synthetic", 5, 60, 3)
    life, source = training(workload), create_source(workload, 0, 8)
    for number in range(3):
        assert life.iteration == number
        assert life.gradient.tobytes() == source.gradient(number).tobytes()
        assert due(life) == (number * 100, True, 60)
        life.complete(number * 100 + 100)
        _, starts, ready = due(life)
        assert (starts, ready) == (False, 60 if number == 2 else 0)
    assert life.finished


def test_times_of_layers_are_those_of_their_iteration():
    jittery = replace(WORKLOAD, compute=replace(COMPUTE, jitter=0.9))
    life, hand = training(jittery), LayerCompute(jittery.compute, 5, 0)
    assert hand.passes(0, 0).ready == tuple((at, ready) for at, _, ready in (due(life) for _ in range(3)))
    life.complete(3000)
    hand.deliver_rest(3000)
    due(life)
    assert hand.passes(1, 0).ready == tuple((at, ready) for at, _, ready in (due(life) for _ in range(3)))


def test_what_a_model_learned_is_told_behind_the_result():
    class Learns:
        iterations, elements, dtype = 1, 4, np.dtype("<f4")

        def gradient(self, iteration):
            return np.ones(4, "<f4")

        def apply(self, iteration, total):
            return TrainingProgress(iteration, float(total.sum()), 0.5)

    life = Training(Learns(), rank=0, start_ns=0, straggle_ns=0)
    due(life)
    life.result[:] = 2
    life.complete(10)
    due(life)
    assert list(life.events)[1:] == [TrainingProgress(0, 8.0, 0.5), WorkerFinished(1)]


def test_layers_are_those_of_the_gradient():
    with pytest.raises(ValueError, match="layers of 60 elements, a gradient of 61"):
        training(WorkloadConfig("synthetic", 5, 61, 1, compute=COMPUTE))


def test_a_worker_that_tells_no_single_results():
    source = create_source(WORKLOAD, 0, 2)
    life = Training(source, rank=0, start_ns=0, straggle_ns=0, compute=LayerCompute(COMPUTE, 5, 0))
    while life.get_timer() is not None:
        due(life)
    life.complete(3000)
    due(life)
    assert due(life)[0] == 3000 + 7 + 400
