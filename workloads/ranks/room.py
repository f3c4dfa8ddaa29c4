"""Places in a rank's memory: which bytes gradients occupy that are on their way."""

from __future__ import annotations

from bisect import insort

__all__ = ["Room"]

_ALIGNMENT = 64


class Room:
    """First fit, from the front: memory that was never needed is never touched. All numbers are bytes."""

    def __init__(self, size: int) -> None:
        self.size = size - size % _ALIGNMENT
        self._taken: list[tuple[int, int]] = []
        """(start, stop), in order, not touching each other's bytes"""

    @property
    def is_empty(self) -> bool:
        return not self._taken

    def take(self, size: int) -> int | None:
        """Where `size` bytes are free; None: nowhere until something is given back. Raises ValueError for more than
        there is at all."""
        rounded = max(1, -(-size // _ALIGNMENT)) * _ALIGNMENT
        if rounded > self.size:
            raise ValueError(f"{size} bytes do not fit {self.size}")
        at = 0
        for start, stop in self._taken:
            if start - at >= rounded:
                break
            at = stop
        if at + rounded > self.size:
            return None
        insort(self._taken, (at, at + rounded))
        return at

    def give_back(self, start: int) -> None:
        """What `take` returned. Raises ValueError for anything else."""
        for index, (taken, _) in enumerate(self._taken):
            if taken == start:
                del self._taken[index]
                return
        raise ValueError(f"nothing was taken at {start}")
