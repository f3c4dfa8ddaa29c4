"""Which elements of its vector a rank gives to an operation (`operations`), and which of the result it holds."""

from __future__ import annotations

from workloads.collectives.operations import BARRIER
from workloads.collectives.schedules import chunk_bounds
from workloads.config import ELEMENT_BYTES

__all__ = ["given", "kept"]


def kept(operation: str, rank: int, ranks: int, elements: int, root: int) -> tuple[int, int] | None:
    """(first, number) of the elements that `rank` holds in the end; None: all of its result."""
    if operation == "reduce_scatter":
        start, stop = chunk_bounds(elements, ranks)[rank]
        return start // ELEMENT_BYTES, (stop - start) // ELEMENT_BYTES
    if operation == BARRIER or (operation == "reduce" and rank != root):
        return 0, 0
    if operation == "send" and rank != (root + 1) % ranks:
        return 0, 0
    if operation == "all_to_all":
        start, stop = chunk_bounds(elements, ranks)[rank]
        return 0, ranks * ((stop - start) // ELEMENT_BYTES)
    return None


def given(operation: str, rank: int, ranks: int, elements: int, root: int) -> tuple[int, int] | None:
    """(first, number) of the elements that `rank` gives where an all-reduce of whole vectors stands for the operation;
    None: all."""
    if operation == "all_gather":
        start, stop = chunk_bounds(elements, ranks)[rank]
        return start // ELEMENT_BYTES, (stop - start) // ELEMENT_BYTES
    if operation == BARRIER or (operation == "broadcast" and rank != root):
        return 0, 0
    return None
