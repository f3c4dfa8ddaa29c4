"""A job that continues without its accelerator: a worker whose connections die restarts the job as plain ring.

Nothing of the first life is kept: the ring begins at iteration 0, with queue pairs, receive buffers and a gradient
source of its own. Some ranks may have completed iterations with sums of the network. These differ in their last bits
from those of the ring (another order of rounding), and a rank that trains cannot undo what it applied. So every result
of the second life is the ring's, on every rank.

The second life starts when a connection of the first is used up (RETRY_EXC: the path is dead). It also starts when a
packet of the ring comes from a neighbour, which saw that first. Other failures, a wrong result above all, end the job.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np

from workloads.config import WorkerConfig
from workloads.events import WorkerFailed, WorkerFellBack
from workloads.gradients import create_source
from workloads.machine import Buffer, Event, FrameBatch
from workloads.rc.inbound import RoceFrameReader, inbound_icrc_is_valid
from workloads.wire import WireError
from workloads.wire.envelope import ETHERNET, IPV4, UDP
from workloads.worker import WorkerMachine

__all__ = ["FallbackWorker", "create_worker"]

_DEAD_PATH = "RETRY_EXC"
_QPN = ETHERNET.size + IPV4.size + UDP.size + 5
"""byte of the destination QPN, over IPv4"""


class FallbackWorker:
    """A BatchMachine: the worker of `config`, and after it the one of `config.fallback`, which must be there."""

    def __init__(self, config: WorkerConfig, *, start_ns: int = 0) -> None:
        assert config.fallback is not None
        self._later: WorkerConfig | None = config.fallback
        self._worker = _plain_worker(config, start_ns)
        self._reader = RoceFrameReader()
        self._mine = {
            (qp.envelope.dst_ip, qp.envelope.src_ip, qp.qpn)
            for qp in (config.fallback.to_successor, config.fallback.from_predecessor)
        }
        self._numbers = np.array([list(qpn.to_bytes(3, "big")) for _, _, qpn in self._mine], np.uint8)
        self._events: deque[Event] = deque()

    @property
    def finished(self) -> bool:
        """All iterations are complete; a neighbour may still make the worker fall back."""
        return self._worker.finished

    @property
    def failed(self) -> bool:
        """The job cannot continue."""
        return self._worker.failed

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        if self._is_of_ring(frame):
            self._fall_back("peer", "a packet of the ring came from a neighbour", now)
        self._worker.receive_frame(port, frame, now)
        self._look(now)

    def receive_batch(self, batch: FrameBatch, now: int) -> None:
        if self._later is not None:
            numbers = batch.frames[: batch.count, _QPN : _QPN + 3]
            alike = (numbers[:, None, :] == self._numbers[None, :, :]).all(axis=2).any(axis=1)
            if any(self._is_of_ring(batch.row(int(row))) for row in np.flatnonzero(alike)):
                self._fall_back("peer", "a packet of the ring came from a neighbour", now)
        self._worker.receive_batch(batch, now)
        self._look(now)

    def frames_to_send(self, now: int) -> Iterable[tuple[int, Buffer]]:
        return self._worker.frames_to_send(now)

    def fill_batch(self, batch: FrameBatch, now: int) -> None:
        self._worker.fill_batch(batch, now)

    def get_timer(self) -> int | None:
        return self._worker.get_timer()

    def handle_timer(self, now: int) -> None:
        self._worker.handle_timer(now)
        self._look(now)

    def next_event(self) -> Event | None:
        return self._events.popleft() if self._events else None

    def finish(self, now: int) -> None:
        self._worker.finish(now)
        self._look(now)

    def _look(self, now: int) -> None:
        """Collect events; the end of the first life is none of the job."""
        while (event := self._worker.next_event()) is not None:
            if self._later is not None and isinstance(event, WorkerFailed) and event.reason == _DEAD_PATH:
                self._fall_back(event.reason, event.detail, now)
                return
            self._events.append(event)

    def _fall_back(self, reason: str, detail: str, now: int) -> None:
        if self._later is None:
            return
        config, self._later = self._later, None
        self._worker.finish(now)
        while (event := self._worker.next_event()) is not None:
            self._events.append(event)
        self._events.append(WorkerFellBack(reason, detail, config.collective.kind))
        self._worker = _plain_worker(config, now)

    def _is_of_ring(self, frame: Buffer) -> bool:
        """Whether a neighbour speaks to a queue pair of the second life, and that life has not begun."""
        if self._later is None:
            return False
        try:
            packet = self._reader.read(frame)
        except WireError:
            return False
        if packet is None:
            return False
        connection = packet.envelope.src_ip, packet.envelope.dst_ip, packet.dest_qpn
        return connection in self._mine and inbound_icrc_is_valid(packet)


def _plain_worker(config: WorkerConfig, start_ns: int) -> WorkerMachine:
    collective = config.collective
    source = create_source(config.workload, collective.rank, collective.size, collective.arithmetic.dtype)
    return WorkerMachine(config, source, start_ns=start_ns)


def create_worker(config: WorkerConfig, start_ns: int = 0) -> WorkerMachine | FallbackWorker:
    """The Machine of one host, with its gradient source. Raises ScenarioError when the configuration names no
    collective."""
    return _plain_worker(config, start_ns) if config.fallback is None else FallbackWorker(config, start_ns=start_ns)
