"""One block at a parameter server: the sum, the ranks inside, and the values that its packets carried."""

from __future__ import annotations

from array import array
from typing import Any

import cython
import numpy as np

from workloads.datagrams.arrival import Arrival
from workloads.server.tables import BlockState
from workloads.wire.aggregation import DatagramFlag

if not cython.compiled:
    from workloads.datagrams.entries import enter
    from workloads.kernels import add_words, new_words, read_words

__all__ = ["Block"]

_LEAST, _MOST = -(1 << 31), (1 << 31) - 1
_COLLISION, _OVERFLOW = int(DatagramFlag.COLLISION), int(DatagramFlag.OVERFLOW)
_WORDS = array("i")
_NOTHING = np.empty(0, np.int32)


class Block:
    """`saturating`: elements stop at the ends of int32, and `overflow` records it; else they wrap."""

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
        """number of later blocks that were complete before it; number of reminders for it"""
        self.awaits_switch = False
        """whether a switch has not yet answered a reminder"""
        self.answers = 0
        """workers that the server asked for it and that did not answer with the sum yet"""
        self.deadline: int | None = None
        """time of the next request for it, in ns"""
        self.size = 0
        """elements"""
        self._packets: list[tuple[Any, bytes, int, bool]] = []
        """workers, frame, place of its elements and overflow of each packet inside"""
        self.values: Any = _NOTHING
        self.frame = b""
        """the result to all, once it is complete"""

    def replace(self, a: Arrival) -> None:
        """The packet's elements are the sum. Whether parts of it left int32 when they were added here no longer
        matters."""
        self.exponent0, self.exponent1 = a.exponent0, a.exponent1
        self._empty(a.count)
        self._sum(a.bitmap, a.frame, a.at, a.flags & _OVERFLOW != 0)
        self._note(a)

    def add(self, a: Arrival) -> None:
        """Add the packet's elements. If workers name different slots, some missed that the entry moved. Then it must
        move again, or no switch would ever have all parts in one slot."""
        if a.count != self.size:
            raise ValueError(f"{a.count} elements for a sum of {self.size}")
        self.collided = self.collided or a.slot != self.slot
        self.exponent0 = a.exponent0 if a.exponent0 > self.exponent0 else self.exponent0
        self.exponent1 = a.exponent1 if a.exponent1 > self.exponent1 else self.exponent1
        self._sum(a.bitmap, a.frame, a.at, a.flags & _OVERFLOW != 0)
        self._note(a)

    def is_wider(self, bitmap: Any) -> bool:
        """Whether a packet of these workers can take the place of all packets inside that it overlaps, and brings
        another worker."""
        if not bitmap & ~self.bitmap:
            return False
        for workers, _, _, _ in self._packets:  # noqa: SIM110 - compiled methods have no generators
            if workers & bitmap and workers & ~bitmap:
                return False
        return True

    def swap(self, a: Arrival) -> None:
        """A packet that `is_wider` replaces those that it overlaps. The other packets are added again from zero, as a
        sum that stopped at an end of int32 cannot be taken apart."""
        kept = [packet for packet in self._packets if not packet[0] & a.bitmap]
        self._empty(self.size)
        for workers, frame, at, left_range in kept:
            self._sum(workers, frame, at, left_range)
        self.add(a)

    def _empty(self, size: int) -> None:
        """Remove the elements of all ranks."""
        self.entered, self.bitmap, self._packets, self.overflow = [0] * len(self.entered), 0, [], False
        if self.size != size or not size:
            self.values, self.size = new_words(_WORDS, size), size

    def _sum(self, workers: Any, frame: bytes, at: int, left_range: bool) -> None:
        """Add the elements at `at` of the frame. `left_range`: a switch says that a sum in them left int32."""
        self.overflow = self.overflow or left_range
        if not self._packets:
            read_words(self.values, 0, frame, at, self.size)
        elif self._saturating:
            exact = np.asarray(self.values).astype(np.int64) + np.frombuffer(frame, ">i4", self.size, at)
            total = np.clip(exact, _LEAST, _MOST)
            self.values = total.astype(np.int32)
            self.overflow = self.overflow or bool((exact != total).any())
        else:
            add_words(self.values, 0, frame, at, self.size)
        self._packets.append((workers, frame, at, left_range))
        self.bitmap |= workers
        enter(self.entered, workers)

    def seal(self, frame: bytes) -> None:
        """The sum is in the frame of its result; the block keeps that and nothing else."""
        self.frame, self.values, self.size, self._packets = frame, _NOTHING, 0, []

    def hear(self, a: Arrival) -> None:
        """What a packet says besides its elements, whatever becomes of those."""
        self.marked = self.marked or a.congested
        self.collided = self.collided or a.flags & _COLLISION != 0

    def _note(self, a: Arrival) -> None:
        self.slot, self.tensor = a.slot, a.tensor
        self.priority = a.priority if a.priority > self.priority else self.priority
