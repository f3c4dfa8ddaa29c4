"""The bytes of a flow, which follow from the seed and its number: a receiver's memory is compared with them."""

from __future__ import annotations

import hashlib

import numpy as np

__all__ = ["content_of", "digest_of"]


def content_of(seed: int, number: int, size: int) -> bytes:
    """`size` bytes."""
    return np.random.Generator(np.random.PCG64((seed, number))).bytes(size)


def digest_of(memory: bytes | memoryview) -> str:
    """SHA-256, as in `FlowArrived`."""
    return hashlib.sha256(memory).hexdigest()
