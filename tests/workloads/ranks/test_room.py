"""Places of gradients in a rank's memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.ranks.room import Room

SIZE = 4096


@given(st.lists(st.one_of(st.integers(1, SIZE), st.none()), max_size=60), st.randoms(use_true_random=False))
def test_places_never_overlap_and_everything_comes_back(wishes, draw):
    room, taken = Room(SIZE), {}
    for wish in wishes:
        if wish is None:
            if taken:
                start = draw.choice(sorted(taken))
                del taken[start]
                room.give_back(start)
            continue
        start = room.take(wish)
        if start is None:
            continue
        assert start % 64 == 0
        assert start + wish <= SIZE
        assert all(start >= other + size or start + wish <= other for other, size in taken.items())
        taken[start] = wish
    for start in taken:
        room.give_back(start)
    assert room.is_empty
    assert room.take(SIZE) == 0


def test_what_never_fits_is_told_at_once():
    with pytest.raises(ValueError, match="5000 bytes do not fit 4096"):
        Room(SIZE).take(5000)


def test_only_what_was_taken_is_given_back():
    room = Room(SIZE)
    room.take(100)
    with pytest.raises(ValueError, match="nothing was taken at 64"):
        room.give_back(64)
