"""The filter of a port for a loop that holds one frame at a time. Frames that no fault can touch pass in compiled code
(`link.h`). All others go to the filter itself, in their turn."""

from __future__ import annotations

import cython

from switch_nodes.filters import FrameFilter
from testbed.faults.link_filter import LinkFilter

if not cython.compiled:

    def link_pass(link: int, frame: bytes, now: int) -> int:
        """The interpreted filter decides on every frame."""
        return -1


__all__ = ["Gate"]


class Gate:
    def __init__(self, found: FrameFilter) -> None:
        self.filter = found
        shared = found.share() if cython.compiled and isinstance(found, LinkFilter) else None
        self._link = 0 if shared is None else shared

    def passes(self, frame: bytes, now: int) -> int:
        """When a frame goes on that came `now`, untouched; -1: the filter decides."""
        return link_pass(self._link, frame, now) if self._link else -1
