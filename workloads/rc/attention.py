"""Which queue pairs of an endpoint have something to do, without a look at each of them. A host of a sharded parameter
server of 32 hosts has 248, and most are idle.

A set of queue pairs is a bitmap here, bit i for the i-th queue pair of the endpoint.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Protocol

__all__ = ["Attention", "Watched", "members"]

_ONE = 1
"""a bitmap, which may be wider than a number of compiled code"""


class Watched(Protocol):
    """What the endpoint wants to know of a queue pair. Whatever changes one of these calls `touch`."""

    @property
    def has_answer(self) -> bool: ...

    @property
    def has_request(self) -> bool: ...

    @property
    def deadline(self) -> int | None: ...


def members(bitmap: int) -> Iterator[int]:
    """The numbers of its bits, ascending."""
    while bitmap:
        lowest = bitmap & -bitmap
        yield lowest.bit_length() - 1
        bitmap ^= lowest


class Attention:
    """The attention of one endpoint. It looks at a queue pair again only after that was touched."""

    def __init__(self) -> None:
        self._pairs: list[Watched] = []
        self._changed = self._answering = self._requesting = 0
        self.stale = 0
        """Queue pairs that were touched since compiled code got them; compiled code's own side clears its bits."""
        self._due: list[int | None] = []
        """Deadlines of all queue pairs."""
        self._listed: list[int | None] = []
        """Time of the newest entry of each queue pair in `_heap`; None: it has none there that counts."""
        self._heap: list[tuple[int, int]] = []
        """(time, queue pair), at or before the deadline of each queue pair that has one."""

    def add(self, pair: Watched) -> int:
        """Watch one more. Returns its bitmap, for `touch`."""
        bit = _ONE << len(self._pairs)
        self._pairs.append(pair)
        self._due.append(None)
        self._listed.append(None)
        self.touch(bit)
        return bit

    def touch(self, pairs: int) -> None:
        """They did something."""
        self._changed |= pairs
        self.stale |= pairs

    @property
    def answering(self) -> int:
        """Queue pairs that have an answer to send."""
        if self._changed:
            self._look()
        return self._answering

    def requesting_from(self, first: int) -> Iterator[int]:
        """Queue pairs that have a request to send, as far as congestion control allows it: from that one on, then those
        in front of it."""
        if self._changed:
            self._look()
        behind = self._requesting >> first
        yield from (first + number for number in members(behind))
        yield from members(self._requesting ^ behind << first)

    @property
    def first_deadline(self) -> int | None:
        """The earliest deadline of all."""
        if self._changed:
            self._look()
        heap, due, listed = self._heap, self._due, self._listed
        while heap:
            time, number = heap[0]
            deadline = due[number]
            if time == deadline:
                return time
            if time != listed[number] or deadline is None:
                heapq.heappop(heap)
                if time == listed[number]:
                    listed[number] = None
            else:  # it was put off
                heapq.heapreplace(heap, (deadline, number))
                listed[number] = deadline
        return None

    def due(self, now: int) -> list[int]:
        """Queue pairs with a deadline that is not after `now`, ascending."""
        found = set[int]()
        while (deadline := self.first_deadline) is not None and deadline <= now:
            _, number = heapq.heappop(self._heap)
            self._listed[number] = self._due[number] = None
            found.add(number)
        for each in found:
            self._changed |= _ONE << each
        return sorted(found)

    def _look(self) -> None:
        changed, self._changed = self._changed, 0
        self._answering &= ~changed
        self._requesting &= ~changed
        while changed:
            bit = changed & -changed
            number = bit.bit_length() - 1
            changed ^= bit
            pair = self._pairs[number]
            if pair.has_answer:
                self._answering |= bit
            if pair.has_request:
                self._requesting |= bit
            deadline, listed = pair.deadline, self._listed[number]
            self._due[number] = deadline
            if deadline is not None and (listed is None or deadline < listed):
                self._listed[number] = deadline
                heapq.heappush(self._heap, (deadline, number))
