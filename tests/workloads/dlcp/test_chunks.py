"""Who gives which part of a gradient when."""

from __future__ import annotations

import numpy as np
import pytest

from workloads.dlcp.chunks import chunk_given, chunk_of, steps_of


@pytest.mark.parametrize(("size", "elements"), [(2, 10), (3, 10), (4, 3), (5, 23), (32, 31)])
def test_chunks_are_those_of_numpy(size: int, elements: int) -> None:
    spans = [chunk_of(number, size, elements) for number in range(size)]
    assert [end - first for first, end in spans] == [len(part) for part in np.array_split(np.zeros(elements), size)]
    assert [end for _, end in spans[:-1]] == [first for first, _ in spans[1:]]
    assert (spans[0][0], spans[-1][1]) == (0, elements)


@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_every_chunk_meets_every_rank_and_goes_on_to_all(size: int) -> None:
    inside = {(rank, rank): {rank} for rank in range(size)}
    """(rank, chunk) -> whose contributions the rank has added up there"""
    whole: set[tuple[int, int]] = set()
    for step in range(steps_of(size)):
        moved = []
        for rank in range(size):
            chunk, to = chunk_given(rank, size, step), (rank + 1) % size
            if step < size - 1:
                moved.append(((to, chunk), inside[rank, chunk] | {to}))
            else:
                assert (rank, chunk) in whole
                moved.append(((to, chunk), set(range(size))))
        for key, ranks in moved:
            inside[key] = ranks
            if len(ranks) == size:
                whole.add(key)
    assert len(whole) == size * size
