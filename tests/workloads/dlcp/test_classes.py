"""Classes of packets, and the DSCP that says them."""

from __future__ import annotations

import numpy as np
import pytest

from workloads.dlcp.classes import IMPORTANT_TOS, layer_class, small_packets, tos_of


def test_quarters_of_a_gradient_from_the_front_on() -> None:
    assert [layer_class(first, 32) for first in range(0, 32, 4)] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [layer_class(first, 30) for first in (0, 10, 20, 29)] == [0, 1, 2, 3]
    assert layer_class(0, 1) == 0


def test_dscp_8_to_15_not_ecn_capable() -> None:
    every = [tos_of(layer, small=small) for layer in range(4) for small in (False, True)]
    assert [tos >> 2 for tos in every] == list(range(8, 16))
    assert not any(tos & 3 for tos in every)
    assert IMPORTANT_TOS >> 2 == 8


def test_the_largest_packets_are_not_small() -> None:
    values = np.array([1, -1, 5, 0, -9, 0, 2, 2, 3], np.float32)  # packets of 2: 2, 5, 9, 4, 3
    assert small_packets(values, 2, 0.4) == [True, False, False, True, True]
    assert small_packets(values, 2, 0.41) == [True, False, False, False, True], "a share is rounded up"
    assert small_packets(values, 2, 0) == [True] * 5
    assert small_packets(values, 2, 1) == [False] * 5


def test_of_equal_ones_the_earlier_are_large() -> None:
    assert small_packets(np.ones(8, np.int32), 2, 0.5) == [False, False, True, True]


@pytest.mark.parametrize("worst", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_large(worst: float) -> None:
    values = np.array([3e38, 3e38, worst, 0, 1, 1], np.float32)
    assert small_packets(values, 2, 0.3) == [True, False, True]


def test_the_least_integer_has_a_magnitude() -> None:
    assert small_packets(np.array([-(2**31), 2**31 - 1], np.int32), 1, 0.5) == [False, True]
