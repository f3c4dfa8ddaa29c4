"""What a server has of the gradients of one iteration.

`RowGathering`, where every packet is of one worker: a row for each. `PartGathering`, where switches add on the way:
what comes is the sum of some workers' packets, which cannot be taken apart. A part counts as a whole, if no worker in
it is inside already and the flow of one of them is not closed. Who is left out because of that sends again, alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import cython
import numpy as np

from workloads.collectives.arithmetic import fold
from workloads.datagrams.arrival import Arrival
from workloads.dlcp.config import DlcpConfig
from workloads.dlcp.flow import ReceivedFlow
from workloads.dlcp.packets import ranks_of
from workloads.gradients import Vector

if not cython.compiled:
    from workloads.kernels import bit_of, read_words

__all__ = ["Gathering", "PartGathering", "RowGathering"]


class Gathering:
    """A subclass may override what has no underscore."""

    late: Sequence[int] = ()
    """ranks that learn with the sum that their flows have ended"""

    def __init__(self, config: DlcpConfig, dtype: np.dtype[Any]) -> None:
        self._config, self._dtype, self._elements = config, dtype, config.elements
        packets, needed = config.packets, config.needed
        self.flows = [ReceivedFlow(packets, needed) for _ in range(config.senders)]
        """flows by rank"""
        entered = np.zeros((config.collective.size, packets), np.int64)
        entered[config.senders] = 1
        self._entered: Any = entered
        """number of times that elements were taken, by rank and packet"""

    def has_enough(self) -> bool:
        """Whether all flows have enough."""
        closed = 0
        for flow in self.flows:
            closed += flow.closed
        return closed == len(self.flows)

    def take(self, found: Arrival) -> Iterable[int] | None:
        """Ranks whose flows ended with this packet and that must be informed; None: the packet does not count."""
        raise NotImplementedError

    def entered(self) -> list[tuple[int, ...]]:
        """Number of times that each packet was added, by packet and rank."""
        return list(zip(*np.asarray(self._entered).tolist(), strict=True))

    def parts(self) -> Iterable[tuple[int, ...]]:
        """Added parts, by packet; empty if each part is one rank."""
        return ()

    def total(self, own: Vector) -> Vector:
        """The sum with the server's own gradient; both have shape (elements,)."""
        raise NotImplementedError

    def _fold(self, rows: Vector | Sequence[Vector]) -> Vector:
        total = fold(np.asarray(rows, self._dtype).view(np.uint8), self._config.collective.arithmetic)
        return total.view(self._dtype)


class RowGathering(Gathering):
    """What did not come counts as +0."""

    def __init__(self, config: DlcpConfig, dtype: np.dtype[Any]) -> None:
        Gathering.__init__(self, config, dtype)
        self._total = config.workload.elements
        self.rows = np.zeros((config.collective.size, self._total), dtype)
        self._words: Any = self.rows.view(np.int32).reshape(-1)

    def take(self, found: Arrival) -> Iterable[int] | None:
        rank = 0
        while bit_of(rank) != found.bitmap:
            rank += 1
        flow, packet = self.flows[rank], found.sequence - 1
        if not flow.take(packet):
            return None
        self.enter(rank, packet, found)
        return (rank,) if flow.closed else ()

    def enter(self, rank: int, packet: int, found: Arrival) -> None:
        first = rank * self._total + packet * self._elements
        read_words(self._words, first, found.frame, found.at, found.count)
        self._entered[rank, packet] += 1

    def total(self, own: Vector) -> Vector:
        self.rows[self._config.senders] = own
        return self._fold(self.rows)


class PartGathering(Gathering):
    """A part counts as a whole, so flows may have more than they need. Their senders learn with the sum that they have
    ended."""

    def __init__(self, config: DlcpConfig, dtype: np.dtype[Any]) -> None:
        Gathering.__init__(self, config, dtype)
        self.late: Sequence[int] = range(config.senders)
        self._parts: list[list[tuple[int, Vector]]] = [[] for _ in range(config.packets)]
        """(bitmap, elements) of parts, by packet"""

    def take(self, found: Arrival) -> Iterable[int] | None:
        ranks, packet, is_wanted = ranks_of(found.bitmap), found.sequence - 1, False
        for rank in ranks:
            flow = self.flows[rank]
            if flow.has(packet):
                return None
            is_wanted = is_wanted or not flow.closed
        if not is_wanted:
            return None
        self.enter(packet, found)
        for rank in ranks:
            self.flows[rank].take(packet, True)
            self._entered[rank, packet] += 1
        return ()

    def enter(self, packet: int, found: Arrival) -> None:
        values = np.frombuffer(found.frame, self._dtype.newbyteorder(">"), found.count, found.at)
        self._parts[packet].append((found.bitmap, values.astype(self._dtype)))

    def parts(self) -> Iterable[tuple[int, ...]]:
        own = 1 << self._config.senders
        return [tuple([part[0] for part in self.ordered(packet)] + [own]) for packet in range(self._config.packets)]

    def total(self, own: Vector) -> Vector:
        total = own.copy()
        for packet in range(self._config.packets):
            first, end = self._config.span(packet)
            values = [part[1] for part in self.ordered(packet)]
            total[first:end] = self._fold([*values, own[first:end]])
        return total

    def ordered(self, packet: int) -> list[tuple[int, Vector]]:
        """The parts of a packet by the lowest rank in each."""
        return sorted(self._parts[packet], key=_lowest)


def _lowest(part: tuple[int, Vector]) -> int:
    return part[0] & -part[0]
