"""What waits for a port, served by layer class (`workloads.wire.dscp`). Within a class, frames leave in order of
arrival. No frame leaves while one of a better class waits."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from workloads.wire.dscp import LAYER_CLASSES

__all__ = ["ClassQueue"]

_Item = TypeVar("_Item")


class ClassQueue(Generic[_Item]):
    """One queue for each layer class; a plain queue if everything goes into layer class 0."""

    def __init__(self) -> None:
        self._classes: tuple[deque[_Item], ...] = tuple(deque() for _ in range(LAYER_CLASSES))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def waiting_in(self, layer_class: int) -> int:
        return len(self._classes[layer_class])

    def put(self, item: _Item, layer_class: int = 0, size: int = 0) -> None:
        """`size`: in bytes, which this order does not ask for."""
        self._classes[layer_class].append(item)
        self._count += 1

    def take(self) -> _Item:
        """The next one to leave. Raises IndexError when nothing waits."""
        for waiting in self._classes:
            if waiting:
                self._count -= 1
                return waiting.popleft()
        raise IndexError("nothing waits")
