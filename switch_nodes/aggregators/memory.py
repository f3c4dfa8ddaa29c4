"""The aggregation memory: one value per index, which all jobs share."""

from __future__ import annotations

from array import array
from typing import Any

import cython
import numpy as np
from numpy.typing import NDArray

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.tables import AggregatorState
from workloads.wire.aggregation import AggregationHeader, decode_datagram

if not cython.compiled:
    from workloads.datagrams.entries import enter
    from workloads.kernels import add_words, new_words, read_words

__all__ = ["Aggregator", "Memory"]

_Elements = NDArray[Any]
"""int32, shape (nelem,), in any byte order"""
_WORDS = array("i")
_SATURATING = 1
_LEAST, _MOST = -(1 << 31), (1 << 31) - 1
_WIRE = np.dtype(">i4")
_STATES = tuple(AggregatorState)
_EMPTY, _FILLING, _DONE = range(3)


def _add_elements(one: _Elements, other: _Elements, op: int) -> tuple[_Elements, bool]:
    """The sum, and whether an element of it saturated. `op` as in the header: 0 wraps, 1 saturates."""
    if op != _SATURATING:
        return one + other, False
    exact = one.astype(np.int64) + other
    total = np.clip(exact, _LEAST, _MOST)
    return total.astype(np.int32), bool((total != exact).any())


class Aggregator:
    """An occupied slot."""

    def __init__(self, a: AggregatorArrival, now: int) -> None:
        """Empty, and owned by the block of the packet."""
        served = a.served
        assert served is not None, "it was admitted"
        self.served, self.job, self.sequence, self.tensor = served, a.job, a.sequence, a.tensor
        self.target = a.wanted
        """`bitmap` of the complete sum"""
        self.frame, self.size = a.frame, a.count
        """frame of the packet that opened the slot; number of its elements"""
        self.bitmap = 0
        """ranks inside"""
        self.entered = [0] * served.size
        """per rank, how often its contribution was added; for reports only"""
        self.values: Any = new_words(_WORDS, a.count)
        self.exponent0 = self.exponent1 = self.priority = 0
        self.congested = self.overflow = False
        self.opened = now

    def is_of(self, a: AggregatorArrival) -> bool:
        """Whether it serves the block of the packet."""
        return self.sequence == a.sequence and self.job == a.job and self.tensor == a.tensor

    def add(self, a: AggregatorArrival) -> None:
        """The first one is taken, others are added; exponents: the largest."""
        if a.count != self.size:
            raise ValueError(f"{a.count} elements for a slot of {self.size}")
        if not self.bitmap:
            read_words(self.values, 0, a.frame, a.at, a.count)
            self.exponent0, self.exponent1 = a.exponent0, a.exponent1
        else:
            if a.op == _SATURATING:
                total, overflow = _add_elements(np.asarray(self.values), np.frombuffer(a.found.payload, _WIRE), a.op)
                self.values = total
                self.overflow = self.overflow or overflow
            else:
                add_words(self.values, 0, a.frame, a.at, a.count)
            self.exponent0 = a.exponent0 if a.exponent0 > self.exponent0 else self.exponent0
            self.exponent1 = a.exponent1 if a.exponent1 > self.exponent1 else self.exponent1
        rank, entered = a.rank, self.entered
        if 0 <= rank < len(entered) and a.bitmap == self.served.bits[rank]:
            entered[rank] += 1
        else:
            enter(entered, a.bitmap & self.served.everyone)
        self.bitmap |= a.bitmap
        self.priority = a.priority if a.priority > self.priority else self.priority
        self.congested = self.congested or a.congested

    @property
    def block(self) -> int:
        return (self.sequence - 1) & 0xFFFFFFFF

    @property
    def header(self) -> AggregationHeader:
        """Of the packet that opened it, made that of what is inside."""
        opened = decode_datagram(self.frame)
        assert opened is not None, "it was sound"
        bitmap0, bitmap1, node = self.names()
        return opened.header._replace(
            bitmap0=bitmap0, bitmap1=bitmap1, node=node or opened.header.node * (not self.served.is_wide),
            priority=self.priority,
            exponent0=self.exponent0, exponent1=self.exponent1, nelem=self.size,
        )  # fmt: skip

    def names(self) -> tuple[int, int, int]:
        """What `bitmap0`, `bitmap1` and `node` of a header say of who is inside."""
        served = self.served
        if not served.is_wide:
            return self.bitmap, served.racks_in(self.bitmap), 0
        names: tuple[int, int, int] | None = served.sets.named(self.bitmap)
        assert names is not None, "nothing was added that no header can name"
        return names

    @property
    def payload(self) -> bytes:
        return np.asarray(self.values).astype(_WIRE).tobytes()


class Memory:
    """Slots by index; which are empty, and for how long each job had how many."""

    def __init__(self, size: int) -> None:
        self.slots: list[Aggregator | None] = [None] * size

    def occupant(self, index: int) -> Aggregator | None:
        """None: it is empty."""
        if not 0 <= index < len(self.slots):
            raise IndexError(index)
        return self.slots[index]

    def state(self, index: int) -> AggregatorState:
        return _STATES[self.state_of(index)]

    def state_of(self, index: int) -> int:
        """By number."""
        slot = self.occupant(index)
        if slot is None:
            return _EMPTY
        return _DONE if slot.bitmap == slot.target else _FILLING

    def take(self, a: AggregatorArrival, now: int) -> Aggregator:
        """The empty slot that the packet names becomes that of its block."""
        slot = Aggregator(a, now)
        self.slots[a.slot] = slot
        slot.served.occupy(1, now)
        return slot

    def free(self, index: int, now: int) -> None:
        slot = self.occupant(index)
        if slot is not None:
            slot.served.occupy(-1, now)
            self.slots[index] = None
