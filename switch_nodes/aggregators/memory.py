"""The aggregation memory: one value per index, which all jobs share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from switch_nodes.aggregators.served import ServedJob
from switch_nodes.aggregators.tables import SlotState
from workloads.wire.aggregation import AggregationHeader, Datagram

__all__ = ["Aggregator", "Elements", "Memory", "add_elements", "elements_of"]

Elements = NDArray[Any]
"""int32, shape (nelem,), in any byte order"""
_SATURATING = 1
_LEAST, _MOST = -(1 << 31), (1 << 31) - 1
_WIRE = np.dtype(">i4")


def elements_of(found: Datagram) -> Elements:
    """A copy: the frame's bytes are its receiver's only while it looks at them."""
    return np.frombuffer(bytes(found.payload), _WIRE)


def add_elements(one: Elements, other: Elements, op: int) -> tuple[Elements, bool]:
    """The sum, and whether an element of it saturated. `op` as in the header: 0 wraps, 1 saturates."""
    if op != _SATURATING:
        return one + other, False
    exact = one.astype(np.int64) + other
    total = np.clip(exact, _LEAST, _MOST)
    return total.astype(np.int32), bool((total != exact).any())


class Aggregator:
    """An occupied slot."""

    __slots__ = (
        "bitmap", "congested", "entered", "exponents", "header", "opened", "overflow", "owner", "priority", "sequence",
        "served", "target", "tensor", "values",
    )  # fmt: skip

    def __init__(self, served: ServedJob, found: Datagram, now: int) -> None:
        """Empty, and owned by the block of `found`."""
        header = found.header
        self.served, self.sequence, self.tensor = served, header.sequence, header.tensor
        self.owner = (header.job, header.sequence, header.tensor)
        self.target = served.target_of(header.sequence)
        """`bitmap` of the complete sum"""
        self.header: AggregationHeader = header
        """of the packet that opened it"""
        self.bitmap = 0
        """ranks inside"""
        self.entered = [0] * served.size
        """per rank, how often its contribution was added: what is told, and decides nothing"""
        self.values: Elements = np.zeros(0, np.int32)
        self.exponents = (0, 0)
        self.priority = 0
        self.congested = self.overflow = False
        self.opened = now

    def add(self, found: Datagram, congested: bool) -> None:
        """The first one is taken, others are added; exponents: the largest."""
        header = found.header
        if not self.bitmap:
            self.values, self.exponents = elements_of(found), (header.exponent0, header.exponent1)
        else:
            self.values, overflow = add_elements(self.values, np.frombuffer(found.payload, _WIRE), header.op)
            self.overflow |= overflow
            first, second = self.exponents
            self.exponents = max(first, header.exponent0), max(second, header.exponent1)
        self.count(header.bitmap0)
        self.bitmap |= header.bitmap0
        self.priority = max(self.priority, header.priority)
        self.congested |= congested

    def count(self, bitmap: int) -> None:
        entered, rank = self.entered, 0
        while bitmap:
            if bitmap & 1:
                entered[rank] += 1
            bitmap >>= 1
            rank += 1

    @property
    def block(self) -> int:
        return (self.sequence - 1) & 0xFFFFFFFF

    def header_of(self, packet: AggregationHeader) -> AggregationHeader:
        """That of `packet`, made that of what is inside."""
        first, second = self.exponents
        return packet._replace(
            bitmap0=self.bitmap, bitmap1=self.served.racks_in(self.bitmap), priority=self.priority, exponent0=first,
            exponent1=second, nelem=len(self.values),
        )  # fmt: skip

    @property
    def payload(self) -> bytes:
        return self.values.astype(_WIRE, copy=False).tobytes()


class Memory:
    """Slots by index; which are empty, and for how long each job had how many."""

    def __init__(self, size: int) -> None:
        self.slots: list[Aggregator | None] = [None] * size

    def state(self, index: int) -> SlotState:
        slot = self.slots[index]
        if slot is None:
            return SlotState.EMPTY
        return SlotState.DONE if slot.bitmap == slot.target else SlotState.FILLING

    def take(self, index: int, served: ServedJob, found: Datagram, now: int) -> Aggregator:
        """The empty slot becomes that of the packet's block."""
        slot = self.slots[index] = Aggregator(served, found, now)
        served.occupy(1, now)
        return slot

    def free(self, index: int, now: int) -> None:
        slot = self.slots[index]
        if slot is not None:
            slot.served.occupy(-1, now)
            self.slots[index] = None
