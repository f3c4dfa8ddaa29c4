"""The way to a card's registers: bytes at addresses. Code that has one of these can drive a card, wherever the
card is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from switch_nodes.fpga.card import EmulatedCard

__all__ = ["CardTransport", "MemoryTransport", "StepClock"]


class CardTransport(Protocol):
    """Accesses are whole words (4 bytes, little-endian) on word addresses, in the order of the calls, each exactly
    once. A burst is its words in ascending order. Both raise OSError when the card, or who stands before it, does not
    answer."""

    max_bytes: int
    """most bytes of one burst"""

    def read(self, address: int, size: int) -> bytes: ...

    def write(self, address: int, data: bytes) -> None: ...


class StepClock:
    """Time that passes only when a caller sleeps: an emulated card in our own process need not be waited for."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now

    def sleep(self, pause_ns: int) -> None:
        self.now += pause_ns


class MemoryTransport:
    """An emulated card in this process. `clock` gives the card's time in ns."""

    max_bytes = 1 << 16

    def __init__(self, card: EmulatedCard, clock: Callable[[], int]) -> None:
        self._card, self._clock = card, clock

    def read(self, address: int, size: int) -> bytes:
        return self._card.read(address, size, self._clock())

    def write(self, address: int, data: bytes) -> None:
        self._card.write(address, data, self._clock())
