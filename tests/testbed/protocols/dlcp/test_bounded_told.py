"""Vectors of which some packets came."""

from __future__ import annotations

import numpy as np

from testbed.protocols.dlcp.bounded_told import inside_of, rounding, without


def test_without() -> None:
    values = np.array([1, 2, 3, 4, -5], np.float32)
    assert without(values, 0b101, 2).tolist() == [1, 2, 0, 0, -5]
    assert not np.signbit(without(-values, 0, 2)).any(), "+0"
    assert inside_of(values, 0b110, 2).tolist() == [False, False, True, True, True]


def test_rounding_is_of_floats_alone_and_enough() -> None:
    draw = np.random.default_rng(3)
    rows = [(draw.standard_normal(200) * 10.0 ** draw.integers(-5, 5, 200)).astype(np.float32) for _ in range(8)]
    total = rows[0].copy()
    for row in rows[1:]:
        total += row
    distance = np.abs(total - np.sum(np.array(rows, np.float64), axis=0))
    assert (distance <= rounding(rows)).all()
    assert distance.any()
    assert not rounding([np.ones(4, np.int32)]).any()
