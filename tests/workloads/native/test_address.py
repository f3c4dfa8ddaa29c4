"""Addresses of memory of each kind, held against what ctypes reads there."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from workloads.native.address import address_of

TEXT = b"0123456789"


@pytest.mark.parametrize(
    "view",
    [
        TEXT,
        bytearray(TEXT),
        memoryview(TEXT),
        memoryview(bytearray(TEXT)),
        memoryview(bytearray(b"xx" + TEXT))[2:],
        np.frombuffer(TEXT, np.uint8).data,
    ],
)
def test_memory_lies_there(view: memoryview | bytearray | bytes) -> None:
    assert ctypes.string_at(address_of(view), len(TEXT)) == TEXT


def test_nothing_has_an_address_too() -> None:
    assert isinstance(address_of(bytearray()), int)
    assert isinstance(address_of(b""), int)


def test_memory_can_grow_after_its_address_was_asked_for() -> None:
    """Nothing holds on to it."""
    memory = bytearray(TEXT)
    address_of(memory)
    memory.extend(TEXT)
