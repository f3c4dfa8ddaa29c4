"""How long a fault holds a copy back."""

from __future__ import annotations

import pytest

from testbed.faults.copies import jittered

MOST = (1 << 64) - 1


@pytest.mark.parametrize(
    ("delay_ns", "jitter_ns", "number", "held_ns"),
    [
        (100, 0, 0, 100), (100, 0, MOST, 100), (100, 30, 0, 70), (100, 30, MOST, 130), (100, 30, 1 << 63, 100),
        (10, 30, 0, 0), (10, 30, MOST, 40), (0, 0, MOST, 0),
    ],
)  # fmt: skip
def test_a_delay_moves_by_its_jitter_and_is_never_below_zero(
    delay_ns: int, jitter_ns: int, number: int, held_ns: int
) -> None:
    assert jittered(delay_ns, jitter_ns, number) == held_ns
