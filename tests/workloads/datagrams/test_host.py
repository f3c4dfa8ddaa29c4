"""What every host of datagrams tells of itself."""

from __future__ import annotations

from workloads.config import WorkloadConfig
from workloads.datagrams.host import DatagramHost
from workloads.datagrams.training import Training
from workloads.events import DatagramStatistics, FrameRejected, WorkerFailed
from workloads.gradients import create_source

WORKLOAD = WorkloadConfig("synthetic", 5, 60, 1)


def host() -> DatagramHost:
    return DatagramHost(3, Training.of(WORKLOAD, create_source(WORKLOAD, 0, 8), 0, 0))


def test_what_is_refused_is_told_and_counted():
    ours = host()
    ours._reject("checksum", "it is wrong")
    ours.finish(0)
    assert ours.next_event() == FrameRejected("checksum", "it is wrong")
    told = ours.next_event()
    assert isinstance(told, DatagramStatistics)
    assert (told.job, told.rejected, told.packets_sent) == (3, 1, 0)
    assert ours.next_event() is None


def test_it_ends_as_its_training_does():
    ours = host()
    assert (ours.finished, ours.failed) == (False, False)
    ours._training.fail("why", "so")
    assert ours.failed
    assert ours.next_event() == WorkerFailed("why", "so")
