"""What a data plane asks about every frame on a port: the world hands it an answerer (the faults of that link)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workloads.machine import Buffer, Event, FrameBatch

__all__ = ["Delivery", "FrameFilter"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """A frame that goes on, perhaps altered, perhaps later."""

    at: int
    """ns; not before `now`"""
    frame: bytes


class FrameFilter(Protocol):
    """One direction of one link. Deterministic in its seed and in the identities of the frames."""

    def admit(self, frame: Buffer, now: int) -> tuple[Delivery, ...]:
        """What becomes of one frame: nothing (lost), one delivery, or several."""
        ...

    def screen(self, batch: FrameBatch, start: int, now: int) -> NDArray[np.bool_]:
        """For rows start..count-1: True where the frame passes untouched and at once, and has been counted. False where
        the caller must ask `admit` for it. The order of the rows is the order of the decisions."""
        ...

    def next_event(self) -> Event | None:
        """The oldest hit that was not yet returned."""
        ...

    def finish(self, now: int) -> None:
        """No frame will come any more: events that only the end shows are there."""
        ...
