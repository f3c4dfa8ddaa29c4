"""Circles of waiting links."""

from switch_nodes.lossless.waits import Waiting, cycle_of, deadlocked

A, B, C, D = (("a", "s", 3), ("b", "s", 3), ("c", "s", 3), ("d", "s", 3))


def above(limit):
    """A link goes on when at most so many of its bytes are stuck."""
    return lambda stuck: [place for place, size in stuck.items() if size <= limit]


def test_a_circle_is_found_and_what_leads_into_it():
    paused = {A: [Waiting(10, (B,))], B: [Waiting(10, (C,))], C: [Waiting(10, (A,))], D: [Waiting(10, (A,))]}
    stuck = deadlocked(paused, above(5))
    assert set(stuck) == {A, B, C, D}
    assert [place for place, _ in cycle_of(stuck)] == [A, B, C]


def test_a_link_with_a_way_out_opens_the_circle():
    """Most of what is charged to B leaves by a link that is not paused."""
    paused = {A: [Waiting(10, (B,))], B: [Waiting(4, (C,))], C: [Waiting(10, (A,))]}
    assert deadlocked(paused, above(5)) == {}
    assert cycle_of({}) == []


def test_a_packet_behind_an_open_link_is_not_stuck():
    paused = {A: [Waiting(10, (B,))], B: [Waiting(10, (D,))]}
    assert deadlocked(paused, above(5)) == {}


def test_a_slot_that_lacks_a_packet_of_the_same_link_waits_for_itself():
    paused = {A: [Waiting(10, (B, A), "s1")]}
    assert cycle_of(deadlocked(paused, above(5))) == [(A, "s1")]
    assert deadlocked({A: [Waiting(10, (B,), "s1")]}, above(5)) == {}
