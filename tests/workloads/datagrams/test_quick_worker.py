"""What workers of blocks have in common: timers, when a packet may leave, where a sum goes, what is told."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from workloads.config import ArithmeticSpec, JobShare, WorkloadConfig
from workloads.datagrams.packet_window import PacketWindow
from workloads.datagrams.quick_worker import QuickWorker
from workloads.datagrams.training import Training
from workloads.events import CollectiveCompleted, CollectiveStarted, DatagramStatistics, FrameRejected, WorkerFailed
from workloads.gradients import create_source
from workloads.kernels import NEVER
from workloads.layers import ComputeConfig, LayerConfig
from workloads.machine import Event

LAYERS = ComputeConfig((LayerConfig(4, 10, 100), LayerConfig(16, 20, 200)))
"""20 elements: blocks of 8, 8 and 4; the first 16 are ready at 230, the rest at 330"""


class Window(PacketWindow):
    """Does what it is told."""

    def __init__(self, window: int) -> None:
        super().__init__(window)
        self.timer: int | None = None
        self.late = 0
        """packets that wait in vain"""
        self.started: list[int] = []
        self.expiries: list[int] = []

    def start(self, packets: int) -> None:
        self.missing = packets
        self.started.append(packets)

    def due(self) -> int:
        return NEVER if self.timer is None else self.timer

    def settle(self, packet: int, now: int) -> None:
        """The tests say when all are there."""

    def expire(self, now: int) -> int:
        self.expiries.append(now)
        return self.late


@dataclass(frozen=True)
class Config:
    collective: JobShare = JobShare("any", 9, 1, 3, ArithmeticSpec("sum", "float32"))
    workload: WorkloadConfig = WorkloadConfig("synthetic", 3, 20, 2, compute=LAYERS)
    elements: int = 8
    window: int = 2


INTEGERS = Config(JobShare("any", 9, 1, 3, ArithmeticSpec("sum", "int32")))


class Worker(QuickWorker):
    """A protocol without packets: the tests say what came."""


def make(config: Config = Config(), *, start_ns: int = 0, scale: float | None = None) -> tuple[Worker, Window]:
    window, share = Window(config.window), config.collective
    source = create_source(config.workload, share.rank, share.size, share.arithmetic.dtype)
    training = Training.of(config.workload, source, share.rank, start_ns)
    return Worker(share, training, window, config.elements, scale), window


def events(worker: Worker) -> list[Event]:
    told = []
    while (event := worker.next_event()) is not None:
        told.append(event)
    return told


@pytest.mark.parametrize(("timer", "due"), [(None, 280), (279, 279), (280, 280), (900, 280)])
def test_it_wakes_for_what_is_due_first(timer: int | None, due: int) -> None:
    worker, window = make(start_ns=50)
    window.timer = timer
    assert worker.get_timer() == due


def test_the_window_alone_wakes_it_when_all_is_computed() -> None:
    worker, window = make()
    worker.handle_timer(400)
    assert worker.get_timer() is None
    window.timer = 1400
    assert worker.get_timer() == 1400


@pytest.mark.parametrize(
    ("config", "scale", "packets"), [(Config(), None, 5), (INTEGERS, None, 3), (Config(), 100.0, 3)]
)
def test_an_iteration_starts_once_with_the_packets_of_its_tensor(
    config: Config, scale: float | None, packets: int
) -> None:
    """By exponents, two packets more: those of the window before the first integers."""
    worker, window = make(config, scale=scale)
    for now in (229, 230, 231):
        worker.handle_timer(now)
    assert (window.started, window.expiries) == ([packets], [229, 230, 231])
    assert events(worker) == [CollectiveStarted(0, 80, packets)]


@pytest.mark.parametrize(
    ("config", "allowed"), [(INTEGERS, [True, True, False]), (Config(), [True, True, False, True, True])]
)
def test_a_packet_leaves_when_its_block_is_computed(config: Config, allowed: list[bool]) -> None:
    """The last packets of floats have no block of which they tell first. Packets are counted over all tensors."""
    worker, window = make(config)
    window.first = 100
    assert not any(worker.may_leave(100 + own) for own in range(3))
    worker.handle_timer(230)
    assert [worker.may_leave(100 + own) for own in range(len(allowed))] == allowed
    worker.handle_timer(330)
    assert all(worker.may_leave(100 + own) for own in range(len(allowed)))


def test_of_whole_blocks_the_first_packet_behind_the_last_waits_for_nothing() -> None:
    config = Config(workload=WorkloadConfig("synthetic", 3, 16, 1))
    worker, _ = make(config, start_ns=10)
    assert [worker.may_leave(own) for own in range(4)] == [False, False, True, True]


def test_sums_go_where_their_block_is_and_let_its_layer_go_on() -> None:
    """The second layer has blocks 0 and 1, the first one block 2: the next forward pass waits for both, in that
    order."""
    worker, window = make(INTEGERS)
    worker.handle_timer(330)
    assert worker._tensor is not None
    for now, own, elements in ((400, 2, 4), (500, 0, 8), (600, 1, 8)):
        sums = np.arange(8 * own, 8 * own + elements).astype(">i4").tobytes()
        worker.put(own, 0, 0, sums, 0, elements, now)
    result = worker.result.copy()
    worker.complete(700)
    assert result.tolist() == list(range(20))
    assert worker._tensor is None, "between iterations"
    assert worker.get_timer() == 700 + min(5_000_000, (600 + 20 + 200 - 700) // 2), "its digest"
    worker.handle_timer(760)
    (told,) = [event for event in events(worker) if isinstance(event, CollectiveCompleted)]
    assert (told.iteration, told.completed_ns) == (0, 700)
    assert worker.get_timer() == 600 + 20 + 200
    assert not worker.finished
    assert window.started == [3]


def test_sums_of_floats_are_behind_their_exponents() -> None:
    """Of block k in packet k + 2: the first layer is there with packet 4, the second one with packets 2 and 3."""
    worker, _ = make()
    worker.handle_timer(330)
    tensor = worker._tensor
    assert tensor is not None
    for now, own in ((400, 0), (500, 2), (600, 4), (700, 1), (800, 3)):
        exponents, payload = tensor.payload(own)
        worker.put(own, *exponents, payload, 0, len(payload) // 4, now)
    worker.complete(1000)
    passes = worker._training._passes
    assert passes is not None
    assert (passes.forward_at, passes.backward_at) == (600, 800 + 20)


def test_what_happened_is_counted_and_told_at_the_end() -> None:
    worker, window = make(INTEGERS)
    worker.handle_timer(330)
    events(worker)
    window.late = 2
    worker.handle_timer(400)
    worker.handle_timer(500)
    worker.put(2, 0, 0, bytes(16), 0, 4, 600)
    for number in range(3):
        worker.reject("bad_result", f"packet {number}")
    worker._sent, worker._sent_again, worker._duplicates = 50, 60, 70
    assert events(worker) == [FrameRejected("bad_result", f"packet {number}") for number in range(3)]
    worker.finish(700)
    assert events(worker) == [DatagramStatistics(9, 50, 60, 1, 70, 4, 3)]


def test_a_gradient_without_integers_ends_the_job() -> None:
    worker, window = make(replace(Config(), workload=WorkloadConfig("synthetic", 3, 20, 1)), scale=1e30)
    window.timer = 500
    assert worker.get_timer() == 0
    worker.handle_timer(0)
    (told,) = events(worker)
    assert isinstance(told, WorkerFailed)
    assert (told.reason, worker.failed, worker.finished, window.started) == ("unquantisable", True, False, [])
    assert "it is no integer of 32 bits" in told.detail


def test_a_job_that_failed_wakes_no_more() -> None:
    worker, window = make()
    window.timer, window.late = 100, 1
    worker.fail("lost", "a sum")
    assert worker.get_timer() is None
    worker.handle_timer(400)
    assert (window.expiries, window.started) == ([], [])
    worker.finish(500)
    assert events(worker) == [WorkerFailed("lost", "a sum"), DatagramStatistics(9, 0, 0, 0, 0, 0, 0)]
