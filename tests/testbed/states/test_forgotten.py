"""States that differ only in what is forgotten take the same steps."""

from __future__ import annotations

import pytest

from tests.support.states_cases import interpreted


@pytest.mark.parametrize(
    ("protocol", "size", "faults", "overrides"),
    [
        ("switchml", [2, 2, 3], 1, []),
        ("switchml", [2, 1, 3], 2, []),
        ("switchml", [2, 1, 2], 1, ["job.dtype=float32"]),
        ("netreduce", [2, 1, 2], 1, []),
        ("netreduce", [2, 1, 2], 0, ["transport.recovery=irn"]),
        ("atp", [2, 1, 2], 1, []),
        ("esa", [2, 1, 1], 0, []),
    ],
)
def test_equal_states_take_the_same_steps(protocol: str, size: list[int], faults: int, overrides: list[str]) -> None:
    found = interpreted("compared", protocol, size, faults, overrides)
    assert found["differences"] == []
    assert min(found["compared"].values()) > 5, found["compared"]
