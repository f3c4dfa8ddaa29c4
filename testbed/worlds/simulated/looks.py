"""Looks at a simulated run from outside, now and then."""

from __future__ import annotations

from testbed.worlds.simulated.circling import CirclingWatch
from testbed.worlds.simulated.reallimit import RealLimit

__all__ = ["EVERY", "Looks"]

EVERY = 256
"""steps of the world between two looks at the clock"""
_CIRCLING_EVERY = 64
"""such looks between two at what circles"""


class Looks:
    """Raises as `CirclingWatch` does."""

    def __init__(self, circling: CirclingWatch, limit: RealLimit) -> None:
        self._circling, self._limit, self._count = circling, limit, 0

    def look(self, now: int) -> bool:
        """Whether the run may go on."""
        self._count += 1
        if self._count % _CIRCLING_EVERY == 0:
            self._circling.look(now)
        return self._limit.step(now)
