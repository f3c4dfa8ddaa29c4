"""What hosts that send datagrams have in common, whatever their packets say: the iterations of a training, counters,
and events in the order of time."""

from __future__ import annotations

from collections import Counter

from workloads.datagrams.training import Training
from workloads.events import DatagramStatistics, FrameRejected
from workloads.gradients import Vector
from workloads.machine import Event

__all__ = ["DatagramHost"]

_COUNTERS = (
    "packets_sent", "packets_retransmitted", "results_received", "duplicates_received", "timeouts", "rejected",
)  # fmt: skip
"""in the order of `DatagramStatistics`"""


class DatagramHost:
    """The lesser part of a Machine."""

    def __init__(self, job: int, training: Training) -> None:
        self._job, self._training = job, training
        self._counts: Counter[str] = Counter()
        self._events = training.events

    @property
    def finished(self) -> bool:
        """All iterations are complete."""
        return self._training.finished

    @property
    def result(self) -> Vector:
        """Of the current iteration, or the last one until the next begins."""
        return self._training.result

    @property
    def failed(self) -> bool:
        """The job cannot go on."""
        return self._training.failed

    def next_event(self) -> Event | None:
        return self._events.popleft() if self._events else None

    def finish(self, now: int) -> None:
        self._events.append(DatagramStatistics(self._job, *(self._counts[name] for name in _COUNTERS)))

    def _reject(self, reason: str, detail: str) -> None:
        self._counts["rejected"] += 1
        self._events.append(FrameRejected(reason, detail))
