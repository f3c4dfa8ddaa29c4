"""GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1 (0x11d), in which 2 generates all elements but 0.

Elements are bytes; addition is XOR. Matrices are uint8 arrays, small ones: a code's, not its data's. Data are arrays of
shape (symbols, bytes), which `combine` multiplies a matrix with, byte by byte, by one table look-up for each.
Source: the tables by powers of the generator, as in H. P. Anvin, The mathematics of RAID-6.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "POLYNOMIAL",
    "PRODUCTS",
    "Bytes",
    "add_scaled",
    "combine",
    "inverse",
    "invert",
    "power",
    "times",
    "vandermonde",
]

Bytes = NDArray[np.uint8]
POLYNOMIAL = 0x11D
_ORDER = 255


def _tables() -> tuple[list[int], list[int]]:
    """Powers of 2, twice over, and logarithms."""
    powers, logarithms, value = [], [0] * 256, 1
    for exponent in range(_ORDER):
        powers.append(value)
        logarithms[value] = exponent
        value <<= 1
        if value > _ORDER:
            value ^= POLYNOMIAL
    return powers * 2, logarithms


_POWERS, _LOGARITHMS = _tables()


def times(a: int, b: int) -> int:
    return _POWERS[_LOGARITHMS[a] + _LOGARITHMS[b]] if a and b else 0


def inverse(a: int) -> int:
    """Raises ZeroDivisionError for 0."""
    if not a:
        raise ZeroDivisionError("0 has no inverse in GF(2^8)")
    return _POWERS[_ORDER - _LOGARITHMS[a]]


def power(a: int, exponent: int) -> int:
    """`exponent`: 0 or more; the 0th power of everything is 1."""
    if not exponent:
        return 1
    return _POWERS[_LOGARITHMS[a] * exponent % _ORDER] if a else 0


PRODUCTS: Bytes = np.array([[times(a, b) for b in range(256)] for a in range(256)], np.uint8)
"""[a][b], shape (256, 256)"""


def add_scaled(total: Bytes, coefficient: int, data: Bytes) -> None:
    """`total += coefficient * data`, in place; same shapes."""
    if coefficient == 1:
        np.bitwise_xor(total, data, out=total)
    elif coefficient:
        np.bitwise_xor(total, PRODUCTS[coefficient][data], out=total)


def combine(matrix: Bytes, data: Bytes) -> Bytes:
    """The matrix, shape (rows, symbols), times the data, shape (symbols, bytes): shape (rows, bytes)."""
    result = np.zeros((matrix.shape[0], data.shape[1]), np.uint8)
    for row, coefficients in zip(result, matrix.tolist(), strict=True):
        for coefficient, symbol in zip(coefficients, data, strict=True):
            add_scaled(row, coefficient, symbol)
    return result


def vandermonde(points: list[int], columns: int) -> Bytes:
    """Row i: the powers 0 .. columns - 1 of point i."""
    return np.array([[power(point, column) for column in range(columns)] for point in points], np.uint8)


def invert(matrix: Bytes) -> Bytes:
    """The inverse, by Gauss and Jordan. Raises ValueError for a matrix that has no inverse."""
    size = len(matrix)
    work = np.concatenate([matrix, np.eye(size, dtype=np.uint8)], axis=1)
    for column in range(size):
        pivots = np.flatnonzero(work[column:, column])
        if not len(pivots):
            raise ValueError("the matrix has no inverse")
        pivot = column + int(pivots[0])
        work[[column, pivot]] = work[[pivot, column]]
        work[column] = PRODUCTS[inverse(int(work[column, column]))][work[column]]
        for row in range(size):
            if row != column:
                add_scaled(work[row], int(work[row, column]), work[column].copy())
    return work[:, size:].copy()
