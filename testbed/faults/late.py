"""Frames that faults hold back: which of them changed nothing, because their time did not come or nothing overtook
them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

from testbed.faults.events import FaultMissed
from testbed.faults.healing import kind_of
from testbed.faults.model import PacketFault
from testbed.terminal.numbers import moment

__all__ = ["LateFrames"]

_SECOND = 1_000_000_000


class LateFrames:
    """Of one link direction. Frames in order leave one after the other. So the first one behind a frame that was held
    back shows whether that one is overtaken."""

    def __init__(self, link: str, direction: str) -> None:
        self._link, self._direction = link, direction
        self._copies: deque[tuple[int, PacketFault]] = deque()
        """(due, fault) of copies and forged frames that come later than their packet"""
        self._reordered: list[tuple[int, PacketFault]] = []
        """packets behind which no frame left yet"""
        self._in_order: Counter[PacketFault] = Counter()
        """frames that were held back, and that nothing overtook"""

    @property
    def waiting(self) -> bool:
        """Whether the next frame in order is to be reported (`passed`)."""
        return bool(self._reordered)

    def copy(self, fault: PacketFault, due: int, now: int) -> None:
        while self._copies and self._copies[0][0] <= now:
            self._copies.popleft()
        self._copies.append((due, fault))

    def reordered(self, fault: PacketFault, due: int) -> None:
        self._reordered.append((due, fault))

    def passed(self, at: int) -> None:
        """A frame in order leaves at that time, and none did since the last frame was held back."""
        for due, fault in self._reordered:
            if due <= at:
                self._in_order[fault] += 1
        self._reordered.clear()

    def finish(self, now: int) -> Iterator[FaultMissed]:
        """The run is over."""
        for _, fault in self._reordered:
            self._in_order[fault] += 1
        late = Counter(fault for due, fault in self._copies if due > now)
        due = {fault: due for due, fault in reversed(self._copies) if due > now}
        for fault, count in late.items():
            why = f"what it sent later was due at {moment(due[fault])}, and the run ended at {moment(now)}"
            yield self._missed(fault, count, why)
        for fault, count in self._in_order.items():
            yield self._missed(fault, count, "no later packet overtook what it held back")
        self._copies.clear()
        self._reordered.clear()
        self._in_order.clear()

    def _missed(self, fault: PacketFault, strikes: int, why: str) -> FaultMissed:
        return FaultMissed(fault.name, kind_of(fault), self._link, self._direction, strikes, why)
