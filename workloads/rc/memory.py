"""Memory that a peer may write: regions by remote key."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["MemoryRegions"]


class MemoryRegions:
    """What was registered. A key names one region; the address range is that of the remote side's RETH."""

    def __init__(self) -> None:
        self._regions: dict[int, tuple[int, memoryview, bool]] = {}

    def register(self, rkey: int, base_va: int, memory: memoryview, *, endless: bool = False) -> None:
        """`endless`: the memory is known under all addresses from `base_va` on, again and again. Raises ValueError for
        a key that is taken or memory that is read-only, TypeError when it is not contiguous."""
        view = memory.cast("B")
        if view.readonly:
            raise ValueError(f"the memory of rkey {rkey:#x} is read-only")
        if rkey in self._regions:
            raise ValueError(f"rkey {rkey:#x} is registered already")
        self._regions[rkey] = base_va, view, endless

    def release(self, rkey: int) -> None:
        """Forget a region: no request may name its key any more. Raises KeyError for a key that is not registered."""
        del self._regions[rkey]

    def __iter__(self) -> Iterator[tuple[int, int, memoryview]]:
        """All that are not endless: (rkey, first address, memory)."""
        for rkey, (base_va, view, endless) in self._regions.items():
            if not endless:
                yield rkey, base_va, view

    def all(self) -> Iterator[tuple[int, int, memoryview, bool]]:
        """(rkey, first address, memory, whether it is endless)"""
        for rkey, region in self._regions.items():
            yield rkey, *region

    def find(self, rkey: int, va: int, length: int) -> memoryview | None:
        """The `length` bytes at `va`, or None when the key or the range is not registered."""
        region = self._regions.get(rkey)
        if region is None:
            return None
        base, view, endless = region
        start = va - base
        if endless and start >= 0:
            start %= len(view)
        if start < 0 or start + length > len(view):
            return None
        return view[start : start + length]
