"""What a server has of the gradients of one iteration.

`Rows`, where every packet is of one worker: a row for each. `Parts`, where switches add on the way: what comes is the
sum of some workers' packets, which cannot be taken apart. A part counts as a whole, if no worker in it is inside
already and the flow of one of them is not closed. Who is left out because of that sends again, alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from workloads.collectives.arithmetic import fold
from workloads.dlcp.config import DlcpConfig
from workloads.dlcp.flow import ReceivedFlow
from workloads.dlcp.packets import ranks_of
from workloads.gradients import Vector

__all__ = ["Gathering", "Parts", "Rows"]


class Gathering(Protocol):
    flows: list[ReceivedFlow]
    """by rank"""
    late: Sequence[int]
    """ranks whose flows' ends are told with the sum"""

    @property
    def closed(self) -> bool:
        """Enough is there of all."""
        ...

    def take(self, bitmap: int, packet: int, values: Vector) -> Iterable[int] | None:
        """Ranks whose flows ended with it, and are to be told; None: it does not count."""
        ...

    def entered(self, packet: int) -> tuple[int, ...]:
        """By rank, how often it was added."""
        ...

    def parts(self) -> Iterable[tuple[int, ...]]:
        """By packet, what was added up; nothing where that is each rank alone."""
        ...

    def total(self, own: Vector) -> Vector:
        """The sum with the server's own gradient; both have shape (elements,)."""
        ...


class _Flows:
    def __init__(self, config: DlcpConfig, dtype: np.dtype[Any]) -> None:
        self._config, self._dtype = config, dtype
        self.flows = [ReceivedFlow(config.packets, config.needed) for _ in range(config.senders)]
        self._entered = np.zeros((config.collective.size, config.packets), np.int64)
        """by rank and packet: how often its elements were taken"""
        self._entered[-1] = 1

    @property
    def closed(self) -> bool:
        return all(flow.closed for flow in self.flows)

    def entered(self, packet: int) -> tuple[int, ...]:
        return tuple(self._entered[:, packet].tolist())

    def _fold(self, rows: Sequence[Vector]) -> Vector:
        total = fold(np.array(rows, self._dtype).view(np.uint8), self._config.collective.arithmetic)
        return total.view(self._dtype)


class Rows(_Flows):
    """What did not come counts as +0."""

    def __init__(self, config: DlcpConfig, dtype: np.dtype[Any]) -> None:
        super().__init__(config, dtype)
        self.late: Sequence[int] = ()
        self.rows = np.zeros((config.collective.size, config.workload.elements), dtype)

    def take(self, bitmap: int, packet: int, values: Vector) -> Iterable[int] | None:
        (rank,) = ranks_of(bitmap)
        if not self.flows[rank].take(packet):
            return None
        self.enter(rank, packet, values)
        return (rank,) if self.flows[rank].closed else ()

    def enter(self, rank: int, packet: int, values: Vector) -> None:
        first, end = self._config.span(packet)
        self.rows[rank, first:end] = values
        self._entered[rank, packet] += 1

    def parts(self) -> Iterable[tuple[int, ...]]:
        return ()

    def total(self, own: Vector) -> Vector:
        self.rows[-1] = own
        return self._fold(list(self.rows))


class Parts(_Flows):
    """A part counts as a whole, so that flows may have more than they need; their ends are told with the sum."""

    def __init__(self, config: DlcpConfig, dtype: np.dtype[Any]) -> None:
        super().__init__(config, dtype)
        self.late: Sequence[int] = range(config.senders)
        self._parts: list[list[tuple[int, Vector]]] = [[] for _ in range(config.packets)]
        """by packet: (bitmap, elements)"""

    def take(self, bitmap: int, packet: int, values: Vector) -> Iterable[int] | None:
        ranks = ranks_of(bitmap)
        if any(self.flows[rank].has(packet) for rank in ranks) or all(self.flows[rank].closed for rank in ranks):
            return None
        self._parts[packet].append((bitmap, values))
        for rank in ranks:
            self.flows[rank].take(packet, also_closed=True)
            self._entered[rank, packet] += 1
        return ()

    def parts(self) -> Iterable[tuple[int, ...]]:
        own = 1 << self._config.senders
        return [(*(bitmap for bitmap, _ in self._ordered(packet)), own) for packet in range(self._config.packets)]

    def total(self, own: Vector) -> Vector:
        total = own.copy()
        for packet in range(self._config.packets):
            first, end = self._config.span(packet)
            values = [part for _, part in self._ordered(packet)]
            total[first:end] = self._fold([*values, own[first:end]])
        return total

    def _ordered(self, packet: int) -> list[tuple[int, Vector]]:
        """By the lowest rank in each."""
        return sorted(self._parts[packet], key=lambda part: part[0] & -part[0])
