"""What a leaf does with the packets of its rack and with those from above, frame by frame."""

from __future__ import annotations

from collections import Counter

import pytest

from switch_nodes.netreduce.fabric import LeafRing
from tests.support.netreduce_fabric import Fabric, FabricJob, Hop
from tests.switch_nodes.netreduce.test_fabric import fabric, spine_of

BOUNDARY = 5
"""the last of rack 2, whose hosts are 3, 4 and 5; leaf2 has them at its ports 0, 1 and 2"""


def shown(made: Fabric, node: str) -> list[tuple[str, int, int]]:
    """(node behind, connection, offset) of what left a switch since it was asked last"""
    return [(hop.target, hop.rank, hop.offset) for hop in made.take() if hop.source == node]


def leaf2(made: Fabric) -> LeafRing:
    ring = made.programs["leaf2"].rings[7]
    assert isinstance(ring, LeafRing)
    return ring


def down(made: Fabric, message: int, offset: int) -> Hop:
    """The packet with the value that came down to leaf2, which everybody's packets are needed for."""
    made.everyone(message, offset)
    (found,) = [hop for hop in made.take() if hop.way == (spine_of(message), "leaf2") and hop.offset == offset]
    return found


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_a_duplicate_before_the_rack_is_complete_is_absorbed(rank: int) -> None:
    made, other = fabric(), 4 if rank == 3 else 3
    assert made.data(rank, 1, 0) == made.data(rank, 1, 0) == made.data(other, 1, 0) == []
    assert made.reasons("leaf2") == ["duplicate"]
    assert shown(made, "leaf2") == []


def test_a_boundarys_duplicate_is_the_only_one_that_sends_the_sum_up_again() -> None:
    made, root = fabric(), spine_of(1)
    for rank in (3, 4, 5):
        made.data(rank, 1, 0)
    assert shown(made, "leaf2") == [(root, 5, 0)]
    made.data(3, 1, 0)
    made.data(4, 1, 0)
    assert (shown(made, "leaf2"), made.reasons("leaf2")) == ([], ["duplicate"] * 2)
    made.data(5, 1, 0)
    assert shown(made, "leaf2") == [(root, 5, 0)]


def test_a_local_duplicate_of_what_is_done_is_answered_on_its_connection() -> None:
    made = fabric()
    made.everyone(1, 0)
    made.take()
    assert made.data(4, 1, 0) == [(5, 4, 1, 0)]
    assert shown(made, "leaf2") == [("h5", 4, 0)]


def test_a_boundarys_duplicate_of_what_is_done_goes_up_with_its_newer_header() -> None:
    made, root, job = fabric(), spine_of(1), FabricJob(lengths=fabric().job.lengths)
    made.everyone(1, 0)
    made.take()
    assert made.data(5, 1, 0, ack_req=1) == [(0, 5, 1, 0)]
    first = made.take()[1]
    assert first.way == ("leaf2", root)
    assert first.payload == job.partial(2, 1, 0)
    assert first.frame[50] & 0x80, "AckReq of the newer packet"


@pytest.mark.parametrize("rank", [4, 5])
def test_a_duplicate_with_another_payload_is_not_taken(rank: int) -> None:
    made = fabric()
    made.everyone(1, 0)
    for member in (3, 4, 5):
        made.data(member, 1, 1)
    made.take()
    changed = FabricJob(lengths=made.job.lengths, seed=2).frame(rank, 1, 1)
    made.feed("leaf2", rank - 3, changed)
    assert made.reasons("leaf2") == ["mismatch"]
    assert sorted(made.everyone(1, 1, but=(3, 4, 5))) == made.all_of(1, 1)


def test_a_value_for_an_incomplete_rack_is_not_taken() -> None:
    """A spine that started anew, or lies."""
    value = down(fabric(), 1, 0)
    made = fabric()
    for _ in range(2):  # nothing there, then a part
        assert made.feed("leaf2", 3 + int(spine_of(1)[5:]), value.frame) == []
        made.data(3, 1, 0)
        assert made.reasons("leaf2")[0] == "unasked"
    assert not leaf2(made).done[leaf2(made).slot_of(1, 0)]
    assert sorted(made.everyone(1, 0, but=(3,))) == made.all_of(1, 0)


def test_a_value_counts_from_above_only() -> None:
    value = down(fabric(), 1, 0)
    made = fabric()
    for member in (3, 4, 5):
        made.data(member, 1, 0)
    assert made.feed("leaf2", 0, value.frame) == []
    assert made.reasons("leaf2") == ["wrong_port"]
    assert made.feed("leaf2", 3, value.frame)


def test_a_value_that_comes_again_goes_to_the_first_host_alone() -> None:
    made = fabric()
    value = down(made, 1, 0)
    assert made.feed("leaf2", 3, value.frame) == [("h3", value.frame)]


def test_a_value_that_comes_again_while_it_waits_stays() -> None:
    made = fabric()
    made.everyone(1, 0, but=(4,))
    made.everyone(1, 1, but=(4,))
    # leaf2 lacks h4's first packet: what completes behind it is for h5, whose gap that is.
    assert (5, 4, 1, 1) in made.data(4, 1, 1)
    (value,) = [hop for hop in made.take() if hop.way == (spine_of(1), "leaf2")]
    assert made.feed("leaf2", 3, value.frame) == []
    assert made.reasons("leaf2")[-1] == "duplicate"


@pytest.mark.parametrize("racks", [(1, 1), (1, 3), (2, 1, 1)])
def test_racks_of_one_host(racks: tuple[int, ...]) -> None:
    """Its only packet is the boundary's, and its only result comes down."""
    made = fabric(racks=racks)
    made.through(range(1, 10))
    rack = racks.index(1)
    host = made.job.firsts[rack]
    hops = [hop for hop in made.take() if f"leaf{rack}" in hop.way and (hop.message, hop.offset) == (5, 2)]
    root = spine_of(5)
    assert Counter(hop.way for hop in hops) == Counter(
        [(f"h{host}", f"leaf{rack}"), (f"leaf{rack}", root), (root, f"leaf{rack}"), (f"leaf{rack}", f"h{host}")]
    )


LACKING = [((3,), {4}), ((4,), {5}), ((3, 4), {4, 5}), ((5,), set()), ((4, 5), {5})]


@pytest.mark.parametrize(("lost", "early"), LACKING)
def test_past_a_hole_of_the_racks_own_only_who_lacks_it_is_served(lost: tuple[int, ...], early: set[int]) -> None:
    """The gap of the boundary shows in the next rack, at host 0; leaf1 has nothing to do with it."""
    made = fabric()
    made.everyone(1, 0)
    made.everyone(1, 1, but=lost)
    arrived = made.everyone(1, 2)
    assert {host for host, *_ in arrived} == early | {0}
    made.take()
    rest = [place for rank in lost for place in made.data(rank, 1, 1)]
    assert sorted(rest + arrived) == sorted(made.all_of(1, 1) + made.all_of(1, 2))


def test_past_a_hole_that_is_not_the_racks_only_the_first_host_is_served() -> None:
    """leaf2 has all of its own; the value was lost above, or the rack before lacks a packet."""
    made, root = fabric(), spine_of(1)
    made.everyone(1, 0)
    made.lose(root, "leaf2")
    made.everyone(1, 1)
    arrived = made.everyone(1, 2)
    assert {host for host, *_ in arrived} & {3, 4, 5} == {3}


def test_what_another_spine_sends_may_just_have_been_faster() -> None:
    """Message 3 of one spine lacks its value; message 4 of the other waits, message 3's own packets do not."""
    made = fabric(3, window=4)
    assert spine_of(3) != spine_of(4)
    for offset in range(3):
        made.everyone(3, offset)
    made.lose(spine_of(3), "leaf2")
    made.everyone(3, 3)
    made.take()
    made.everyone(4, 0)
    assert shown(made, "leaf2") == [(spine_of(4), BOUNDARY, 0)]
    made.data(2, 3, 3)
    hosts = [(target, offset) for target, _, offset in shown(made, "leaf2") if target.startswith("h")]
    assert sorted(hosts) == [(f"h{host}", offset) for host in (3, 4, 5) for offset in (0, 3)]


def test_a_leaf_that_releases_at_once_does_so_everywhere() -> None:
    made = fabric(release="asap")
    made.everyone(1, 0)
    made.everyone(1, 1, but=(4,))
    assert sorted(made.everyone(1, 2)) == made.all_of(1, 2)


def test_a_leaf_clears_on_global_completion_only() -> None:
    """Its rack is complete, and another lacks a packet: nobody has the message, so the one N before must stay."""
    made = fabric(3)
    ring = leaf2(made)
    slot = ring.slot_of(1, 0)
    made.everyone(3, 0, but=(0,))
    assert int(ring.bitmap[ring.slot_of(3, 0)]) == ring.everyone
    assert (ring.tag[slot], ring.done[slot]) == (1, 1)
    assert made.data(3, 1, 0) == [(4, 3, 1, 0)]
    made.data(0, 3, 0)
    assert (ring.tag[slot], ring.done[slot]) == (5, 0)


def test_a_stale_local_packet_passes_raw_inside_the_rack() -> None:
    made = fabric(6)
    copy = made.job.frame(3, 3, 2)
    assert made.send(3, copy) == [(4, 3, 3, 2)]
    assert [hop.frame for hop in made.take()] == [copy, copy]
    assert made.reasons("leaf2")[-1] == "stale_forwarded"
