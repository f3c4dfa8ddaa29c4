"""Frames that a filter put off, by deadline."""

from __future__ import annotations

import heapq

from switch_nodes.dataplane.lag import LagHistogram
from workloads.machine import FrameBatch

__all__ = ["DelayedFrames"]


class DelayedFrames:
    """A heap that is stable: of two frames due at the same time, the one put in first comes out first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, bytes]] = []
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def next_due(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def push(self, at: int, port: int, frame: bytes) -> None:
        heapq.heappush(self._heap, (at, self._sequence, port, frame))
        self._sequence += 1

    def pop_due(self, now: int, batch: FrameBatch, limit: int, lag: LagHistogram) -> None:
        """Fill `batch` with frames that are due, at most `limit` rows, and record how late each is."""
        batch.count = 0
        heap = self._heap
        while heap and heap[0][0] <= now and batch.count < limit:
            at, _, port, frame = heapq.heappop(heap)
            lag.record(now - at)
            batch.append(port, frame)
