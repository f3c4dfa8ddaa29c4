"""The filter of a port for a loop that holds one frame at a time. Compiled code decides on frames that no fault can
touch, and on datagrams that a plain loss takes away (`link.h`). All others go to the filter itself, in their turn."""

from __future__ import annotations

from typing import Any

import cython

from switch_nodes.filters import FrameFilter
from testbed.faults.link_filter import LinkFilter

if not cython.compiled:

    def link_decide(gate: Gate, frame: bytes, now: int) -> int:
        """The interpreted filter decides on every frame."""
        return -1


__all__ = ["LOST", "Gate"]

LOST = -2
_LOST = LOST


class Gate:
    def __init__(self, found: FrameFilter) -> None:
        self.filter: Any = found
        shared = found.share() if cython.compiled and isinstance(found, LinkFilter) else None
        self._link = 0 if shared is None else shared
        self._rule = self._key = self._occurrence = 0
        """of the last frame that was lost"""

    def passes(self, frame: bytes, now: int) -> int:
        """When a frame that came `now` goes on, untouched. -1: the filter decides. LOST: it goes nowhere, which
        `tell_lost` must report."""
        return link_decide(self, frame, now) if self._link else -1

    def tell_lost(self, frame: bytes) -> None:
        """The filter reports the loss of the frame."""
        self.filter.lost(self._rule, self._key, self._occurrence, frame)
