"""What donors and the newcomer have in common: iterations, counters, and what their frames are."""

from __future__ import annotations

from collections import Counter

from workloads.datagrams.problems import refuse
from workloads.datagrams.training import Training
from workloads.events import DatagramStatistics, FrameRejected
from workloads.machine import Buffer, Event
from workloads.repair.checks import problems_in_host
from workloads.repair.config import RepairConfig
from workloads.repair.stored import StoredSource
from workloads.wire.aggregation import Datagram, DatagramError, Policy, decode_datagram

__all__ = ["RepairHost"]

_COUNTERS = (
    "packets_sent", "packets_retransmitted", "results_received", "duplicates_received", "timeouts", "rejected",
)  # fmt: skip


class RepairHost:
    """Raises ScenarioError for a configuration that cannot be."""

    def __init__(self, config: RepairConfig, *, start_ns: int = 0) -> None:
        refuse(problems_in_host(config), owner=f"host {config.name}")
        self._config, self._code = config, config.share.code
        self._job = config.collective.job
        self._training = Training.of(config.workload, StoredSource(config), config.collective.rank, start_ns)
        self._first_block = 0
        """of the iteration that runs or comes next"""
        self._counts: Counter[str] = Counter()
        self._events = self._training.events

    @property
    def finished(self) -> bool:
        """All iterations are complete."""
        return self._training.finished

    @property
    def failed(self) -> bool:
        """The job cannot go on."""
        return self._training.failed

    def next_event(self) -> Event | None:
        return self._events.popleft() if self._events else None

    def finish(self, now: int) -> None:
        counts = self._counts
        self._events.append(DatagramStatistics(self._job, *(counts[name] for name in _COUNTERS)))

    def _receive(self, frame: Buffer) -> Datagram | None:
        """A packet of our job; None: it is for others, or cannot be used, which is told."""
        try:
            found = decode_datagram(frame)
        except DatagramError as error:
            self._reject(error.reason, str(error))
            return None
        if found is None or found.dst_ip != self._config.answers[0].src_ip:
            return None
        header = found.header
        if (header.policy, header.job, header.fan_in0) != (Policy.REPAIR, self._job, self._config.share.d):
            self._reject("unexpected", f"kind {header.kind} of job {header.job}, policy {header.policy}")
            return None
        return found

    def _reject(self, reason: str, detail: str) -> None:
        self._counts["rejected"] += 1
        self._events.append(FrameRejected(reason, detail))
