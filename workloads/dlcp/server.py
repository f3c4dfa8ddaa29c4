"""The server, the last rank. It closes each worker's gradient when enough of it is there, and adds them in rank order
to its own. It sends the sum to each worker until that worker has enough of it.

What did not come counts as +0. A worker begins an iteration when it has the sum of the one before. So a gradient of the
next iteration may come while a slower worker still gets the last sum, and none comes from further ahead.
"""

from __future__ import annotations

import cython

from workloads.datagrams.arrival import Arrival
from workloads.datagrams.blocks import BlockSummed
from workloads.datagrams.retransmission import BackoffTimer
from workloads.dlcp.base import DlcpHost
from workloads.dlcp.classes import classes_of
from workloads.dlcp.config import DlcpConfig
from workloads.dlcp.events import SumParts
from workloads.dlcp.flow import ReceivedFlow
from workloads.dlcp.gathering import Gathering, PartGathering, RowGathering
from workloads.dlcp.outgoing import Outgoing
from workloads.dlcp.packets import header_of, rank_of
from workloads.wire.aggregation import DatagramKind

if not cython.compiled:
    from workloads.kernels import NEVER, bit_of

__all__ = ["DlcpServer"]

_DATA = int(DatagramKind.DATA)


class DlcpServer(DlcpHost):
    """A Machine. A subclass may override what has no underscore."""

    def __init__(self, config: DlcpConfig, *, start_ns: int = 0) -> None:
        DlcpHost.__init__(self, config, start_ns=start_ns)
        self._summed = 0
        """iterations; of the next one gradients come"""
        self._begun = -1
        """the last iteration whose own gradient is ready"""
        self._senders = config.senders
        self._service = int.from_bytes(config.service_ip, "big")
        self._gathered = self.gather()
        """gradients of iteration `_summed`"""
        self._timers = [BackoffTimer(config.rto_ns, config.senders + rank) for rank in range(config.senders)]
        self._going: list[Outgoing] = []
        """sums of iteration `_summed` - 1 on their way, by rank"""
        self._turn = 0

    def packets_due(self) -> int:
        first = NEVER
        for outgoing in self._going:
            due = outgoing.flow.due()
            if due < first:
                first = due
        return first

    def expire(self, now: int) -> int:
        expired = 0
        for outgoing in self._going:
            expired += outgoing.flow.expire(now)
        return expired

    def give(self, now: int) -> bytes | None:
        """Acknowledgements, then a packet for each worker in turn."""
        if self._leaving:
            following: bytes = self._leaving.popleft()
            return following
        for _ in range(len(self._going)):
            outgoing = self._going[self._turn]
            self._turn = (self._turn + 1) % self._senders
            frame = self.next_frame(outgoing, now)
            if frame is not None:
                return frame
        return None

    def begin(self, now: int) -> None:
        DlcpHost.begin(self, now)
        self._begun = self._training.iteration
        self.conclude(now)

    def concerns_us(self, found: Arrival) -> bool:
        if self._service and found.source == self._service:
            return found.kind == _DATA and 0 < found.bitmap < bit_of(self._senders)
        for rank in range(self._senders):
            if found.bitmap == bit_of(rank):
                address: int = self._peers[rank]
                return found.source == address
        return False

    def take_elements(self, found: Arrival, now: int) -> None:
        packet, bitmap, rank = found.sequence - 1, found.bitmap, 0
        over = found.tensor < self._summed
        if not over and (found.tensor > self._summed or self._summed == self._training.iterations):
            self.reject("unexpected", f"a gradient of iteration {found.tensor}, which no worker can have begun")
            return
        gathered = self._gathered
        closed = () if over else gathered.take(found)
        if over or closed is None:
            self._duplicates += 1
        else:
            self._results += 1
        for ended in closed or ():
            self.tell_closed(gathered.flows[ended], self._summed, ended)
        while bitmap:
            if bitmap & 1:
                flow: ReceivedFlow = gathered.flows[rank]
                stop = over or flow.closed
                if stop or flow.has(packet):
                    self.acknowledge(found, rank, bit_of(rank), stop)
            bitmap, rank = bitmap >> 1, rank + 1
        self.conclude(now)

    def gather(self) -> Gathering:
        """What the next iteration begins with."""
        return (PartGathering if self._service else RowGathering)(self._config, self._dtype)

    def conclude(self, now: int) -> None:
        """When all gradients are there, its own as well."""
        gathered = self._gathered
        if self._begun == self._summed and gathered.has_enough():
            self.sum_up(gathered, now)

    def sum_up(self, gathered: Gathering, now: int) -> None:
        training, config = self._training, self._config
        first = self._summed * config.packets
        total = gathered.total(training.gradient)
        for packet, entered in enumerate(gathered.entered()):
            self.events.append(BlockSummed(self._job, first + packet, 0, entered))
        for packet, parts in enumerate(gathered.parts()):
            self.events.append(SumParts(self._job, first + packet, parts))
        for rank in gathered.late:
            self.tell_closed(gathered.flows[rank], self._summed, rank)
        classes = classes_of(config, total)
        self._going = []
        for rank, timer in enumerate(self._timers):
            header = header_of(config, DatagramKind.RESULT, rank, self._summed)
            self._going.append(Outgoing(config, config.peers[rank], header, total, classes, timer, first))
        training.result[:] = total
        self._summed += 1
        self._gathered = self.gather()
        self.complete(now)

    def acknowledged(self, found: Arrival, now: int) -> None:
        runs = self._going and found.tensor == self._summed - 1
        self.hear_ack(found, self._going[rank_of(found.bitmap)] if runs else None, now)
