"""ECN marking at the ports of a switch in real time: a frame gets CE when the queue below its port is too long.

The queue is the kernel's, a pfifo below HTB, which drops and never marks. But nobody else sends into it, and what HTB
does is known: a frame leaves when no tokens are owed, each costs its time at the rate, and an idle queue saves up to a
burst of them (net/sched/sch_htb.c). So the port keeps the same account and knows how many frames wait, without a system
call per frame; a test holds it against the lengths that the kernel tells.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np

from switch_nodes.events import QueueMarks
from workloads.machine import FrameBatch
from workloads.wire.ecn import mark_ce

__all__ = ["EgressMarking", "ModelledQueue"]

_BITS_NS = 8 * 10**9
_IP_AT, _IP_HEAD_END = 14, 26
"""from the IP header to the end of the IPv4 checksum: what a mark may change"""
_MOST_HEADERS = 54


class ModelledQueue:
    """The queue of one HTB class. Times in ns. `rates`: (from when, bit/s, burst in bytes), the first from the start
    on."""

    def __init__(self, rates: Sequence[tuple[int, int, int]], threshold: int, limit: int) -> None:
        self._rates = deque(rates)
        _, self._rate_bps, self._burst = self._rates.popleft()
        self._threshold, self._limit = threshold, limit
        self._paid_at: int | None = None
        """when no tokens will be owed"""
        self._leaving: deque[tuple[int, int]] = deque()
        """(when, bytes) of the frames that wait"""
        self.peak = 0
        """most frames that waited"""

    def waiting(self, now: int) -> int:
        """Frames in the queue; `now` never goes back."""
        while self._rates and self._rates[0][0] <= now:
            self._change_rate()
        leaving = self._leaving
        while leaving and leaving[0][0] <= now:
            leaving.popleft()
        return len(leaving)

    def enter(self, size: int, now: int) -> bool:
        """A frame of `size` bytes is put into the queue. Whether it is to be marked: as many as the threshold wait
        there. One that the full queue drops leaves no trace."""
        waiting = self.waiting(now)
        if waiting >= self._limit:
            return False
        self._add(size, now)
        self.peak = max(self.peak, len(self._leaving))
        return waiting >= self._threshold

    def _add(self, size: int, now: int) -> None:
        paid_at = self._paid_at
        leaves = now if paid_at is None or paid_at < now else paid_at
        saved = leaves - self._burst * _BITS_NS // self._rate_bps
        if paid_at is None or paid_at < saved:
            paid_at = saved
        self._paid_at = paid_at + size * _BITS_NS // self._rate_bps
        if leaves > now:
            self._leaving.append((leaves, size))

    def _change_rate(self) -> None:
        at, rate_bps, burst = self._rates.popleft()
        left = [size for leaves, size in self._leaving if leaves > at]
        if left:
            self._paid_at = self._leaving[-len(left)][0]
        self._rate_bps, self._burst = rate_bps, burst
        self._leaving.clear()
        for size in left:
            self._add(size, at)


class EgressMarking:
    """The modelled queues of a switch's ports, by port; ports without one mark nothing."""

    def __init__(self, queues: Mapping[int, ModelledQueue]) -> None:
        self._queues = dict(queues)
        self._marks = dict.fromkeys(queues, 0)

    def __bool__(self) -> bool:
        return bool(self._queues)

    def apply(self, batch: FrameBatch, now: int) -> None:
        """The frames of `batch` leave by their ports, in this order: mark those that are to be marked."""
        ports, lengths = batch.ports[: batch.count].tolist(), batch.lengths[: batch.count].tolist()
        for row, (port, length) in enumerate(zip(ports, lengths, strict=True)):
            queue = self._queues.get(port)
            if queue is None or not queue.enter(length, now):
                continue
            marked = mark_ce(batch.row(row)[:_MOST_HEADERS])
            if marked is not None:
                batch.frames[row, _IP_AT:_IP_HEAD_END] = np.frombuffer(marked, np.uint8)[_IP_AT:_IP_HEAD_END]
                self._marks[port] += 1

    @property
    def marks(self) -> Mapping[int, int]:
        """Frames that got CE so far, by port."""
        return self._marks

    def events(self) -> list[QueueMarks]:
        """What is told at the end, port by port."""
        return [QueueMarks(port, self._marks[port], queue.peak) for port, queue in self._queues.items()]
