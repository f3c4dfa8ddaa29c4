"""Parts of vectors that communications have."""

from __future__ import annotations

from workloads.traces.layout import lay_out
from workloads.traces.matching import MESSAGE, TraceOperation


def test_each_communication_has_a_part_of_its_own() -> None:
    operations = (
        TraceOperation(MESSAGE, (0, 1), (0,), 9),
        TraceOperation("reduce_scatter", (0, 1), (1, 0), 20),
        TraceOperation("all_to_all", (1, 0), (1, 2), 12),
        TraceOperation("barrier", (0, 1), (3, 2), 0),
    )
    found = lay_out(operations, 3, 1)
    zero, one, two = found.communications
    assert [(each.gives_first, each.gives, each.holds_first, each.holds) for each in zero] == [
        (0, 3, 0, 0), (3, 5, 0, 5), (8, 3, 5, 3), (11, 1, 8, 1),
    ]  # fmt: skip
    assert [(each.gives_first, each.gives, each.holds_first, each.holds) for each in one] == [
        (0, 0, 0, 3), (0, 5, 3, 5), (5, 3, 8, 4), (8, 1, 12, 1),
    ]  # fmt: skip
    assert two == ()
    assert [(each.kept_first, each.kept) for each in zero] == [(0, 0), (0, 3), (0, 2), (0, 1)]
    assert [(each.kept_first, each.kept) for each in one] == [(0, 3), (3, 2), (0, 4), (0, 1)]
    assert found.elements == 13


def test_sizes_are_divided_down_to_one_element() -> None:
    (only,), (other,) = lay_out((TraceOperation("all_reduce", (0, 1), (0, 0), 4_000),), 2, 100).communications
    assert (only.gives, other.holds) == (10, 10)
    ((only,), _) = lay_out((TraceOperation(MESSAGE, (0, 1), (0,), 0),), 2, 100).communications
    assert only.gives == 1


def test_a_group_of_one_rank_keeps_its_vector() -> None:
    ((only,),) = lay_out((TraceOperation("reduce", (0,), (0,), 8),), 1, 1).communications
    assert (only.kept_first, only.kept) == (0, 2)
