"""The server, the last rank: it closes each worker's gradient when enough of it is there, adds them in rank order to
its own, and gives the sum to each worker until that one has enough of it.

What did not come counts as +0. A worker begins an iteration when it has the sum of the one before. So a gradient of the
next iteration may come while a slower worker still gets the last sum, and none comes from further ahead.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

from workloads.datagrams.blocks import BlockSummed
from workloads.datagrams.retransmission import BackoffTimer
from workloads.dlcp.base import DlcpHost
from workloads.dlcp.config import DlcpConfig
from workloads.dlcp.events import SumParts
from workloads.dlcp.gathering import Gathering, Parts, Rows
from workloads.dlcp.outgoing import Outgoing
from workloads.dlcp.packets import elements_in, header_of, rank_of, ranks_of
from workloads.events import CollectiveStarted
from workloads.machine import Buffer
from workloads.wire.aggregation import Datagram, DatagramKind

__all__ = ["DlcpServer"]


class DlcpServer(DlcpHost):
    """A Machine."""

    def __init__(self, config: DlcpConfig, *, start_ns: int = 0) -> None:
        super().__init__(config, start_ns=start_ns)
        self._summed = 0
        """iterations; of the next one gradients come"""
        self._begun = -1
        """the last iteration whose own gradient is ready"""
        ranks = range(config.senders)
        self._gathered: Gathering = self._fresh()
        """of iteration `_summed`"""
        self._timers = [BackoffTimer(config.rto_ns, config.senders + rank) for rank in ranks]
        self._results: list[Outgoing] = []
        """by rank: the sum of iteration `_summed` - 1, on its way"""
        self._turns = cycle(ranks)

    def get_timer(self) -> int | None:
        times = [self._training.get_timer(), *(result.flow.get_timer() for result in self._results)]
        return min((time for time in times if time is not None), default=None)

    def handle_timer(self, now: int) -> None:
        for result in self._results:
            self._counts["timeouts"] += result.flow.expire(now)
        training = self._training
        if training.handle_timer(now):
            self._events.append(CollectiveStarted(training.iteration, training.gradient.nbytes, self._config.packets))
            self._begun = training.iteration
            self._conclude(now)

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        found = self._receive(frame, (DatagramKind.ACK, DatagramKind.DATA))
        if found is None:
            return
        if found.header.kind == DatagramKind.ACK:
            self._acknowledged(found, rank_of(found.header.bitmap0), now)
        else:
            self._take(found, now)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, bytes]]:
        """Acknowledgements, then a packet for each worker in turn."""
        while self._leaving:
            yield 0, self._leaving.popleft()
        idle = 0
        while idle < len(self._results):
            frame = self._next_frame(self._results[next(self._turns)], now)
            idle = 0 if frame is not None else idle + 1
            if frame is not None:
                yield 0, frame

    def _concerns_us(self, found: Datagram) -> bool:
        if self._config.service_ip and found.src_ip == self._config.service_ip:
            return found.header.kind == DatagramKind.DATA and 0 < found.header.bitmap0 < 1 << self._config.senders
        return super()._concerns_us(found)

    def _take(self, found: Datagram, now: int) -> None:
        header, config, packet = found.header, self._config, found.header.sequence - 1
        if header.tensor > self._summed or self._summed == self._training.iterations <= header.tensor:
            self._reject("unexpected", f"a gradient of iteration {header.tensor}, which nobody can have begun")
            return
        ranks, gathered = ranks_of(header.bitmap0), self._gathered
        over = header.tensor < self._summed
        closed = [] if over else gathered.take(header.bitmap0, packet, elements_in(found.payload, self._dtype))
        self._counts["duplicates_received" if closed is None or over else "results_received"] += 1
        for rank in closed or ():
            self._tell_closed(gathered.flows[rank], self._summed, rank)
        for rank in ranks:
            stop = over or gathered.flows[rank].closed
            if stop or gathered.flows[rank].has(packet):
                self._acknowledge(header._replace(bitmap0=1 << rank), config.peers[rank], stop=stop)
        self._conclude(now)

    def _fresh(self) -> Gathering:
        return (Parts if self._config.service_ip else Rows)(self._config, self._dtype)

    def _conclude(self, now: int) -> None:
        """When all gradients are there, its own as well."""
        training, config, gathered = self._training, self._config, self._gathered
        if self._begun != self._summed or not gathered.closed:
            return
        first = self._summed * config.packets
        total = gathered.total(training.gradient)
        for packet in range(config.packets):
            self._events.append(BlockSummed(self._job, first + packet, 0, gathered.entered(packet)))
        for packet, parts in enumerate(gathered.parts()):
            self._events.append(SumParts(self._job, first + packet, parts))
        for rank in gathered.late:
            self._tell_closed(gathered.flows[rank], self._summed, rank)
        self._results = [
            Outgoing(
                config,
                config.peers[rank],
                header_of(config, DatagramKind.RESULT, rank, self._summed),
                total,
                timer,
                block=first,
            )
            for rank, timer in enumerate(self._timers)
        ]
        training.result[:] = total
        self._summed += 1
        self._gathered = self._fresh()
        training.complete(now)

    def _acknowledged(self, found: Datagram, rank: int, now: int) -> None:
        runs = self._results and found.header.tensor == self._summed - 1
        self._hear_ack(found, self._results[rank] if runs else None, now)
