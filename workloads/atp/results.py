"""The last results of a worker, so that it can give them to a server that lost them (protocol text, 4.3)."""

from __future__ import annotations

__all__ = ["KeptResults"]


class KeptResults:
    """Two windows of them, as frames. While a worker waits for packet p, no other worker gets past the result of packet
    p + W - 1. So all other workers wait for a packet between p - W and p + W."""

    def __init__(self, window: int) -> None:
        self._kept: list[tuple[int, bytes] | None] = [None] * (2 * window)

    def keep(self, packet: int, frame: bytes) -> None:
        self._kept[packet % len(self._kept)] = packet, frame

    def find(self, packet: int) -> bytes | None:
        """The frame of its result, which was sound."""
        found = self._kept[packet % len(self._kept)]
        return found[1] if found is not None and found[0] == packet else None
