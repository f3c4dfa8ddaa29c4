"""Slots by hash, and the blocks that go around them."""

from __future__ import annotations

from collections import Counter

import numpy as np

from switch_nodes.grid.memory import GridSlot, Refused, slot_index
from workloads.wire.aggregation import AggregationHeader, Datagram, DatagramKind, Policy


def packet(rank: int, value: int, exponents: tuple[int, int]) -> Datagram:
    header = AggregationHeader(
        Policy.GRID, DatagramKind.DATA, 1, 1, 0, 1 << rank, 3, 2,
        op=1, exponent0=exponents[0], exponent1=exponents[1],
    )  # fmt: skip
    payload = memoryview(np.full(2, value, ">i4").tobytes())
    return Datagram(bytes(6), bytes(4), bytes(4), 0, header, payload)


def test_exponents_are_the_largest_and_what_was_too_much_or_congested_stays_so() -> None:
    most = (1 << 31) - 1
    slot = GridSlot(packet(0, most, (5, -3)), 3, 0)
    slot.add(packet(0, most, (5, -3)), 0, congested=True)
    slot.add(packet(1, 1, (-7, 9)), 1, congested=False)
    assert (slot.overflow, slot.exponents) == (True, (5, 9))
    slot.add(packet(2, -1, (4, 8)), 2, congested=False)
    assert (slot.overflow, slot.congested, slot.exponents, slot.bitmap) == (True, True, (5, 9), 7)


def test_blocks_spread_over_all_slots() -> None:
    used = Counter(slot_index(1, sequence, 16) for sequence in range(1, 16_001))
    assert set(used) == set(range(16))
    assert max(used.values()) < 1.2 * min(used.values())
    assert slot_index(1, 5, 1 << 16) != slot_index(2, 5, 1 << 16)


def test_a_refused_block_is_forgotten_when_its_last_packet_has_gone() -> None:
    refused = Refused()
    refused.add((1, 5))
    refused.pass_by((1, 5), 1, 7)
    refused.pass_by((1, 5), 4, 7)
    assert (1, 5) in refused
    refused.pass_by((1, 5), 2, 7)
    assert (1, 5) not in refused
    refused.pass_by((1, 5), 1, 7)
    assert (1, 5) not in refused


def test_too_many_push_out_the_oldest() -> None:
    refused = Refused(2)
    for sequence in (5, 6, 7):
        refused.add((1, sequence))
    assert [sequence for sequence in (5, 6, 7) if (1, sequence) in refused] == [6, 7]
    refused.forget((1, 6))
    refused.forget((1, 99))
    assert (1, 6) not in refused
