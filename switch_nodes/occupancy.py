"""How many slots of a switch's memory a job has in use, for how long, and for what. Reported at the end; decides
nothing."""

from __future__ import annotations

__all__ = ["Occupancy"]


class Occupancy:
    """Times in ns, sums over slots."""

    def __init__(self) -> None:
        self.occupied = 0
        """slots in use"""
        self.peak = 0
        """most slots in use at one time"""
        self.busy_ns = 0
        """slot time until the last packet that the job still needed"""
        self.useful_ns = 0
        """slot time from the first to the last contribution of sums that left complete"""
        self._since = self._all_ns = 0

    def occupy(self, amount: int, now: int) -> None:
        """`amount` more slots are in use (negative: fewer)."""
        self._all_ns += self.occupied * (now - self._since)
        self._since = now
        self.occupied += amount
        if self.occupied > self.peak:
            self.peak = self.occupied

    def touch(self, now: int) -> None:
        """A packet came that the job still needs: until here its slots are in use. Late copies keep nothing busy."""
        self.occupy(0, now)
        self.busy_ns = self._all_ns
