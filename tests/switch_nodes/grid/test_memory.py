"""Slots by hash, and the blocks that go around them."""

from __future__ import annotations

from collections import Counter

from switch_nodes.grid.memory import MemoryRefused, slot_index


def test_blocks_spread_over_all_slots() -> None:
    used = Counter(slot_index(1, sequence, 16) for sequence in range(1, 16_001))
    assert set(used) == set(range(16))
    assert max(used.values()) < 1.2 * min(used.values())
    assert slot_index(1, 5, 1 << 16) != slot_index(2, 5, 1 << 16)


def test_a_refused_block_is_forgotten_when_its_last_packet_has_gone() -> None:
    refused = MemoryRefused()
    refused.add(5)
    refused.pass_by(5, 1, 7)
    refused.pass_by(5, 4, 7)
    assert refused.has(5)
    refused.pass_by(5, 2, 7)
    assert not refused.has(5)
    refused.pass_by(5, 1, 7)
    assert not refused.has(5)


def test_too_many_push_out_the_oldest() -> None:
    refused = MemoryRefused(2)
    for block in (5, 6, 7):
        refused.add(block)
    assert [block for block in (5, 6, 7) if refused.has(block)] == [6, 7]
    refused.forget(6)
    refused.forget(99)
    assert not refused.has(6)
