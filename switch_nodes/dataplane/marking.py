"""What the ports of a switch do in real time by the length of their queues. A frame gets CE when the queue below its
port is too long. It loses its payload when the queue is full, or is dropped because of its class.

The queue is the kernel's, a pfifo below HTB, which drops and never marks. But only this port sends into it, and the
behaviour of HTB is known (net/sched/sch_htb.c). A frame leaves when the token count is not negative. Each frame costs
its time at the rate, and an idle queue saves up to a burst of tokens. So the port keeps the same account and knows how
many frames wait, without a system call per frame. A test compares it with the lengths that the kernel reports. With a
burst of 0 it is the account of the link itself, whose queue is never shorter than the kernel's. The kernel's limit is
that of the queue and its reserve together: what of it is the reserve, the account says. Where a queue knows classes,
the limit is the account's alone; the kernel only serves them in their order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from switch_nodes.events import QueueMarks
from switch_nodes.forwarding.classes import ClassQueue
from switch_nodes.tap import Tap
from workloads.machine import Buffer, FrameBatch
from workloads.wire.dscp import NO_DSCP, is_low, layer_class_of, read_dscp
from workloads.wire.ecn import mark_ce
from workloads.wire.places import CHECKSUM, IP_AT, UDP6_AT
from workloads.wire.trimming import for_reserve

__all__ = ["EgressMarking", "ModelledQueue", "Refusal"]

_BITS_NS = 8 * 10**9
_MARKED = slice(IP_AT, CHECKSUM.stop)
"""from the IP header to the end of the IPv4 checksum: what a mark may change"""
_MOST_HEADERS = UDP6_AT
Refusal: TypeAlias = Callable[[int, Buffer, int, int, bool], None]
"""callback for a frame that a queue with classes refuses: (port, frame, frames that wait there, now, whether it had
room)"""


class ModelledQueue:
    """The queue of one HTB class, or those of the children that it serves by layer class. Times in ns. `rates`: (from
    when, bit/s, burst in bytes), the first from the start on."""

    def __init__(
        self,
        rates: Sequence[tuple[int, int, int]],
        threshold: int | None,
        limit: int,
        reserve: int = 0,
        *,
        low_until: int | None = None,
        serves_classes: bool = False,
        knows_classes: bool = False,
    ) -> None:
        """`threshold` None: it never marks. `reserve`: headers that may wait in addition to a full queue, 0 where it
        does not trim. `knows_classes`: this code keeps the limit, not the kernel. With `low_until`, the port refuses
        frames of the low class while that many frames wait. With `serves_classes`, each layer class has a queue, and a
        better class leaves first.
        """
        self._rates = deque(rates)
        _, self._rate_bps, self._burst = self._rates.popleft()
        self._limit, self._reserve = limit, reserve
        self.marks = threshold is not None
        """whether it may ask for a mark"""
        self._threshold = limit + reserve if threshold is None else threshold
        self._low_until = limit if low_until is None else low_until
        self._serves_classes = serves_classes
        self.knows_classes = knows_classes
        self._paid_at: int | None = None
        """time when all tokens of sent frames will be paid"""
        self._queue = ClassQueue[int]()
        """bytes of the frames that wait"""
        self.peak = 0
        """most frames that waited"""

    def waiting(self, now: int) -> int:
        """Frames in all queues; `now` never goes back."""
        while self._rates and self._rates[0][0] <= now:
            at, rate_bps, burst = self._rates.popleft()
            self._serve(at)
            self._rate_bps, self._burst = rate_bps, burst
        self._serve(now)
        return len(self._queue)

    def waiting_with(self, dscp: int, now: int) -> int:
        """Frames in the queue that a frame with this DSCP is for."""
        self.waiting(now)
        return self._queue.waiting_in(self._class_of(dscp))

    def trims(self, now: int) -> bool:
        """Whether the next frame finds the queue full, and its headers the reserve."""
        return self._reserve > 0 and self.waiting(now) >= self._limit

    def refuses(self, dscp: int, now: int) -> str:
        """Why a frame may not enter, of a queue that knows classes: queue, it is full; early, it has no room for the
        low class any more. Empty: it may."""
        waiting = self.waiting_with(dscp, now)
        if waiting >= self._limit:
            return "queue"
        return "early" if waiting >= self._low_until and is_low(dscp) else ""

    def enter(self, size: int, now: int, dscp: int = NO_DSCP) -> bool:
        """A frame of `size` bytes is put into its queue. Whether it is to be marked: as many as the threshold wait
        there. One that the full queue drops leaves no trace."""
        waiting = self.waiting_with(dscp, now)
        if waiting >= self._limit + self._reserve:
            return False
        if self._paid_at is not None and self._paid_at > now:
            self._queue.put(size, self._class_of(dscp))
        else:
            saved = now - self._burst * _BITS_NS // self._rate_bps
            self._pay(size, saved if self._paid_at is None or self._paid_at < saved else self._paid_at)
        self.peak = max(self.peak, len(self._queue))
        return waiting >= self._threshold

    def _class_of(self, dscp: int) -> int:
        return layer_class_of(dscp) if self._serves_classes else 0

    def _serve(self, until: int) -> None:
        """A frame leaves when all tokens for the frames before it are paid."""
        while len(self._queue) and self._paid_at is not None and self._paid_at <= until:
            self._pay(self._queue.take(), self._paid_at)

    def _pay(self, size: int, paid_at: int) -> None:
        self._paid_at = paid_at + size * _BITS_NS // self._rate_bps


class EgressMarking:
    """The modelled queues of a switch's ports, by port; ports without one do nothing of it."""

    def __init__(self, queues: Mapping[int, ModelledQueue], on_refusal: Refusal | None = None) -> None:
        self._queues, self._on_refusal = dict(queues), on_refusal
        self._marks, self._trimmed, self._refused, self._early = (dict.fromkeys(queues, 0) for _ in range(4))

    def __bool__(self) -> bool:
        return bool(self._queues)

    def apply(self, batch: FrameBatch, now: int, tap: Tap | None = None) -> None:
        """The frames of `batch` leave by their ports, in this order. Mark the frames to be marked, and cut those that
        find their queue full. Take out frames whose class may not enter, or that have no part that may enter the
        reserve.
        """
        ports, lengths = batch.ports[: batch.count].tolist(), batch.lengths[: batch.count].tolist()
        gone: dict[int, str] = {}
        for row, (port, length) in enumerate(zip(ports, lengths, strict=True)):
            queue = self._queues.get(port)
            if queue is None:
                continue
            is_cut, dscp = False, NO_DSCP
            if queue.knows_classes:
                dscp = read_dscp(batch.row(row))
                if why := queue.refuses(dscp, now):
                    gone[row] = why
                    self._refuse(port, batch.row(row), now, queue.waiting_with(dscp, now), why)
                    continue
            elif queue.trims(now):
                found = for_reserve(batch.row(row))
                if found is None:
                    gone[row] = "queue"
                    self._refused[port] += 1
                    continue
                frame, is_cut = found
                if is_cut:
                    self._trimmed[port] += 1
                    batch.frames[row, : len(frame)] = np.frombuffer(frame, np.uint8)
                    batch.lengths[row] = length = len(frame)
            if queue.enter(length, now, dscp):
                self._mark(batch, row, port)
            if is_cut and tap is not None:
                tap.trimmed(port, batch.row(row), now)
        if tap is not None:
            for row, why in gone.items():
                tap.dropped(ports[row], batch.row(row), now, True, why)
        if gone:
            _take_out(batch, list(gone))

    def _refuse(self, port: int, frame: Buffer, now: int, waiting: int, why: str) -> None:
        early = why == "early"
        (self._early if early else self._refused)[port] += 1
        if self._on_refusal is not None:
            self._on_refusal(port, frame, waiting, now, early)

    def _mark(self, batch: FrameBatch, row: int, port: int) -> None:
        marked = mark_ce(batch.row(row)[:_MOST_HEADERS])
        if marked is not None:
            batch.frames[row, _MARKED] = np.frombuffer(marked, np.uint8)[_MARKED]
            self._marks[port] += 1

    @property
    def marks(self) -> Mapping[int, int]:
        """Frames that got CE so far, by port that marks."""
        return {port: self._marks[port] for port, queue in self._queues.items() if queue.marks}

    @property
    def refused(self) -> int:
        """Frames that found a full queue and were not cut."""
        return sum(self._refused.values())

    def events(self) -> list[QueueMarks]:
        """Events at the end, port by port."""
        return [
            QueueMarks(port, self._marks[port], queue.peak, self._trimmed[port], self._refused[port], self._early[port])
            for port, queue in self._queues.items()
        ]


def _take_out(batch: FrameBatch, gone: Sequence[int]) -> None:
    keep = np.setdiff1d(np.arange(batch.count), np.asarray(gone))
    count = len(keep)
    batch.frames[:count], batch.lengths[:count] = batch.frames[keep], batch.lengths[keep]
    batch.ports[:count], batch.count = batch.ports[keep], count
