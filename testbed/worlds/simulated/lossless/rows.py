"""What waits at a port, by layer class: of the frames that may begin, the next one is the oldest, or that of the best
class."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from switch_nodes.forwarding.weighted import DeficitRound
from switch_nodes.lossless.pauses import PauseState
from testbed.worlds.simulated.lossless.charge import Charge
from workloads.wire.dscp import LAYER_CLASSES, layer_class_of, read_dscp
from workloads.wire.places import ETHERTYPE_AT, IS_IPV4, TOS_AT

__all__ = ["ClassRows", "QueuedFrame"]


class QueuedFrame(NamedTuple):
    number: int
    """counts arrivals"""
    frame: bytes
    charge: Charge | None
    paused_ns: int
    """how long its class had been paused when it came"""


_CLASS_OF_TOS = tuple(layer_class_of(tos >> 2) for tos in range(256))
_IPV4, _AT_TYPE, _AT_TOS = IS_IPV4, ETHERTYPE_AT, TOS_AT


class ClassRows:
    """`by_priority`: the best layer class is served first. `order`: layer classes share the link by weight. Else frames
    leave as they came."""

    def __init__(self, *, by_priority: bool, order: DeficitRound | None = None) -> None:
        self._by_priority, self._order, self._came = by_priority, order, 0
        self.classes: tuple[int, ...] = (0,) * LAYER_CLASSES
        """PFC class by layer class"""
        self._rows: tuple[deque[QueuedFrame], ...] = tuple(deque() for _ in range(LAYER_CLASSES))

    def layer_class(self, frame: bytes) -> int:
        """Of a frame."""
        if frame[_AT_TYPE : _AT_TYPE + 2] == _IPV4 and len(frame) > _AT_TOS:
            found: int = _CLASS_OF_TOS[frame[_AT_TOS]]
            return found
        return layer_class_of(read_dscp(frame))

    def __len__(self) -> int:
        return sum(map(len, self._rows))

    def waiting_in(self, layer_class: int) -> int:
        return len(self._rows[layer_class])

    def put(self, layer_class: int, frame: bytes, charge: Charge | None, paused_ns: int) -> None:
        self._came += 1
        self._rows[layer_class].append(QueuedFrame(self._came, frame, charge, paused_ns))

    def take(self, pauses: PauseState, now: int) -> tuple[int, QueuedFrame] | None:
        """(layer class, the next of the frames that may begin)"""
        best = -1
        if self._order is not None:
            best = self._order.choose(self._heads(pauses, now))
            return None if best < 0 else (best, self._rows[best].popleft())
        for layer_class, row in enumerate(self._rows):
            if row and pauses.may_begin(self.classes[layer_class], now):
                if best < 0 or row[0].number < self._rows[best][0].number:
                    best = layer_class
                if self._by_priority:
                    break
        return None if best < 0 else (best, self._rows[best].popleft())

    def _heads(self, pauses: PauseState, now: int) -> list[int]:
        """Bytes of the first frame of each layer class; 0: none may begin."""
        return [
            len(row[0].frame) if row and pauses.may_begin(self.classes[layer_class], now) else 0
            for layer_class, row in enumerate(self._rows)
        ]

    def held(self, pauses: PauseState, now: int) -> list[int]:
        """PFC classes, once for each layer class with frames that a pause keeps from beginning."""
        found = []
        for layer_class, row in enumerate(self._rows):
            if row and not pauses.may_begin(self.classes[layer_class], now):
                found.append(self.classes[layer_class])
        return found

    def charges(self) -> Iterator[tuple[int, Charge]]:
        """(PFC class, charge) of each frame that has one."""
        for layer_class, row in enumerate(self._rows):
            yield from ((self.classes[layer_class], each.charge) for each in row if each.charge is not None)

    def flush(self, pfc_class: int) -> int:
        """Drop all frames of a PFC class. Returns their number."""
        count = 0
        for layer_class, row in enumerate(self._rows):
            if self.classes[layer_class] == pfc_class:
                dropped = list(row)
                row.clear()
                count += len(dropped)
                for each in dropped:
                    if each.charge is not None:
                        each.charge.drop()
        return count
