"""A worker: it sends its gradient until the server wants no more of it, and takes enough of the sum."""

from __future__ import annotations

from collections.abc import Iterator

from workloads.datagrams.retransmission import BackoffTimer
from workloads.dlcp.base import DlcpHost
from workloads.dlcp.config import DlcpConfig
from workloads.dlcp.flow import ReceivedFlow
from workloads.dlcp.outgoing import Outgoing
from workloads.dlcp.packets import elements_in, header_of
from workloads.events import CollectiveStarted
from workloads.machine import Buffer
from workloads.wire.aggregation import Datagram, DatagramKind

__all__ = ["DlcpWorker"]


class DlcpWorker(DlcpHost):
    """A Machine."""

    def __init__(self, config: DlcpConfig, *, start_ns: int = 0) -> None:
        super().__init__(config, start_ns=start_ns)
        self._timer = BackoffTimer(config.rto_ns, config.collective.rank)
        self._done = 0
        """iterations whose sum this worker has"""
        self._outgoing: Outgoing | None = None
        """None: between iterations"""
        self._result = ReceivedFlow(config.packets, config.needed)

    def get_timer(self) -> int | None:
        times = [self._training.get_timer(), None if self._outgoing is None else self._outgoing.flow.get_timer()]
        return min((time for time in times if time is not None), default=None)

    def handle_timer(self, now: int) -> None:
        if self._outgoing is not None:
            self._counts["timeouts"] += self._outgoing.flow.expire(now)
        if self._training.handle_timer(now):
            self._start()

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        found = self._receive(frame, (DatagramKind.ACK, DatagramKind.RESULT))
        if found is None:
            return
        if found.header.kind == DatagramKind.ACK:
            self._acknowledged(found, now)
        else:
            self._take(found, now)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, bytes]]:
        while self._leaving:
            yield 0, self._leaving.popleft()
        while self._outgoing is not None and (frame := self._next_frame(self._outgoing, now)) is not None:
            yield 0, frame

    def _start(self) -> None:
        """An iteration. What does not come of its sum counts as +0."""
        config, training = self._config, self._training
        self._events.append(CollectiveStarted(training.iteration, training.gradient.nbytes, config.packets))
        header = header_of(config, DatagramKind.DATA, config.collective.rank, training.iteration)
        self._outgoing = Outgoing(
            config, config.peers[0], header, training.gradient, self._timer, block=training.iteration * config.packets
        )
        self._result = ReceivedFlow(config.packets, config.needed)
        training.result[:] = 0

    def _acknowledged(self, found: Datagram, now: int) -> None:
        self._hear_ack(found, self._outgoing if found.header.tensor == self._done else None, now)

    def _has_sent_too_little(self) -> bool:
        """The server adds no gradient before it has the needed packets of it."""
        return self._outgoing is None or self._outgoing.flow.departed < self._config.needed

    def _take(self, found: Datagram, now: int) -> None:
        """A part of the sum, which there is only when the server wants no more of this iteration."""
        header, config, packet = found.header, self._config, found.header.sequence - 1
        if header.tensor > self._done or (header.tensor == self._done and self._outgoing is None):
            self._reject("unexpected", f"a sum of iteration {header.tensor}, which this worker has not begun")
            return
        if header.tensor == self._done and self._has_sent_too_little():
            self._reject("unexpected", f"a sum of iteration {header.tensor}, of which this worker has sent too little")
            return
        if header.tensor < self._done or not self._result.take(packet):
            self._counts["duplicates_received"] += 1
            self._acknowledge(header, config.peers[0], stop=header.tensor < self._done)
            return
        assert self._outgoing is not None, "an iteration runs"
        self._outgoing.flow.stop()
        self._counts["results_received"] += 1
        first, end = config.span(packet)
        self._training.result[first:end] = elements_in(found.payload, self._dtype)
        if self._result.closed:
            self._tell_closed(self._result, self._done, config.senders)
            self._outgoing = None
            self._done += 1
            self._training.complete(now)
        self._acknowledge(header, config.peers[0], stop=self._result.closed)
