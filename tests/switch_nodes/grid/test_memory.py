"""Slots by hash, and the blocks that go around them."""

from __future__ import annotations

from collections import Counter

from switch_nodes.grid.memory import Refused, slot_index


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
