"""Arithmetic of GF(2^8) against multiplication bit by bit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from workloads.codes.gf256 import (
    POLYNOMIAL,
    PRODUCTS,
    add_scaled,
    combine,
    inverse,
    invert,
    power,
    times,
    vandermonde,
)


def slow_times(a: int, b: int) -> int:
    """Shift and add, then the rest modulo the polynomial."""
    total = 0
    for bit in range(8):
        if b >> bit & 1:
            total ^= a << bit
    for bit in range(15, 7, -1):
        if total >> bit & 1:
            total ^= POLYNOMIAL << (bit - 8)
    return total


def test_every_product_is_that_of_polynomials() -> None:
    assert [[slow_times(a, b) for b in range(256)] for a in range(256)] == PRODUCTS.tolist()


def test_every_inverse_is_one_and_zero_has_none() -> None:
    assert all(times(a, inverse(a)) == 1 for a in range(1, 256))
    with pytest.raises(ZeroDivisionError):
        inverse(0)


def test_powers_are_repeated_products() -> None:
    for a in (0, 1, 2, 3, 142, 255):
        product = 1
        for exponent in range(300):
            assert power(a, exponent) == product
            product = slow_times(product, a)


def test_samples_of_the_oracle(oracles: Path) -> None:
    samples = json.loads((oracles / "codes.json").read_text())["gf256"]["mul_samples"]
    assert [times(a, b) for a, b, _ in samples] == [product for _, _, product in samples]


def test_matrices_times_data_are_sums_of_products() -> None:
    draw = np.random.default_rng(1)
    matrix, data = draw.integers(0, 256, (3, 4), np.uint8), draw.integers(0, 256, (4, 5), np.uint8)
    expected = np.zeros((3, 5), np.uint8)
    for row in range(3):
        for column in range(4):
            expected[row] ^= np.array([slow_times(int(matrix[row, column]), int(x)) for x in data[column]], np.uint8)
    assert (combine(matrix, data) == expected).all()


def test_added_twice_is_not_there() -> None:
    total, data = np.arange(9, dtype=np.uint8), np.arange(100, 109, dtype=np.uint8)
    for _ in range(2):
        add_scaled(total, 77, data)
    assert (total == np.arange(9)).all()
    add_scaled(total, 0, data)
    assert (total == np.arange(9)).all()


def test_an_inverse_of_a_matrix_and_a_matrix_without() -> None:
    matrix = vandermonde([3, 7, 9, 200], 4)
    assert (combine(matrix, invert(matrix)) == np.eye(4)).all()
    matrix[3] = matrix[0] ^ matrix[1]
    with pytest.raises(ValueError, match="no inverse"):
        invert(matrix)
