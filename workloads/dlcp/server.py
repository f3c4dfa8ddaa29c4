"""The server, the last rank: it closes each worker's gradient when enough of it is there, adds them in rank order to
its own, and gives the sum to each worker until that one has enough of it.

What did not come counts as +0. A worker begins an iteration when it has the sum of the one before. So a gradient of the
next iteration may come while a slower worker still gets the last sum, and none comes from further ahead.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

import numpy as np

from workloads.collectives.arithmetic import fold
from workloads.datagrams.blocks import BlockSummed
from workloads.datagrams.retransmission import BackoffTimer
from workloads.dlcp.base import DlcpHost
from workloads.dlcp.config import DlcpConfig
from workloads.dlcp.flow import ReceivedFlow
from workloads.dlcp.outgoing import Outgoing
from workloads.dlcp.packets import elements_in
from workloads.events import CollectiveStarted
from workloads.machine import Buffer
from workloads.wire.aggregation import Datagram, DatagramFlag, DatagramKind

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
        self._rows = np.zeros((config.collective.size, config.workload.elements), self._dtype)
        """by rank: what is there of its gradient, +0 elsewhere"""
        self._entered = np.zeros((config.collective.size, config.packets), np.int64)
        """by rank and packet: how often it was written into its row"""
        self._flows = [ReceivedFlow(config.packets, config.needed) for _ in ranks]
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
            self._rows[-1] = training.gradient
            self._entered[-1] += 1
            self._conclude(now)

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        received = self._receive(frame, (DatagramKind.ACK, DatagramKind.DATA))
        if received is None:
            return
        if received[0].header.kind == DatagramKind.ACK:
            self._acknowledged(*received, now)
        else:
            self._take(*received, now)

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

    def _take(self, found: Datagram, rank: int, now: int) -> None:
        header, config, packet = found.header, self._config, found.header.sequence - 1
        if header.tensor > self._summed or self._summed == config.workload.iterations <= header.tensor:
            self._reject("unexpected", f"a gradient of iteration {header.tensor}, which nobody can have begun")
            return
        if header.tensor < self._summed:
            self._counts["duplicates_received"] += 1
            self._acknowledge(found, config.peers[rank], stop=True)
            return
        flow = self._flows[rank]
        if flow.take(packet):
            self._enter(rank, packet, found.payload)
            self._counts["results_received"] += 1
            if flow.closed:
                self._tell_closed(flow, self._summed, rank)
        else:
            self._counts["duplicates_received"] += 1
        self._acknowledge(found, config.peers[rank], stop=flow.closed)
        self._conclude(now)

    def _enter(self, rank: int, packet: int, payload: Buffer) -> None:
        first, end = self._config.span(packet)
        self._rows[rank, first:end] = elements_in(payload, self._dtype)
        self._entered[rank, packet] += 1

    def _conclude(self, now: int) -> None:
        """When all gradients are there, its own as well."""
        training, config = self._training, self._config
        if self._begun != self._summed or not all(flow.closed for flow in self._flows):
            return
        total = fold(self._rows.view(np.uint8), config.collective.arithmetic).view(self._dtype)
        for packet in range(config.packets):
            block = self._summed * config.packets + packet
            self._events.append(BlockSummed(self._job, block, 0, tuple(self._entered[:, packet].tolist())))
        self._results = [
            Outgoing(config, DatagramKind.RESULT, rank, self._summed, total, timer)
            for rank, timer in enumerate(self._timers)
        ]
        training.result[:] = total
        self._summed += 1
        self._rows[:], self._entered[:] = 0, 0
        self._flows = [ReceivedFlow(config.packets, config.needed) for _ in self._flows]
        training.complete(now)

    def _acknowledged(self, found: Datagram, rank: int, now: int) -> None:
        header = found.header
        if not self._results or header.tensor != self._summed - 1:
            self._counts["duplicates_received"] += 1
            return
        flow = self._results[rank].flow
        flow.settle(header.sequence - 1, now)
        if header.flags & DatagramFlag.LAST:
            flow.stop()
