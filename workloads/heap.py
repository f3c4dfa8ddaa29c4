"""Appointments in order of (time, tie, made): the body for Python. The compiled one is `heap.h`, by way of `heap.pxd`;
`tests/workloads/test_kernels.py` holds them equal. What belongs to an appointment lies at its *place*."""

from __future__ import annotations

import heapq

__all__ = ["Heap", "heap_first", "heap_free", "heap_last", "heap_new", "heap_pop", "heap_push", "heap_tie",
           "heap_what"]  # fmt: skip


class Heap:
    def __init__(self) -> None:
        self.entries: list[tuple[int, int, int, int, int]] = []
        self.free: list[int] = []
        """places that can be used again"""
        self.places = 0
        self.last = (0, 0)
        """time and kind of what was taken last"""


def heap_new() -> Heap:
    return Heap()


def heap_free(heap: Heap) -> None:
    """Free the heap's memory."""


def heap_push(heap: Heap, time: int, tie: int, made: int, what: int) -> int:
    """Add an entry. Returns its place; below zero when there is no memory."""
    if heap.free:
        place = heap.free.pop()
    else:
        place, heap.places = heap.places, heap.places + 1
    heapq.heappush(heap.entries, (time, tie, made, place, what))
    return place


def heap_pop(heap: Heap) -> int:
    """The place of the first one; `heap_last` and `heap_what` are its time and kind then. There must be one."""
    time, _, _, place, what = heapq.heappop(heap.entries)
    heap.free.append(place)
    heap.last = time, what
    return place


def heap_first(heap: Heap) -> int:
    """The time of the first one; -1: there is none."""
    return heap.entries[0][0] if heap.entries else -1


def heap_tie(heap: Heap) -> int:
    """Tie of the first entry, which must be there."""
    return heap.entries[0][1]


def heap_last(heap: Heap) -> int:
    return heap.last[0]


def heap_what(heap: Heap) -> int:
    return heap.last[1]
