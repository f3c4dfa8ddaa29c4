"""ECN marking and trimming at the ports of a switch in real time: a frame gets CE when the queue below its port is too
long, and loses its payload when it is full.

The queue is the kernel's, a pfifo below HTB, which drops and never marks. But nobody else sends into it, and what HTB
does is known: a frame leaves when no tokens are owed, each costs its time at the rate, and an idle queue saves up to a
burst of them (net/sched/sch_htb.c). So the port keeps the same account and knows how many frames wait, without a system
call per frame; a test holds it against the lengths that the kernel tells. With a burst of 0 it is the account of the
link itself, whose queue is never shorter than the kernel's. The kernel's limit is that of the queue and its reserve
together: what of it is the reserve, the account says.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np

from switch_nodes.events import QueueMarks
from switch_nodes.tap import Tap
from workloads.machine import FrameBatch
from workloads.wire.ecn import mark_ce
from workloads.wire.trimming import for_reserve

__all__ = ["EgressMarking", "ModelledQueue"]

_BITS_NS = 8 * 10**9
_IP_AT, _IP_HEAD_END = 14, 26
"""from the IP header to the end of the IPv4 checksum: what a mark may change"""
_MOST_HEADERS = 54


class ModelledQueue:
    """The queue of one HTB class. Times in ns. `rates`: (from when, bit/s, burst in bytes), the first from the start
    on."""

    def __init__(
        self, rates: Sequence[tuple[int, int, int]], threshold: int | None, limit: int, reserve: int = 0
    ) -> None:
        """`threshold` None: it never marks. `reserve`: headers that may wait beside a full queue, 0 where it does not
        trim."""
        self._rates = deque(rates)
        _, self._rate_bps, self._burst = self._rates.popleft()
        self._limit, self._reserve = limit, reserve
        self.marks = threshold is not None
        """whether it may ask for a mark"""
        self._threshold = limit + reserve if threshold is None else threshold
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

    def trims(self, now: int) -> bool:
        """Whether the next frame finds the queue full, and its headers the reserve."""
        return self._reserve > 0 and self.waiting(now) >= self._limit

    def enter(self, size: int, now: int) -> bool:
        """A frame of `size` bytes is put into the queue. Whether it is to be marked: as many as the threshold wait
        there. One that the full queue drops leaves no trace."""
        waiting = self.waiting(now)
        if waiting >= self._limit + self._reserve:
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
    """The modelled queues of a switch's ports, by port; ports without one neither mark nor trim."""

    def __init__(self, queues: Mapping[int, ModelledQueue]) -> None:
        self._queues = dict(queues)
        self._marks, self._trimmed, self._refused = (dict.fromkeys(queues, 0) for _ in range(3))

    def __bool__(self) -> bool:
        return bool(self._queues)

    def apply(self, batch: FrameBatch, now: int, tap: Tap | None = None) -> None:
        """The frames of `batch` leave by their ports, in this order: mark those that are to be marked, cut those that
        find their queue full, and take out those of which nothing may enter the reserve."""
        ports, lengths = batch.ports[: batch.count].tolist(), batch.lengths[: batch.count].tolist()
        gone: list[int] = []
        for row, (port, length) in enumerate(zip(ports, lengths, strict=True)):
            queue = self._queues.get(port)
            if queue is None:
                continue
            is_cut = False
            if queue.trims(now):
                found = for_reserve(batch.row(row))
                if found is None:
                    gone.append(row)
                    continue
                frame, is_cut = found
                if is_cut:
                    self._trimmed[port] += 1
                    batch.frames[row, : len(frame)] = np.frombuffer(frame, np.uint8)
                    batch.lengths[row] = length = len(frame)
            if queue.enter(length, now):
                self._mark(batch, row, port)
            if is_cut and tap is not None:
                tap.trimmed(port, batch.row(row), now)
        for row in gone:
            self._refused[ports[row]] += 1
            if tap is not None:
                tap.dropped(ports[row], batch.row(row), now, True, "queue")
        if gone:
            _take_out(batch, gone)

    def _mark(self, batch: FrameBatch, row: int, port: int) -> None:
        marked = mark_ce(batch.row(row)[:_MOST_HEADERS])
        if marked is not None:
            batch.frames[row, _IP_AT:_IP_HEAD_END] = np.frombuffer(marked, np.uint8)[_IP_AT:_IP_HEAD_END]
            self._marks[port] += 1

    @property
    def marks(self) -> Mapping[int, int]:
        """Frames that got CE so far, by port that marks."""
        return {port: self._marks[port] for port, queue in self._queues.items() if queue.marks}

    @property
    def refused(self) -> int:
        """Frames that found a full queue and could not be cut."""
        return sum(self._refused.values())

    def events(self) -> list[QueueMarks]:
        """What is told at the end, port by port."""
        return [
            QueueMarks(port, self._marks[port], queue.peak, self._trimmed[port], self._refused[port])
            for port, queue in self._queues.items()
        ]


def _take_out(batch: FrameBatch, gone: Sequence[int]) -> None:
    keep = np.setdiff1d(np.arange(batch.count), np.asarray(gone))
    count = len(keep)
    batch.frames[:count], batch.lengths[:count] = batch.frames[keep], batch.lengths[keep]
    batch.ports[:count], batch.count = batch.ports[keep], count
