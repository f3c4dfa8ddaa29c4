"""The map of `irn-held`, bit by bit."""

from __future__ import annotations

import pytest

from workloads.wire.held_map import HELD_MAP, HELD_MAP_BYTES, NO_PSN, HeldMap, decode_held_map


def test_a_map_on_the_wire():
    held = HeldMap(0x123456, 3, 0b101, 0xABCDEF)
    assert held.encode() == bytes.fromhex("02123456 00abcdef 0000000000000005")
    assert decode_held_map(held.encode()) == held
    assert HELD_MAP_BYTES == HELD_MAP.size == 16
    assert HELD_MAP.unpack(held.encode()) == {"packets": 2, "first": 0x123456, "newest": 0xABCDEF, "bits": 0b101}


@pytest.mark.parametrize("held", [HeldMap(0, 1, 0, NO_PSN), HeldMap(0xFFFFFF, 64, (1 << 64) - 1, 0)])
def test_the_ends_of_the_ranges(held):
    assert decode_held_map(held.encode()) == held


@pytest.mark.parametrize(
    "octets",
    ["", "40 000000 00000000 0000000000000000", "01 000000 01000000 0000000000000000",
     "01 000000 00000000 0000000000000004", "01 000000 00000000 00000000"],
    ids=["nothing", "65 packets", "no PSN", "a bit behind the end", "too short"],
)  # fmt: skip
def test_what_is_no_map(octets):
    assert decode_held_map(bytes.fromhex(octets)) is None
