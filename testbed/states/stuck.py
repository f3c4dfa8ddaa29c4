"""States from which no way leads to the end."""

from __future__ import annotations

from array import array

import numpy as np

__all__ = ["cannot_finish"]


def cannot_finish(edges: tuple[array[int], array[int]], done: bytearray, asked: bytes) -> list[int]:
    """Numbers of the states of `asked` from which no state of `done` can be reached. `edges`: (from, to) of each step.
    `done` and `asked` have a byte per state, 0 or 1."""
    states = len(done)
    sources, targets = (np.frombuffer(each, np.uint32) if len(each) else np.empty(0, np.uint32) for each in edges)
    order = np.argsort(targets, kind="stable")
    sources, targets = sources[order], targets[order]
    begins = np.searchsorted(targets, np.arange(states + 1))
    reaches = np.frombuffer(done, np.uint8).astype(bool)
    front = np.flatnonzero(reaches)
    while front.size:
        sizes = begins[front + 1] - begins[front]
        total = int(sizes.sum())
        if not total:
            break
        offsets = np.repeat(begins[front] - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes) + np.arange(total)
        before = np.unique(sources[offsets])
        front = before[~reaches[before]]
        reaches[front] = True
    return [int(number) for number in np.flatnonzero(~reaches & np.frombuffer(asked, np.uint8).astype(bool))]
