"""What every host of datagrams on the compiled path tells of itself, and when it wakes."""

from __future__ import annotations

from workloads.config import JobShare, WorkloadConfig
from workloads.datagrams.quick_host import QuickHost
from workloads.datagrams.training import Training
from workloads.events import CollectiveCompleted, DatagramStatistics, FrameRejected, WorkerFailed
from workloads.gradients import create_source

WORKLOAD = WorkloadConfig("synthetic", 5, 60, 2)


class Host(QuickHost):
    """Its packets are late from 500 on; the result of an iteration is there at once."""

    begun = 0

    def packets_due(self) -> int:
        return 500

    def expire(self, now: int) -> int:
        return 3 if now >= 500 else 0

    def begin(self, now: int) -> None:
        self.begun += 1
        self.complete(now)

    def take(self, port: int, frame: bytes, now: int) -> None:
        self.reject("unexpected", f"{len(frame)} bytes")


def host(start_ns: int = 0) -> Host:
    share = JobShare("any", 3, 0, 8)
    return Host(share, Training.of(WORKLOAD, create_source(WORKLOAD, 0, 8), 0, start_ns))


def test_what_is_refused_is_told_and_counted() -> None:
    ours = host()
    ours.receive_frame(0, bytearray(7), 0)
    ours.finish(0)
    assert ours.next_event() == FrameRejected("unexpected", "7 bytes")
    told = ours.next_event()
    assert isinstance(told, DatagramStatistics)
    assert (told.job, told.rejected, told.packets_sent) == (3, 1, 0)
    assert ours.next_event() is None


def test_it_ends_as_its_training_does() -> None:
    ours = host()
    assert (ours.finished, ours.failed, ours.get_timer()) == (False, False, 0)
    ours.fail("why", "so")
    assert ours.failed
    assert ours.next_event() == WorkerFailed("why", "so")
    assert ours.get_timer() is None, "not even for its packets"
    ours.handle_timer(600)
    assert (ours.begun, ours._timeouts) == (0, 0)


def test_it_wakes_for_what_is_due_first_and_begins_each_iteration_once() -> None:
    ours = host(50)
    assert ours.get_timer() == 50
    ours.handle_timer(50)
    assert ours.begun == 1
    while (due := ours.get_timer()) is not None and due < 500:
        ours.handle_timer(due)
    ours.handle_timer(2**40)
    ours.handle_timer(2**40 + 1)
    ours.handle_timer(2**41)
    assert (ours.begun, ours._timeouts) == (2, 9)
    assert ours.quick is ours
    done = [event for event in iter(ours.next_event, None) if isinstance(event, CollectiveCompleted)]
    assert [event.iteration for event in done] == [0, 1]
