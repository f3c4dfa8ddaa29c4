"""The last results of a worker, so that it can give them to a server that lost them (protocol text, 4.3)."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["KeptResult", "KeptResults"]


class KeptResult(NamedTuple):
    """As it came."""

    packet: int
    slot: int
    tensor: int
    exponents: tuple[int, int]
    payload: bytes


class KeptResults:
    """Two windows of them. A worker that still waits for packet p lets nobody get past the result of packet p + W - 1,
    so that everybody else waits for p - W at the least and p + W at the most."""

    def __init__(self, window: int) -> None:
        self._kept: list[KeptResult | None] = [None] * (2 * window)

    def keep(self, result: KeptResult) -> None:
        self._kept[result.packet % len(self._kept)] = result

    def find(self, packet: int) -> KeptResult | None:
        found = self._kept[packet % len(self._kept)]
        return found if found is not None and found.packet == packet else None
