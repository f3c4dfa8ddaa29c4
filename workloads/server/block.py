"""One block at a parameter server: the sum, who is inside, and what its packets told."""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from workloads.datagrams.arrival import Arrival
from workloads.datagrams.worker_sets import ranks_in
from workloads.server.tables import BlockState
from workloads.wire.aggregation import DatagramFlag

if not cython.compiled:
    from workloads.kernels import add_words, read_words

__all__ = ["Block"]

_LEAST, _MOST = -(1 << 31), (1 << 31) - 1
_COLLISION, _OVERFLOW = int(DatagramFlag.COLLISION), int(DatagramFlag.OVERFLOW)
_NOTHING = np.empty(0, np.int32)


class Block:
    """`saturating`: elements stop at the ends of int32, and `overflow` tells of it; else they wrap."""

    def __init__(self, number: int, workers: int, *, saturating: bool) -> None:
        self.number, self._saturating = number, saturating
        self.state = BlockState.UNKNOWN
        self.bitmap = 0
        """bit r: rank r is inside"""
        self.entered = [0] * workers
        """per rank: how often elements with that rank inside were added"""
        self.slot = self.tensor = self.priority = self.exponent0 = self.exponent1 = 0
        self.overflow = self.collided = self.marked = False
        self.later = self.reminders = 0
        """later blocks that were complete before it; how often it was asked for"""
        self.awaits_switch = False
        """a switch owes an answer to a reminder"""
        self.answers = 0
        """how many workers were asked for it and did not answer with the sum yet"""
        self.deadline: int | None = None
        """when it is asked for, in ns"""
        self.size = 0
        """elements"""
        self.values: Any = _NOTHING
        self.frame = b""
        """the result to all, once it is complete"""

    def replace(self, a: Arrival) -> None:
        """The packet's elements are the sum. Whether parts of it left int32 when they were added here no longer
        matters."""
        self.entered, self.overflow = [0] * len(self.entered), False
        self.bitmap, self.exponent0, self.exponent1 = a.bitmap, a.exponent0, a.exponent1
        if self.size != a.count or not self.size:
            self.values, self.size = np.empty(a.count, np.int32), a.count
        read_words(self.values, 0, a.frame, a.at, a.count)
        self._note(a)

    def add(self, a: Arrival) -> None:
        """The packet's elements are added. Where workers name different slots, some missed that the entry moved: it has
        to move once more, or no switch would ever have all parts in one slot."""
        if a.count != self.size:
            raise ValueError(f"{a.count} elements for a sum of {self.size}")
        self.collided = self.collided or a.slot != self.slot
        self.bitmap |= a.bitmap
        self.exponent0 = a.exponent0 if a.exponent0 > self.exponent0 else self.exponent0
        self.exponent1 = a.exponent1 if a.exponent1 > self.exponent1 else self.exponent1
        if self._saturating:
            exact = np.asarray(self.values).astype(np.int64) + np.frombuffer(a.frame, ">i4", a.count, a.at)
            total = np.clip(exact, _LEAST, _MOST)
            self.values = total.astype(np.int32)
            self.overflow = self.overflow or bool((exact != total).any())
        else:
            add_words(self.values, 0, a.frame, a.at, a.count)
        self._note(a)

    def seal(self, frame: bytes) -> None:
        """The sum is in the frame of its result; the block keeps that and nothing else."""
        self.frame, self.values, self.size = frame, _NOTHING, 0

    def hear(self, a: Arrival) -> None:
        """What a packet says besides its elements, whatever becomes of those."""
        self.marked = self.marked or a.congested
        self.collided = self.collided or a.flags & _COLLISION != 0

    def _note(self, a: Arrival) -> None:
        self.slot, self.tensor = a.slot, a.tensor
        self.priority = a.priority if a.priority > self.priority else self.priority
        self.overflow = self.overflow or a.flags & _OVERFLOW != 0
        for rank in ranks_in(a.bitmap):
            self.entered[rank] += 1
