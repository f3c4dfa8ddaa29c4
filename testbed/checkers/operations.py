"""What each rank must hold after an operation (`workloads.collectives.operations`), worked out without worker code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from testbed.checkers.folds import Array

__all__ = ["held_by_ranks"]


def held_by_ranks(operation: str, root: int, gradients: Sequence[Array], total: Array) -> list[Array]:
    """By rank. `total`: the sum of all gradients, as the protocol folds it."""
    ranks = range(len(gradients))
    if operation == "reduce_scatter":
        return np.array_split(total, len(gradients))
    if operation == "all_gather":
        whole = np.concatenate([np.array_split(gradients[rank], len(gradients))[rank] for rank in ranks])
        return [whole for _ in ranks]
    if operation == "all_to_all":
        chunks = [np.array_split(gradient, len(gradients)) for gradient in gradients]
        return [np.concatenate([own[rank] for own in chunks]) for rank in ranks]
    if operation == "broadcast":
        return [gradients[root] for _ in ranks]
    if operation == "reduce":
        return [total if rank == root else total[:0] for rank in ranks]
    if operation == "send":
        return [gradients[root] if rank == (root + 1) % len(gradients) else total[:0] for rank in ranks]
    if operation == "barrier":
        return [total[:0] for _ in ranks]
    return [total for _ in ranks]
