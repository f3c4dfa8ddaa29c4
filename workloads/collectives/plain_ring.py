"""What code that carries a ring all-reduce on needs of it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from workloads.collectives.schedules import RingSchedule
from workloads.config import CollectiveConfig
from workloads.transports.messages import SendRequest

__all__ = ["PlainRing", "RingPlace"]


class RingPlace(NamedTuple):
    """How far a rank is."""

    send_base: int
    receive_base: int
    """numbers of the iteration's first messages on either connection"""
    posted: int
    acked: int
    consumed: int
    """messages since the start of the iteration"""


class PlainRing(Protocol):
    """One rank."""

    config: CollectiveConfig
    sends: RingSchedule
    receives: RingSchedule
    window: int
    """messages in flight"""
    slot_bytes: int

    @property
    def is_plain(self) -> bool:
        """Whether compiled code may carry it on: it is in the midst of an all-reduce by WRITE, and nothing waits."""
        ...

    @property
    def queue_pairs(self) -> tuple[int, int]:
        """Numbers of those that send and receive."""
        ...

    @property
    def place(self) -> RingPlace: ...

    @property
    def memory(self) -> tuple[memoryview, memoryview, memoryview]:
        """Gradient, result and receive slots."""
        ...

    def request(self, place: int) -> SendRequest:
        """Message `place` of the iteration."""
        ...

    def come_to(self, posted: int, acked: int, consumed: int, taken: int, now: int) -> None:
        """Compiled code brought it there, and its events are reported. `taken`: receives that are gone."""
        ...
