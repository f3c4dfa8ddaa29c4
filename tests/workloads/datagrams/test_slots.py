"""The slot table of a job: free of collisions inside it, the same at everybody, different between jobs."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from workloads.datagrams.slots import SlotTable, mix


def slots(table: SlotTable, window: int) -> list[int]:
    return [table[entry] for entry in range(window)]


@pytest.mark.parametrize(("window", "memory"), [(1, 1), (16, 16), (16, 64), (100, 101), (1, 65536), (64, 65536)])
def test_no_two_entries_share_an_index(window: int, memory: int) -> None:
    found = slots(SlotTable(3, window, memory, 7), window)
    assert len(set(found)) == window
    assert all(0 <= slot < memory for slot in found)


@pytest.mark.parametrize(("window", "memory"), [(24, 8), (25, 8), (5, 1)])
def test_where_there_are_too_few_they_are_shared_evenly(window: int, memory: int) -> None:
    uses = Counter(slots(SlotTable(3, window, memory, 7), window))
    assert max(uses.values()) <= -(-window // memory)
    assert sum(uses.values()) == window


def test_it_follows_from_job_and_salt_alone() -> None:
    one = slots(SlotTable(1, 20, 1000, 5), 20)
    assert slots(SlotTable(1, 20, 1000, 5), 20) == one
    others = [slots(SlotTable(2, 20, 1000, 5), 20), slots(SlotTable(1, 20, 1000, 6), 20)]
    assert all(sum(mine == theirs for mine, theirs in zip(one, other, strict=True)) < 3 for other in others)


def test_a_proposal_is_free_and_another_one_each_time() -> None:
    table = SlotTable(1, 20, 1000, 5)
    seen = {table[4]}
    for _ in range(10):
        proposed = table.propose(4)
        assert proposed not in seen
        assert proposed not in slots(table, 20)
        seen.add(proposed)
        table.move(4, proposed)
        assert table[4] == proposed


def test_where_no_index_is_free_an_entry_stays() -> None:
    table = SlotTable(1, 8, 8, 5)
    assert table.propose(3) == table[3]
    assert SlotTable(1, 3, 1, 5).propose(0) == 0


def test_a_shared_index_is_no_reason_to_stay() -> None:
    """Four entries on three indices: one index serves two of them, the others have room for one more each."""
    for salt in range(20):
        table = SlotTable(1, 4, 3, salt)
        assert all(table.propose(entry) != table[entry] for entry in range(4))


def test_what_an_entry_left_is_free_for_others() -> None:
    table = SlotTable(1, 2, 3, 5)
    left, (free,) = table[0], {0, 1, 2} - {table[0], table[1]}
    table.move(0, free)
    assert table.propose(1) == left


def test_with_one_free_index_entries_move_for_ever_and_never_share() -> None:
    table = SlotTable(1, 6, 7, 5)
    for step in range(60):
        entry = step % 6
        (free,) = {*range(7)} - {*slots(table, 6)}
        assert table.propose(entry) == free
        table.move(entry, free)
        assert len(set(slots(table, 6))) == 6


def test_entries_are_spread_over_the_memory() -> None:
    found = slots(SlotTable(1, 100, 10_000, 5), 100)
    assert len({slot // 1000 for slot in found}) == 10
    assert sum(abs(one - other) == 1 for one, other in pairwise(found)) < 5


def test_the_hash_is_that_of_splitmix64() -> None:
    """Whose first outputs for seed 0 are known."""
    assert [mix(step * 0x9E3779B97F4A7C15 % 2**64) for step in range(3)] == [
        0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F,
    ]  # fmt: skip
