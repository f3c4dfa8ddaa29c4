"""The queue by layer class against a list that is searched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switch_nodes.forwarding.classes import ClassQueue
from workloads.wire.dscp import LAYER_CLASSES


@given(st.lists(st.one_of(st.none(), st.integers(0, LAYER_CLASSES - 1)), max_size=60))
def test_the_best_class_leaves_first_and_within_one_the_oldest(steps: list[int | None]) -> None:
    """A number puts something of that class, None takes."""
    queue, listed = ClassQueue[tuple[int, int]](), list[tuple[int, int]]()
    for number, layer_class in enumerate(steps):
        if layer_class is not None:
            queue.put((layer_class, number), layer_class)
            listed.append((layer_class, number))
        elif listed:
            listed.remove(best := min(listed))
            assert queue.take() == best
        else:
            with pytest.raises(IndexError, match="nothing waits"):
                queue.take()
        assert len(queue) == len(listed)
        assert [queue.waiting_in(each) for each in range(LAYER_CLASSES)] == [
            sum(found == each for found, _ in listed) for each in range(LAYER_CLASSES)
        ]


def test_whoever_names_no_class_gets_a_plain_queue() -> None:
    queue = ClassQueue[int]()
    for number in range(5):
        queue.put(number)
    assert [queue.take() for _ in range(5)] == [0, 1, 2, 3, 4]
