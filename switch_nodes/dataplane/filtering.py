"""Sends the rows of a batch through the filters of their ports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from switch_nodes.dataplane.deliveries import DelayedFrames
from switch_nodes.filters import FrameFilter
from switch_nodes.tap import Tap
from workloads.machine import Event, FrameBatch

__all__ = ["PortFilters"]


class PortFilters:
    """One direction of all ports. Frames to be delivered later wait in `delayed`."""

    def __init__(self, filters: Mapping[int, FrameFilter], *, outgoing: bool, tap: Tap | None = None) -> None:
        self._filters, self._outgoing, self._tap = dict(filters), outgoing, tap
        self.delayed = DelayedFrames()
        self._scratch: FrameBatch | None = None

    def __bool__(self) -> bool:
        return bool(self._filters)

    def apply(self, batch: FrameBatch, now: int) -> None:
        """Afterwards the rows of `batch` are those that go on now, still in order."""
        asked = self._asked(batch, now)
        if asked:
            self._rebuild(batch, asked, now)

    def events(self) -> Iterator[Event]:
        """Events of the filters, port by port."""
        for item in self._filters.values():
            while (event := item.next_event()) is not None:
                yield event

    def finish(self, now: int) -> None:
        for item in self._filters.values():
            item.finish(now)

    def _asked(self, batch: FrameBatch, now: int) -> set[int]:
        """Rows for which `admit` must be asked."""
        count = batch.count
        ports = batch.ports[:count]
        numbers: list[int] = ports.tolist()
        asked: set[int] = set()
        for port in sorted(set(numbers)):
            chosen = self._filters.get(port)
            if chosen is None:
                continue
            first, last = numbers.index(port), count - numbers[::-1].index(port)
            if numbers.count(port) == last - first:
                batch.count = last
                passes = chosen.screen(batch, first, now)
                batch.count = count
                if not passes.all():
                    asked.update((first + np.flatnonzero(~passes)).tolist())
            else:
                rows = np.flatnonzero(ports == port)
                passes = chosen.screen(self._gather(batch, rows.tolist()), 0, now)
                if not passes.all():
                    asked.update(rows[~passes].tolist())
        return asked

    def _gather(self, batch: FrameBatch, rows: Sequence[int]) -> FrameBatch:
        """A copy of some rows, since a filter looks at rows side by side."""
        if self._scratch is None or self._scratch.capacity < batch.capacity or self._scratch.stride < batch.stride:
            self._scratch = FrameBatch.of(batch.capacity, batch.stride)
        scratch = self._scratch
        scratch.count = 0
        for row in rows:
            scratch.append(int(batch.ports[row]), batch.row(row))
        return scratch

    def _rebuild(self, batch: FrameBatch, asked: set[int], now: int) -> None:
        """Take out what is lost or late. If more frames go on than came in (a duplicate), the remaining rows wait for
        the next turn of the loop. That turn serves `delayed` first, so the order stays."""
        write, full = min(asked), False
        for row in range(write, batch.count):
            port = int(batch.ports[row])
            if row not in asked:
                if full:
                    self.delayed.push(now, port, bytes(batch.row(row)))
                else:
                    _move(batch, row, write)
                    write += 1
                continue
            frame = batch.row(row)
            deliveries = self._filters[port].admit(frame, now)
            if not deliveries and self._tap is not None:
                self._tap.dropped(port, frame, now, self._outgoing, "filter")
            for delivery in deliveries:
                if delivery.at > now or full or write > row:
                    full = full or delivery.at <= now
                    self.delayed.push(max(delivery.at, now), port, delivery.frame)
                else:
                    size = len(delivery.frame)
                    batch.frames[write, :size] = np.frombuffer(delivery.frame, np.uint8)
                    batch.lengths[write], batch.ports[write] = size, port
                    write += 1
        batch.count = write


def _move(batch: FrameBatch, source: int, target: int) -> None:
    if source != target:
        size = int(batch.lengths[source])
        batch.frames[target, :size] = batch.frames[source, :size]
        batch.lengths[target], batch.ports[target] = size, batch.ports[source]
