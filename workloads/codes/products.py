"""Bytes of packets in GF(2^8): the NumPy bodies, as those of `workloads.kernels`. The compiled bodies are in the
`.pxd`."""

from __future__ import annotations

from typing import Any

import numpy as np

from workloads.codes.gf256 import Bytes
from workloads.machine import Buffer

__all__ = ["add_products", "write_bytes"]


def add_products(total: Bytes, first: int, frame: Buffer, at: int, size: int, products: Bytes) -> None:
    """Add bytes of a frame, times a factor, by XOR. `products`: shape (256,), the factor times each byte."""
    part = total[first : first + size]
    np.bitwise_xor(part, products[np.frombuffer(frame, np.uint8, size, at)], out=part)


def write_bytes(draft: Any, at: int, values: Bytes, first: int, size: int) -> None:
    draft[at : at + size] = values[first : first + size].tobytes()
