"""What a switch and a host compute from the ranks' elements: bit-exact, whatever the order of arrival.

Aggregation in 32-bit floating point is what the NetReduce authors describe (ASPLOS'23); the details are decided here
and written down in `docs/netreduce.md`, "Arithmetic". Elements are little-endian, as in host memory.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from workloads.config import ELEMENT_BYTES, ArithmeticSpec

__all__ = ["CANONICAL_NAN", "fold"]

CANONICAL_NAN = 0x7FC00000
"""bits of every NaN in a float32 result"""
_INT32 = np.iinfo(np.int32)
_Bytes = NDArray[np.uint8]


def fold(payloads: NDArray[np.uint8], spec: ArithmeticSpec) -> NDArray[np.uint8]:
    """The result of the payloads of all ranks. `payloads`: uint8, shape (P, nbytes), row k from rank k, nbytes a
    multiple of 4. Returns uint8, shape (nbytes,), never a view of `payloads`.

    - float32 sum: left fold in row order, each step rounded to nearest even, subnormals kept.
    - float32 max: NaN wins, and +0 is above -0 (IEEE 754-2019 `maximum`), so the row order does not matter.
    - int32 sum wraps; int32sat sum is exact in 64 bits and clamped once. max and xor are the same for both.
    - every NaN of a float32 sum or max is 0x7fc00000; xor is bitwise for every type.

    Raises ValueError for an unknown op or dtype, or for nbytes that is no multiple of 4.
    """
    rows, nbytes = payloads.shape
    if nbytes % ELEMENT_BYTES:
        raise ValueError(f"{nbytes} bytes are no whole number of 4-byte elements")
    if rows == 0:
        raise ValueError("nothing to fold: no rows")
    try:
        function = _FOLDS[spec.op, spec.dtype]
    except KeyError:
        known = ", ".join(f"{op} of {dtype}" for op, dtype in _FOLDS)
        raise ValueError(f"cannot fold {spec.op} of {spec.dtype}; known: {known}") from None
    return function(np.ascontiguousarray(payloads))


def _sum_float32(payloads: _Bytes) -> _Bytes:
    rows = payloads.view("<f4")
    with np.errstate(all="ignore"):
        total = rows[0].copy()
        for row in rows[1:]:
            total += row
    return _canonical(total).view(np.uint8)


def _max_float32(payloads: _Bytes) -> _Bytes:
    # A float's bits, with all but the sign flipped when negative, order as integers: -0 below +0.
    bits = payloads.view("<i4")
    keys = (bits ^ ((bits >> 31) & _INT32.max)).max(axis=0)
    top = (keys ^ ((keys >> 31) & _INT32.max)).astype("<i4").view("<f4")
    top[np.isnan(payloads.view("<f4")).any(axis=0)] = np.nan
    return _canonical(top).view(np.uint8)


def _canonical(values: NDArray[np.float32]) -> NDArray[np.float32]:
    bits = values.view("<u4")
    np.putmask(bits, np.isnan(values), CANONICAL_NAN)
    return values


def _sum_int32(payloads: _Bytes) -> _Bytes:
    return np.asarray(payloads.view("<u4").sum(axis=0, dtype=np.uint32), dtype="<u4").view(np.uint8)


def _sum_int32_saturating(payloads: _Bytes) -> _Bytes:
    exact = payloads.view("<i4").sum(axis=0, dtype=np.int64)
    clamped: NDArray[np.int32] = np.clip(exact, _INT32.min, _INT32.max).astype("<i4")
    return clamped.view(np.uint8)


def _max_int32(payloads: _Bytes) -> _Bytes:
    return np.asarray(payloads.view("<i4").max(axis=0), dtype="<i4").view(np.uint8)


def _xor(payloads: _Bytes) -> _Bytes:
    total: _Bytes = payloads[0].copy()
    for row in payloads[1:]:
        total ^= row
    return total


_FOLDS: dict[tuple[str, str], Callable[[_Bytes], _Bytes]] = {
    ("sum", "float32"): _sum_float32,
    ("sum", "int32"): _sum_int32,
    ("sum", "int32sat"): _sum_int32_saturating,
    ("max", "float32"): _max_float32,
    ("max", "int32"): _max_int32,
    ("max", "int32sat"): _max_int32,
    ("xor", "float32"): _xor,
    ("xor", "int32"): _xor,
    ("xor", "int32sat"): _xor,
}
