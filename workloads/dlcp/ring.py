"""A rank of a ring: each step is a flow of its own, of which a bounded share may be missing (`chunks` says what it
carries).

In the first half of the steps a rank adds its own part to what came, with +0 for what did not; so what earlier ranks
had added there is lost. In the second half what did not come stays +0, here and at the ranks behind. A predecessor may
be ahead, by steps and by one iteration at most: what it sends is kept until its turn.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from workloads.collectives.arithmetic import fold
from workloads.datagrams.blocks import BlockSummed
from workloads.datagrams.retransmission import BackoffTimer
from workloads.dlcp.base import DlcpHost
from workloads.dlcp.bound import packets_needed
from workloads.dlcp.chunks import chunk_given, chunk_of, steps_of
from workloads.dlcp.config import DlcpConfig
from workloads.dlcp.flow import ReceivedFlow
from workloads.dlcp.outgoing import Outgoing
from workloads.dlcp.packets import elements_in, header_of
from workloads.events import CollectiveStarted
from workloads.gradients import Vector
from workloads.machine import Buffer
from workloads.wire.aggregation import AggregationHeader, Datagram, DatagramKind

__all__ = ["DlcpRing"]


class DlcpRing(DlcpHost):
    """A Machine."""

    def __init__(self, config: DlcpConfig, *, start_ns: int = 0) -> None:
        super().__init__(config, start_ns=start_ns)
        share = config.collective
        self._size, self._rank, self._steps = share.size, share.rank, steps_of(share.size)
        self._before = (share.rank - 1) % share.size
        """rank of the predecessor"""
        self._timer = BackoffTimer(config.rto_ns, share.rank)
        self._most = -(-(chunk_of(0, share.size, config.workload.elements)[1]) // config.elements)
        """packets of the largest chunk"""
        self._done = 0
        """iterations"""
        self._step = -1
        """whose flow it waits for; -1: between iterations"""
        self._values: Vector = np.zeros(0, self._dtype)
        """its gradient, and sums in place of those parts that it has them of"""
        self._incoming: dict[tuple[int, int], tuple[ReceivedFlow, Vector]] = {}
        """by iteration and step: what came, +0 elsewhere"""
        self._outgoing: dict[tuple[int, int], Outgoing] = {}

    def get_timer(self) -> int | None:
        times = [self._training.get_timer(), *(outgoing.flow.get_timer() for outgoing in self._outgoing.values())]
        return min((time for time in times if time is not None), default=None)

    def handle_timer(self, now: int) -> None:
        for outgoing in self._outgoing.values():
            self._counts["timeouts"] += outgoing.flow.expire(now)
        training = self._training
        if training.handle_timer(now):
            self._events.append(CollectiveStarted(training.iteration, training.gradient.nbytes, self._config.packets))
            self._values, self._step = training.gradient.copy(), 0
            self._give()
            self._advance(now)

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        found = self._receive(frame, (DatagramKind.ACK, DatagramKind.DATA))
        if found is None:
            return
        if found.header.kind == DatagramKind.ACK:
            self._acknowledged(found, now)
        else:
            self._take(found, now)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, bytes]]:
        while self._leaving:
            yield 0, self._leaving.popleft()
        for outgoing in list(self._outgoing.values()):
            while (frame := self._next_frame(outgoing, now)) is not None:
                yield 0, frame

    def _size_of(self, header: AggregationHeader) -> int | None:
        if header.slot >= self._steps or header.sequence < 1:
            return None
        sender = self._rank if header.kind == DatagramKind.ACK else self._before
        first, end = self._span(sender, header.slot)
        at = (header.sequence - 1) * self._config.elements
        return min(self._config.elements, end - first - at) if at < end - first else None

    def _concerns_us(self, found: Datagram) -> bool:
        successor, predecessor = (peer.dst_ip for peer in self._config.peers)
        if found.header.kind == DatagramKind.ACK:
            return (found.header.bitmap0, found.src_ip) == (1 << self._rank, successor)
        return (found.header.bitmap0, found.src_ip) == (1 << self._before, predecessor)

    def _span(self, rank: int, step: int) -> tuple[int, int]:
        """Of what that rank sends then."""
        return chunk_of(chunk_given(rank, self._size, step), self._size, self._config.workload.elements)

    def _flow(self, iteration: int, step: int) -> tuple[ReceivedFlow, Vector]:
        key = iteration, step
        if key not in self._incoming:
            first, end = self._span(self._before, step)
            packets = -(-(end - first) // self._config.elements)
            flow = ReceivedFlow(packets, packets_needed(packets, self._config.loss_bound))
            self._incoming[key] = flow, np.zeros(end - first, self._dtype)
        return self._incoming[key]

    def _take(self, found: Datagram, now: int) -> None:
        header, config, packet = found.header, self._config, found.header.sequence - 1
        if header.tensor > self._done + 1 or header.tensor >= self._training.iterations:
            self._reject("unexpected", f"a vector of iteration {header.tensor}, which nobody can have begun")
            return
        if header.tensor >= self._done and not self._can_exist(header.tensor, header.slot):
            self._reject("unexpected", f"step {header.slot}, which needs more of this rank's vectors than it has sent")
            return
        if header.tensor < self._done:
            self._counts["duplicates_received"] += 1
            self._acknowledge(header, config.peers[1], stop=True)
            return
        flow, values = self._flow(header.tensor, header.slot)
        if flow.take(packet):
            first = packet * config.elements
            values[first : first + header.nelem] = elements_in(found.payload, self._dtype)
            self._counts["results_received"] += 1
            if flow.closed:
                self._tell_closed(flow, header.tensor, self._before, header.slot)
        else:
            self._counts["duplicates_received"] += 1
        self._acknowledge(header, config.peers[1], stop=flow.closed)
        self._advance(now)

    def _can_exist(self, iteration: int, step: int) -> bool:
        """A vector that went round the whole ring holds what this rank sent one round before."""
        own = step - (self._size - 1)
        if own < 0:
            return True
        if iteration != self._done or own > self._step:
            return False
        outgoing = self._outgoing.get((iteration, own))
        if outgoing is None:
            return True
        flow = outgoing.flow
        return flow.departed >= packets_needed(flow.packets, self._config.loss_bound)

    def _advance(self, now: int) -> None:
        """Through all steps whose flows are closed."""
        while self._step >= 0:
            flow, values = self._flow(self._done, self._step)
            if not flow.closed:
                return
            place = slice(*self._span(self._before, self._step))
            if self._step < self._size - 1:
                rows = np.array([values, self._values[place]])
                self._values[place] = fold(rows.view(np.uint8), self._config.collective.arithmetic).view(self._dtype)
                self._tell_summed(flow)
            else:
                self._values[place] = values
            self._step += 1
            if self._step < self._steps:
                self._give()
            else:
                self._complete(now)

    def _tell_summed(self, flow: ReceivedFlow) -> None:
        """What came of the predecessor's entered once, and this rank's own."""
        block = self._block(self._step)
        for packet in range(flow.packets):
            counts = [0] * self._size
            counts[self._before], counts[self._rank] = int(flow.has(packet)), 1
            self._events.append(BlockSummed(self._job, block + packet, 0, tuple(counts)))

    def _give(self) -> None:
        """This step's vector begins to leave."""
        first, end = self._span(self._rank, self._step)
        if first == end:
            return
        header = header_of(self._config, DatagramKind.DATA, self._rank, self._done, self._step)
        values = self._values[first:end].copy()
        outgoing = Outgoing(
            self._config, self._config.peers[0], header, values, self._timer, block=self._block(self._step), first=first
        )
        self._outgoing[outgoing.key] = outgoing

    def _block(self, step: int) -> int:
        """First number of a step's packets."""
        return (self._done * self._steps + step) * self._most

    def _complete(self, now: int) -> None:
        training = self._training
        training.result[:] = self._values
        self._step = -1
        self._done += 1
        self._incoming = {key: flow for key, flow in self._incoming.items() if key[0] >= self._done}
        training.complete(now)

    def _acknowledged(self, found: Datagram, now: int) -> None:
        outgoing = self._outgoing.get((found.header.tensor, found.header.slot))
        self._hear_ack(found, outgoing, now)
        if outgoing is not None and outgoing.flow.over:
            del self._outgoing[outgoing.key]
