"""A worker: it sends its gradient until the server wants no more of it, and takes enough of the sum."""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from workloads.datagrams.arrival import Arrival
from workloads.datagrams.retransmission import BackoffTimer
from workloads.dlcp.base import DlcpHost
from workloads.dlcp.classes import classes_of
from workloads.dlcp.config import DlcpConfig
from workloads.dlcp.flow import ReceivedFlow
from workloads.dlcp.outgoing import Outgoing
from workloads.dlcp.packets import header_of
from workloads.wire.aggregation import DatagramKind

if not cython.compiled:
    from workloads.kernels import NEVER, bit_of, read_words

__all__ = ["DlcpWorker"]


class DlcpWorker(DlcpHost):
    """A Machine. A subclass may override what has no underscore."""

    kinds = frozenset((DatagramKind.ACK, DatagramKind.RESULT))

    def __init__(self, config: DlcpConfig, *, start_ns: int = 0) -> None:
        DlcpHost.__init__(self, config, start_ns=start_ns)
        self._timer = BackoffTimer(config.rto_ns, config.collective.rank)
        self._done = 0
        """iterations whose sum this worker has"""
        self._outgoing: Outgoing | None = None
        """None: between iterations"""
        self._result = ReceivedFlow(self._packets, self._needed)
        self._sum: Any = None
        """`result` of the training"""

    def packets_due(self) -> int:
        return NEVER if self._outgoing is None else self._outgoing.flow.due()

    def expire(self, now: int) -> int:
        return 0 if self._outgoing is None else self._outgoing.flow.expire(now)

    def give(self, now: int) -> bytes | None:
        if self._leaving:
            following: bytes = self._leaving.popleft()
            return following
        return None if self._outgoing is None else self.next_frame(self._outgoing, now)

    def begin(self, now: int) -> None:
        """What does not come of its sum counts as +0."""
        config, training = self._config, self._training
        DlcpHost.begin(self, now)
        header = header_of(config, DatagramKind.DATA, config.collective.rank, training.iteration)
        gradient, block = training.gradient, training.iteration * self._packets
        classes = classes_of(config, gradient)
        self._outgoing = Outgoing(config, config.peers[0], header, gradient, classes, self._timer, block)
        self._result = ReceivedFlow(self._packets, self._needed)
        training.result[:] = 0
        self._sum = training.result.view(np.int32)

    def acknowledged(self, found: Arrival, now: int) -> None:
        self.hear_ack(found, self._outgoing if found.tensor == self._done else None, now)

    def take_elements(self, found: Arrival, now: int) -> None:
        """A part of the sum. The server sends it only when it needs no more of this iteration. It adds no gradient
        before it has the needed packets of it."""
        outgoing, result, packet, done = self._outgoing, self._result, found.sequence - 1, self._done
        if found.tensor > done or (found.tensor == done and outgoing is None):
            self.reject("unexpected", f"a sum of iteration {found.tensor}, which this worker has not begun")
            return
        if found.tensor == done and outgoing is not None and outgoing.flow.departed < self._needed:
            self.reject("unexpected", f"a sum of iteration {found.tensor}, for which this worker has sent too little")
            return
        if found.tensor < done or not result.take(packet):
            self._duplicates += 1
            self.acknowledge(found, 0, bit_of(self._rank), found.tensor < done)
            return
        assert outgoing is not None, "an iteration runs"
        outgoing.flow.stop()
        self._results += 1
        read_words(self._sum, packet * self._elements, found.frame, found.at, found.count)
        if result.closed:
            self.tell_closed(result, done, self._size - 1)
            self._outgoing = None
            self._done += 1
            self.complete(now)
        self.acknowledge(found, 0, bit_of(self._rank), result.closed)
