"""Which sleeps of a loop count as standstills."""

from __future__ import annotations

import pytest

from switch_nodes.dataplane.stands import Standstills


@pytest.mark.parametrize(
    ("tick_ns", "timeout", "gap", "stood"),
    [
        (None, 10, 10, ()),
        (None, 10, 13, (3,)),
        (None, -1, 1_000, ()),
        (100, 10, 13, (3,)),
        (100, -1, 100, ()),
        (100, -1, 150, (50,)),
        (100, 500, 150, (50,)),
        (100, -1, 300, (300,)),
    ],
)
def test_a_sleep_that_went_on_after_its_end(
    tick_ns: int | None, timeout: int, gap: int, stood: tuple[int, ...]
) -> None:
    stands = Standstills(tick_ns)
    stands.note(1_000 + gap, 1_000, timeout)
    assert stands.longest == tuple((span, 1_000 + gap) for span in stood)


def test_the_eight_longest_are_kept() -> None:
    stands = Standstills(None)
    for number in range(1, 11):
        stands.note(number * 1_000 + number, number * 1_000, 0)
    assert [span for span, _ in stands.longest] == [10, 9, 8, 7, 6, 5, 4, 3]
