"""The digests of results. The workers of one process have equal results, and hash them once."""

from __future__ import annotations

import hashlib

import cython

if not cython.compiled:

    def same_bytes(one: memoryview, other: bytes) -> bool:
        """Whether both have the same content."""
        return bytes(one) == other


__all__ = ["RESULTS", "ResultDigests"]


class ResultDigests:
    """SHA-256 of results, as text. It keeps a copy of the last result, but only when several workers ask. A worker that
    is alone in its process needs no copy."""

    def __init__(self) -> None:
        self._worker = 0
        """the first one that asked; 0: none did"""
        self._has_several = False
        self._kept = b""
        self._digest = hashlib.sha256().hexdigest()
        """digest of what is kept"""
        self.hashed = 0
        """number of results that needed a hash"""

    @property
    def kept_bytes(self) -> int:
        """Size of the copy."""
        return len(self._kept)

    def of(self, worker: int, result: memoryview) -> str:
        """`worker`: a number for each worker, not 0."""
        if self._has_several and same_bytes(result, self._kept):
            return self._digest
        self.hashed += 1
        digest = hashlib.sha256(result).hexdigest()
        self._has_several = self._has_several or self._worker not in (0, worker)
        self._worker = worker
        if self._has_several:
            self._kept, self._digest = bytes(result), digest
        return digest


RESULTS = ResultDigests()
"""those of this process"""
