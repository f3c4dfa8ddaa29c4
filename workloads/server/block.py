"""One block at a parameter server: the sum, who is inside, and what its packets told."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.server.tables import BlockState
from workloads.wire.aggregation import AggregationHeader, DatagramFlag

__all__ = ["Block"]

_LEAST, _MOST = -(1 << 31), (1 << 31) - 1


class Block:
    """`saturating`: elements stop at the ends of int32, and `overflow` tells of it; else they wrap."""

    def __init__(self, number: int, workers: int, *, saturating: bool) -> None:
        self.number, self._saturating = number, saturating
        self.state = BlockState.UNKNOWN
        self.bitmap = 0
        """bit r: rank r is inside"""
        self.entered = [0] * workers
        """per rank: how often elements with that rank inside were added"""
        self.slot = self.tensor = self.priority = 0
        self.exponents = (0, 0)
        self.overflow = self.collided = self.marked = False
        self.later = self.reminders = 0
        """later blocks that were complete before it; how often it was asked for"""
        self.awaits_switch = False
        """a switch owes an answer to a reminder"""
        self.answers = 0
        """how many workers were asked for it and did not answer with the sum yet"""
        self.deadline: int | None = None
        """when it is asked for, in ns"""
        self._sum: NDArray[Any] = np.empty(0, np.int32)
        self.result: AggregationHeader | None = None
        """of the result, once it is complete"""
        self.payload = b""
        """of the result"""

    @property
    def size(self) -> int:
        """Elements."""
        return len(self._sum)

    def replace(self, header: AggregationHeader, payload: memoryview) -> None:
        """The packet's elements are the sum. Whether parts of it left int32 when they were added here no longer
        matters."""
        self.entered, self.overflow = [0] * len(self.entered), False
        self.bitmap, self.exponents = header.bitmap0, (header.exponent0, header.exponent1)
        self._sum = np.frombuffer(payload, ">i4").astype(np.int32)
        self._note(header)

    def add(self, header: AggregationHeader, payload: memoryview) -> None:
        """The packet's elements are added. Where workers name different slots, some missed that the entry moved: it has
        to move once more, or no switch would ever have all parts in one slot."""
        self.collided |= header.slot != self.slot
        self.bitmap |= header.bitmap0
        self.exponents = max(self.exponents[0], header.exponent0), max(self.exponents[1], header.exponent1)
        values = np.frombuffer(payload, ">i4")
        if self._saturating:
            exact = self._sum.astype(np.int64) + values
            self._sum = np.clip(exact, _LEAST, _MOST).astype(np.int32)
            self.overflow |= bool((exact != self._sum).any())
        else:
            self._sum = self._sum + values.astype(np.int32)
        self._note(header)

    def take_payload(self) -> bytes:
        """The sum as it travels; the block keeps that and nothing else."""
        self.payload, self._sum = self._sum.astype(">i4").tobytes(), self._sum[:0]
        return self.payload

    def hear(self, header: AggregationHeader, *, marked: bool) -> None:
        """What a packet says beside its elements, whatever becomes of those."""
        self.marked |= marked
        self.collided |= bool(header.flags & DatagramFlag.COLLISION)

    def _note(self, header: AggregationHeader) -> None:
        self.slot, self.tensor = header.slot, header.tensor
        self.priority = max(self.priority, header.priority)
        self.overflow |= bool(header.flags & DatagramFlag.OVERFLOW)
        for rank in range(len(self.entered)):
            self.entered[rank] += header.bitmap0 >> rank & 1
