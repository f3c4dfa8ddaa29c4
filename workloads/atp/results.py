"""The last results of a worker, so that it can give them to a server that lost them (protocol text, 4.3)."""

from __future__ import annotations

from array import array
from typing import Any

__all__ = ["KeptResults"]


class KeptResults:
    """Two windows of them, as frames. While a worker waits for packet p, no other worker gets past the result of packet
    p + W - 1. So all other workers wait for a packet between p - W and p + W."""

    def __init__(self, window: int) -> None:
        self._size = 2 * window
        self._packets: Any = array("q", [-1]) * self._size
        self._frames: list[bytes | None] = [None] * self._size

    def keep(self, packet: int, frame: bytes) -> None:
        index = packet % self._size
        self._packets[index], self._frames[index] = packet, frame

    def find(self, packet: int) -> bytes | None:
        """The frame of its result, which was sound."""
        index = packet % self._size
        return self._frames[index] if self._packets[index] == packet else None
