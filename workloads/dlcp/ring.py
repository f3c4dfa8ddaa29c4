"""A rank of a ring. Each step is a separate flow, and a bounded share of it may be missing (`chunks` says what it
carries).

In the first half of the steps a rank adds its own part to the data that came. Missing data counts as +0, so the parts
of earlier ranks are lost there. In the second half missing data stays +0, here and at the ranks behind. A predecessor
may be ahead, by steps and by one iteration at most. The rank keeps early data until its turn.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from workloads.collectives.arithmetic import fold
from workloads.datagrams.arrival import Arrival
from workloads.datagrams.blocks import BlockSummed
from workloads.datagrams.retransmission import BackoffTimer
from workloads.dlcp.base import DlcpHost
from workloads.dlcp.bound import packets_needed
from workloads.dlcp.chunks import chunk_given, chunk_of, steps_of
from workloads.dlcp.classes import classes_of
from workloads.dlcp.config import DlcpConfig
from workloads.dlcp.flow import ReceivedFlow
from workloads.dlcp.outgoing import Outgoing
from workloads.dlcp.packets import header_of
from workloads.gradients import Vector
from workloads.wire.aggregation import DatagramKind

if not cython.compiled:
    from workloads.kernels import NEVER, bit_of, read_words

__all__ = ["ArrivingVector", "DlcpRing"]

_ACK = int(DatagramKind.ACK)


class ArrivingVector:
    """The vector of one step: the data that came, +0 elsewhere."""

    def __init__(self, elements: int, packets: int, needed: int, dtype: np.dtype[Any]) -> None:
        self.flow = ReceivedFlow(packets, needed)
        self.values: Vector = np.zeros(elements, dtype)
        self.words: Any = self.values.view(np.int32)


class DlcpRing(DlcpHost):
    """A Machine. A subclass may override what has no underscore."""

    def __init__(self, config: DlcpConfig, *, start_ns: int = 0) -> None:
        DlcpHost.__init__(self, config, start_ns=start_ns)
        share = config.collective
        self._steps = steps_of(share.size)
        self._before = (share.rank - 1) % share.size
        """rank of the predecessor"""
        self._timer = BackoffTimer(config.rto_ns, share.rank)
        self._most = -(-(chunk_of(0, share.size, config.workload.elements)[1]) // config.elements)
        """packets of the largest chunk"""
        self._done = 0
        """iterations"""
        self._step = -1
        """step whose flow it waits for; -1: between iterations"""
        self._values: Vector = np.zeros(0, self._dtype)
        """its gradient, with sums in place of those parts that it has sums of"""
        self._incoming: dict[tuple[int, int], ArrivingVector] = {}
        """vectors that are arriving, by iteration and step"""
        self._outgoing: dict[tuple[int, int], Outgoing] = {}
        spans = [(self.span(self._before, step), self.span(self._rank, step)) for step in range(self._steps)]
        self._lengths = [(before[1] - before[0], own[1] - own[0]) for before, own in spans]
        """elements that arrive in each step, and elements that leave in it"""

    def packets_due(self) -> int:
        first = NEVER
        for outgoing in self._outgoing.values():
            due = outgoing.flow.due()
            if due < first:
                first = due
        return first

    def expire(self, now: int) -> int:
        expired = 0
        for outgoing in self._outgoing.values():
            expired += outgoing.flow.expire(now)
        return expired

    def give(self, now: int) -> bytes | None:
        if self._leaving:
            following: bytes = self._leaving.popleft()
            return following
        for outgoing in self._outgoing.values():
            frame = self.next_frame(outgoing, now)
            if frame is not None:
                return frame
        return None

    def begin(self, now: int) -> None:
        DlcpHost.begin(self, now)
        self._values, self._step = self._training.gradient.copy(), 0
        self.send_step()
        self.advance(now)

    def size_of(self, found: Arrival) -> int:
        if found.slot >= self._steps or found.sequence < 1:
            return -1
        left: int = self._lengths[found.slot][found.kind == _ACK] - (found.sequence - 1) * self._elements
        if left <= 0:
            return -1
        return left if left < self._elements else self._elements

    def concerns_us(self, found: Arrival) -> bool:
        if found.kind == _ACK:
            return DlcpHost.concerns_us(self, found)
        predecessor: int = self._peers[1]
        return found.bitmap == bit_of(self._before) and found.source == predecessor

    def span(self, rank: int, step: int) -> tuple[int, int]:
        """Span of the elements that the rank sends in that step."""
        return chunk_of(chunk_given(rank, self._size, step), self._size, self._total)

    def arriving(self, iteration: int, step: int) -> ArrivingVector:
        vector = self._incoming.get((iteration, step))
        if vector is None:
            elements = self._lengths[step][0]
            packets = -(-elements // self._elements)
            needed = packets_needed(packets, self._config.loss_bound)
            vector = self._incoming[iteration, step] = ArrivingVector(elements, packets, needed, self._dtype)
        return vector

    def take_elements(self, found: Arrival, now: int) -> None:
        iteration, step = found.tensor, found.slot
        if iteration > self._done + 1 or iteration >= self._training.iterations:
            self.reject("unexpected", f"a vector of iteration {iteration}, which no worker can have begun")
            return
        if iteration >= self._done and not self.can_exist(iteration, step):
            self.reject("unexpected", f"step {step}, which needs more of this rank's vectors than it has sent")
            return
        if iteration < self._done:
            self._duplicates += 1
            self.acknowledge(found, 1, found.bitmap, True)
            return
        vector, packet = self.arriving(iteration, step), found.sequence - 1
        flow = vector.flow
        if flow.take(packet):
            read_words(vector.words, packet * self._elements, found.frame, found.at, found.count)
            self._results += 1
            if flow.closed:
                self.tell_closed(flow, iteration, self._before, step)
        else:
            self._duplicates += 1
        self.acknowledge(found, 1, found.bitmap, flow.closed)
        self.advance(now)

    def can_exist(self, iteration: int, step: int) -> bool:
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
        return flow.departed >= packets_needed(flow.window, self._config.loss_bound)

    def advance(self, now: int) -> None:
        """Through all steps whose flows are closed."""
        while self._step >= 0:
            vector = self.arriving(self._done, self._step)
            if not vector.flow.closed:
                return
            place = slice(*self.span(self._before, self._step))
            if self._step < self._size - 1:
                rows = np.array([vector.values, self._values[place]])
                self._values[place] = fold(rows.view(np.uint8), self._config.collective.arithmetic).view(self._dtype)
                self._tell_summed(vector.flow)
            else:
                self._values[place] = vector.values
            self._step += 1
            if self._step < self._steps:
                self.send_step()
            else:
                self._finish_iteration(now)

    def _tell_summed(self, flow: ReceivedFlow) -> None:
        """Report the sum: the data that came from the predecessor counts once, and this rank's own."""
        block = self._block(self._step)
        counts = [0] * self._size
        counts[self._rank] = 1
        without = tuple(counts)
        counts[self._before] = 1
        both = tuple(counts)
        for packet in range(flow.packets):
            entered = both if flow.has(packet) else without
            self.events.append(BlockSummed(self._job, block + packet, 0, entered))

    def send_step(self) -> None:
        """This step's vector begins to leave."""
        first, end = self.span(self._rank, self._step)
        if first == end:
            return
        config, values = self._config, self._values[first:end].copy()
        header = header_of(config, DatagramKind.DATA, self._rank, self._done, self._step)
        classes, block = classes_of(config, values, first), self._block(self._step)
        outgoing = Outgoing(config, config.peers[0], header, values, classes, self._timer, block)
        self._outgoing[outgoing.key] = outgoing

    def _block(self, step: int) -> int:
        """First number of a step's packets."""
        return (self._done * self._steps + step) * self._most

    def _finish_iteration(self, now: int) -> None:
        self._training.result[:] = self._values
        self._step = -1
        self._done += 1
        self._incoming = {key: flow for key, flow in self._incoming.items() if key[0] >= self._done}
        self.complete(now)

    def acknowledged(self, found: Arrival, now: int) -> None:
        outgoing = self._outgoing.get((found.tensor, found.slot))
        self.hear_ack(found, outgoing, now)
        if outgoing is not None and outgoing.flow.over:
            del self._outgoing[outgoing.key]
