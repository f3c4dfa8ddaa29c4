"""What a node of the code stores: made of the gradients of all ranks, which together are the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workloads.codes.gf256 import Bytes
from workloads.codes.linear import LinearCode
from workloads.events import TrainingProgress
from workloads.gradients import GradientSource, Vector, create_source
from workloads.repair.config import RepairConfig

__all__ = ["StoredSource", "file_of", "pieces_needed", "symbols_of", "words_of"]


def symbols_of(words: Vector, alpha: int) -> Bytes:
    """What a node stores as symbols, shape (alpha, bytes)."""
    return np.ascontiguousarray(words).view(np.uint8).reshape(alpha, -1)


def words_of(symbols: Bytes, dtype: np.dtype[Any]) -> Vector:
    """And back, shape (elements,)."""
    return np.ascontiguousarray(symbols).reshape(-1).view(dtype)


def pieces_needed(code: LinearCode) -> int:
    """Number of ranks whose gradients are needed: each is alpha symbols of the file."""
    return -(-code.file_symbols // code.alpha)


def file_of(code: LinearCode, gradients: Sequence[Vector]) -> Bytes:
    """Shape (file symbols, bytes), of the first `pieces_needed` ranks' gradients."""
    pieces = [symbols_of(gradient, code.alpha) for gradient in gradients[: pieces_needed(code)]]
    return np.concatenate(pieces)[: code.file_symbols]


class StoredSource:
    """A GradientSource whose gradients are what the node of one host stores; each iteration is another file."""

    def __init__(self, config: RepairConfig) -> None:
        share, workload = config.collective, config.workload
        self._code = config.share.code
        self._node = config.share.lost if config.is_newcomer else config.share.donors[share.rank]
        self._pieces: list[GradientSource] = [
            create_source(workload, rank, share.size, share.arithmetic.dtype)
            for rank in range(pieces_needed(self._code))
        ]
        self.elements, self.iterations, self.dtype = workload.elements, workload.iterations, self._pieces[0].dtype

    def gradient(self, iteration: int) -> Vector:
        file = file_of(self._code, [source.gradient(iteration) for source in self._pieces])
        return words_of(self._code.store(file, self._node), self.dtype)

    def apply(self, iteration: int, total: Vector) -> TrainingProgress | None:
        return None

    def reset(self) -> None:
        """Nothing to forget: every file follows from its iteration."""
