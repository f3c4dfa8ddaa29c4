"""A host that sends and receives RDMA flows, as a Machine. Each flow is one WRITE with immediate on a queue pair of its
own, posted at its time, whatever other flows of the host do."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from workloads.events import CollectiveCompleted, CollectiveStarted, QpFailed, WorkerFailed, WorkerFinished
from workloads.flows.config import BASE_VA, FlowEnd, FlowsConfig, rkey_of
from workloads.flows.content import content_of, digest_of
from workloads.flows.events import FlowAcked, FlowArrived, FlowBegan, FlowsLeft
from workloads.kernels import NEVER
from workloads.machine import Buffer, Event
from workloads.quick import Quick
from workloads.transports.messages import SUCCESS, ReceiveCompleted, ReceiveRequest, SendCompleted, SendRequest

__all__ = ["FlowsHost", "create_host"]


_PORT = 0


class FlowsHost(Quick):
    """A Machine of one port. It ends when all of its flows have, or at `FlowsConfig.stop_ns`. Memory of a flow, at
    either end, is released when the flow has ended there."""

    def __init__(self, config: FlowsConfig, *, start_ns: int = 0) -> None:
        Quick.__init__(self, deque(), deque())
        self._config, self._seed = config, config.workload.seed
        self._endpoint = config.transport.endpoint(config.queue_pairs, batches=False)
        self._waiting = deque(sorted(config.outgoing, key=lambda end: (end.start_ns, end.number)))
        self._start_ns = start_ns
        self._stop_at = None if config.stop_ns is None else start_ns + config.stop_ns
        self._begins: int | None = start_ns
        self._sending: dict[int, FlowEnd] = {}
        """by number: begun, and not acknowledged"""
        self._unacked = len(config.outgoing)
        self._receiving: dict[int, FlowEnd] = {}
        self._memory: dict[int, memoryview] = {}
        self._digests: dict[int, str] = {}
        self.finished = self.failed = False
        for end in config.incoming:
            self._receiving[end.number] = end
            memory = self._memory[end.number] = np.zeros(end.size, np.uint8).data  # pages come when written
            self._endpoint.register_memory(rkey_of(end.number), BASE_VA, memory)
            self._endpoint.post_receives(end.qp.qpn, (ReceiveRequest(end.number),))

    @property
    def quick(self) -> Quick:
        """Itself."""
        return self

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self.take(port, bytes(frame), now)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, bytes]]:
        while (frame := self.give(now)) is not None:
            yield _PORT, frame

    def get_timer(self) -> int | None:
        due = self.due()
        return None if due == NEVER else due

    def handle_timer(self, now: int) -> None:
        self.wake(now)

    def next_event(self) -> Event | None:
        events: deque[Event] = self.events
        return events.popleft() if events else None

    def take(self, port: int, frame: bytes, now: int) -> None:
        self._endpoint.receive_frame(port, frame, now)
        if self._endpoint.has_news:
            self._advance(now)

    def give(self, now: int) -> bytes | None:
        frame = self._endpoint.next_frame(now)
        if self._endpoint.has_news:
            self._drain()  # sent frames cause events, too
        return frame

    def due(self) -> int:
        first = self._begins if self._begins is not None else self._stop_at
        if self._waiting:
            at = self._start_ns + self._waiting[0].start_ns
            first = at if first is None or at < first else first
        timer = self._endpoint.get_timer()
        if timer is None or (first is not None and first < timer):
            timer = first
        return NEVER if timer is None else timer

    def wake(self, now: int) -> None:
        self._endpoint.handle_timer(now)
        if self._begins is not None and self._begins <= now:
            self._begins = None
            self.events.append(CollectiveStarted(0, 0, len(self._config.outgoing)))
        while self._waiting and self._start_ns + self._waiting[0].start_ns <= now and self._begins is None:
            self._begin(self._waiting.popleft(), now)
        self._advance(now)
        if self._stop_at is not None and self._stop_at <= now:
            self._stop(now)

    def finish(self, now: int) -> None:
        """The world stops: queue the statistics of the queue pairs."""
        self._drain()
        self.events.extend(self._endpoint.statistics())

    def _begin(self, end: FlowEnd, now: int) -> None:
        content = content_of(self._seed, end.number, end.size)
        self._sending[end.number] = end
        self.events.append(FlowBegan(end.number, end.size))
        request = SendRequest(end.number, (content,), imm=0, remote_va=BASE_VA, rkey=rkey_of(end.number))
        self._endpoint.post_send(end.qp.qpn, request, now)

    def _advance(self, now: int) -> None:
        while (completion := self._endpoint.next_completion()) is not None:
            if isinstance(completion, ReceiveCompleted):
                self._arrived(completion)
            elif completion.status == SUCCESS:
                self._acked(completion)
        self._drain()
        over = not self._receiving and not self._unacked
        if over and self._begins is None and not self.finished and not self.failed:
            self._end(now)

    def _arrived(self, completion: ReceiveCompleted) -> None:
        end = self._receiving.pop(completion.wr_id)
        digest = self._digests[end.number] = digest_of(self._memory.pop(end.number))
        self._endpoint.release_memory(rkey_of(end.number))
        self.events.append(FlowArrived(end.number, completion.length, digest))

    def _acked(self, completion: SendCompleted) -> None:
        del self._sending[completion.wr_id]
        self._unacked -= 1
        self.events.append(FlowAcked(completion.wr_id))

    def _drain(self) -> None:
        while (event := self._endpoint.next_event()) is not None:
            self.events.append(event)
            if isinstance(event, QpFailed) and not self.failed and not self.finished:
                self.failed = True
                self._stop_at = None
                self._waiting.clear()
                self.events.append(WorkerFailed(event.status, event.detail))

    def _stop(self, now: int) -> None:
        """What is unfinished now is counted."""
        self._stop_at = None
        self._waiting.clear()
        if self._sending or self._receiving:
            self.events.append(FlowsLeft(len(self._sending), len(self._receiving)))
        self._end(now)

    def _end(self, now: int) -> None:
        self.finished, self._stop_at = True, None
        whole = "".join(self._digests[number] for number in sorted(self._digests))
        self.events.append(CollectiveCompleted(0, digest_of(whole.encode()), 0, now))
        self.events.append(WorkerFinished(1))


def create_host(config: FlowsConfig, start_ns: int) -> FlowsHost:
    """The Machine of one host."""
    return FlowsHost(config, start_ns=start_ns)
