"""What a node of the code stores: made of the gradients of all ranks, which together are the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from workloads.codes.gf256 import Bytes
from workloads.codes.linear import LinearCode
from workloads.events import TrainingProgress
from workloads.gradients import GradientSource, Vector, create_source
from workloads.gradients.base import DrawnSource
from workloads.repair.config import RepairConfig

__all__ = ["StoredSource", "file_of", "pieces_needed", "symbols_of", "words_of"]

_FILES: WeakValueDictionary[Any, Bytes] = WeakValueDictionary()
"""files that some host of this process works on, by all that they depend on"""


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
        self._file: Bytes | None = None
        """the current file, which must stay in memory as long as other hosts may need it"""
        self._key: Any = None
        """all that files depend on but the iteration; None: they may depend on more"""
        if all(isinstance(piece, DrawnSource) for piece in self._pieces):
            same = replace(workload, straggle_ns=0, arrival_ns=0, compute=None, digest_delay_ns=0)
            code = config.share
            self._key = (same, share.size, share.arithmetic.dtype, code.name, code.n, code.k, code.d)
        self.elements, self.iterations, self.dtype = workload.elements, workload.iterations, self._pieces[0].dtype

    def gradient(self, iteration: int) -> Vector:
        return words_of(self._code.store(self._file_of(iteration), self._node), self.dtype)

    def _file_of(self, iteration: int) -> Bytes:
        """Drawn once for all hosts of the process."""
        key = self._key, iteration
        file = None if self._key is None else _FILES.get(key)
        if file is None:
            file = file_of(self._code, [source.gradient(iteration) for source in self._pieces])
        if self._key is not None:
            self._file = _FILES[key] = file
        return file

    def apply(self, iteration: int, total: Vector) -> TrainingProgress | None:
        return None

    def reset(self) -> None:
        """Nothing to forget: every file follows from its iteration."""
