"""Sums over two tiers, frame by frame: the rules of leaf and spine together, and what a spine keeps."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from switch_nodes.netreduce.fabric import SpineRing, root_of
from tests.support.netreduce_fabric import Fabric, FabricJob
from workloads.config import ArithmeticSpec
from workloads.wire import decode_packet, encode_packet

LENGTHS = (1, 4, 4, 4, 4, 4, 4, 4, 4, 4)


def spine_of(message: int, spines: int = 2) -> str:
    """Ring 7's, worked out apart from the program."""
    return f"spine{zlib.crc32(bytes((0, 7)) + message.to_bytes(4, 'big')) % spines}"


MINE = [message for message in range(1, 10) if spine_of(message) == spine_of(1)]
"""messages of the spine that sums message 1"""


def fabric(started: int = 1, **changes: object) -> Fabric:
    """With the messages before `started` done."""
    options = {name: changes.pop(name) for name in ("release", "trace") if name in changes}
    made = Fabric(FabricJob(lengths=LENGTHS, **changes), **options)  # type: ignore[arg-type]
    made.through(range(started))
    made.take()
    return made


def links_used(made: Fabric) -> Counter[tuple[str, str]]:
    return Counter(hop.way for hop in made.take())


def test_one_packet_up_and_one_down_per_slot_and_leaf() -> None:
    made, root = fabric(), spine_of(1)
    assert sorted(made.everyone(1, 0)) == made.all_of(1, 0)
    hosts = {("h0", "leaf0"), ("h1", "leaf0"), ("h2", "leaf1"), ("h3", "leaf2"), ("h4", "leaf2"), ("h5", "leaf2")}
    ups, downs = {(f"leaf{rack}", root) for rack in range(3)}, {(root, f"leaf{rack}") for rack in range(3)}
    assert links_used(made) == Counter([*hosts, *((b, a) for a, b in hosts), *ups, *downs])


def test_the_boundarys_packet_goes_up_with_the_racks_sum_and_comes_down_with_the_value() -> None:
    made, job = fabric(), FabricJob(lengths=LENGTHS)
    for offset in (0, 1, 3):
        made.everyone(1, offset)
        hops = made.take()
        for rack in range(3):
            boundary = job.boundary(rack)
            (up,) = [hop for hop in hops if hop.source == f"leaf{rack}" and hop.target.startswith("spine")]
            (down,) = [hop for hop in hops if hop.target == f"leaf{(rack + 1) % 3}" and hop.source.startswith("spine")]
            assert up.rank == down.rank == boundary
            assert (up.payload, down.payload) == (job.partial(rack, 1, offset), job.value(1, offset))
            sent = job.frame(boundary, 1, offset)
            headers = len(sent) - 4 - len(job.elements(boundary, 1, offset))
            assert up.frame[:headers] == down.frame[:headers] == sent[:headers]
        assert {hop.payload for hop in hops if hop.target.startswith("h")} == {job.value(1, offset)}


def test_every_leaf_sends_a_message_to_the_same_spine_and_messages_to_all() -> None:
    made = fabric(spines=3)
    made.through(range(1, 10))
    assert [made.root(message) for message in range(1, 10)] == [spine_of(message, 3) for message in range(1, 10)]
    spread = Counter(root_of(5, message, 4) for message in range(4000))
    assert sorted(spread) == [0, 1, 2, 3]
    assert min(spread.values()) > 900


def test_a_spine_numbers_its_own_messages_and_no_others() -> None:
    job = FabricJob(spines=3)
    rings = {}
    for number in range(3):
        ring = Fabric(job).programs[f"spine{number}"].rings[7]
        assert isinstance(ring, SpineRing)
        own = [message for message in range(200) if spine_of(message, 3) == f"spine{number}"]
        assert [ring.message_id(index) for index in range(len(own))] == own
        assert [ring.number_of(message) for message in own] == list(range(len(own)))
        assert {ring.number_of(message) for message in range(200) if message not in own} == {None}
        nexts = [ring.is_next(index) for index in range(len(own) - 1)]
        assert nexts == [after == before + 1 for before, after in pairwise(own)]
        assert any(nexts)
        assert not all(nexts)
        rings[number] = ring
    assert sum(len(ring._mine) for ring in rings.values()) >= 200


def test_numbers_asked_for_first_are_the_same() -> None:
    first, second = (Fabric(FabricJob()).programs["spine0"].rings[7] for _ in range(2))
    own = [message for message in range(100) if spine_of(message) == "spine0"]
    assert first.number_of(own[-1]) == len(own) - 1
    assert second.message_id(len(own) - 1) == own[-1]


def test_a_header_that_names_a_message_far_ahead_is_refused_and_costs_nothing() -> None:
    made = fabric()
    root = spine_of(1)
    ring = made.programs[root].rings[7]
    looked = ring._looked_at  # type: ignore[attr-defined]
    far = next(m for m in range(1 << 31, 1 << 32) if spine_of(m) == root)
    job = made.job
    frame = job.frame(1, 1, 0, header=job.header(1, 1, msg_id=far))
    assert made.feed(root, 0, frame) == []
    assert made.reasons(root)[-1] == "inconsistent_first"
    assert ring._looked_at == looked  # type: ignore[attr-defined]
    assert sorted(made.everyone(1, 0)) == made.all_of(1, 0)


def test_a_spine_refuses_a_message_of_another_spine() -> None:
    made = fabric()
    other = "spine1" if spine_of(1) == "spine0" else "spine0"
    assert made.feed(other, 0, made.job.frame(1, 1, 0)) == []
    assert made.reasons(other)[-1] == "inconsistent_first"


def test_a_duplicate_at_a_spine_that_lacks_another_rack_is_absorbed() -> None:
    made, root = fabric(), spine_of(1)
    for rank in (0, 1):
        made.data(rank, 1, 0)
    up = made.take()[-1]
    assert up.way == ("leaf0", root)
    assert made.feed(root, 0, up.frame) == []
    assert made.reasons(root) == ["duplicate"]
    assert sorted(made.everyone(1, 0, but=(0, 1))) == made.all_of(1, 0)


def test_a_duplicate_at_a_spine_that_is_done_is_answered_to_the_next_rack_alone() -> None:
    made, root = fabric(), spine_of(1)
    made.everyone(1, 0)
    for rack in range(3):
        (up,) = [hop for hop in made.hops if hop.way == (f"leaf{rack}", root)]
        ((target, answer),) = made.feed(root, rack, up.frame)
        assert target == f"leaf{(rack + 1) % 3}"
        (down,) = [hop for hop in made.hops if hop.way == (root, target)]
        assert answer == down.frame


@pytest.mark.parametrize("offset", [0, 1])
def test_a_lost_partial_comes_again_with_the_boundarys_packet(offset: int) -> None:
    made, root = fabric(), spine_of(1)
    if offset:
        made.everyone(1, 0)
    made.lose("leaf0", root)
    assert made.everyone(1, offset) == []
    assert made.data(0, 1, offset) == []
    assert made.data(2, 1, offset) == []
    assert sorted(made.data(1, 1, offset)) == made.all_of(1, offset)


def test_a_lost_value_comes_again_with_the_packet_of_the_boundary_before() -> None:
    made, root = fabric(), spine_of(1)
    made.lose(root, "leaf2")
    arrived = made.everyone(1, 0)
    assert {host for host, *_ in arrived} == {0, 1, 2}
    assert made.data(3, 1, 0) == made.data(4, 1, 0) == []
    assert made.data(5, 1, 0) == [(0, 5, 1, 0)]
    made.take()
    assert sorted(made.data(2, 1, 0)) == [(3, 2, 1, 0), (4, 3, 1, 0), (5, 4, 1, 0)]
    between = {hop.way for hop in made.take() if "h" not in hop.source + hop.target}
    assert between == {("leaf1", root), (root, "leaf2")}


def test_a_lost_last_hop_of_the_boundary_goes_the_whole_way_again_to_one_host() -> None:
    made, root = fabric(), spine_of(1)
    made.lose("leaf2", "h3")
    assert len(made.everyone(1, 0)) == 5
    made.take()
    assert made.data(2, 1, 0) == [(3, 2, 1, 0)]
    assert [hop.way for hop in made.take()] == [("h2", "leaf1"), ("leaf1", root), (root, "leaf2"), ("leaf2", "h3")]


def test_a_lost_last_hop_inside_a_rack_is_repeated_by_its_leaf() -> None:
    made = fabric()
    made.lose("leaf2", "h4")
    assert len(made.everyone(1, 0)) == 5
    made.take()
    assert made.data(3, 1, 0) == [(4, 3, 1, 0)]
    assert [hop.way for hop in made.take()] == [("h3", "leaf2"), ("leaf2", "h4")]


@pytest.mark.parametrize("message", [1, 3, 5, 8])
def test_packets_behind_a_first_that_a_spine_lacks_are_known_by_another_connection(message: int) -> None:
    made, root = fabric(message), spine_of(message)
    made.lose("leaf0", root)
    assert made.everyone(message, 0) == []
    for offset in (1, 2, 3):
        made.everyone(message, offset)
    spine = made.programs[root]
    assert (spine.counters["inferred"], spine.counters["nofirst"]) == (1, 0)
    assert sum(hop.way == (root, "leaf2") for hop in made.take() if hop.message == message) == 0
    arrived = made.data(1, message, 0)
    assert {(rank, place) for _, rank, _, place in arrived} >= {(rank, 0) for rank in range(6)}
    made.through(range(message + 1, 10))


def test_a_spine_infers_nothing_in_the_first_message_that_it_gets() -> None:
    """The hello goes to one spine; another one knows no connection before its own first FIRST. Going back repairs
    it."""
    message = next(message for message in range(1, 10) if spine_of(message) != spine_of(0))
    made, root = fabric(message), spine_of(message)
    made.lose("leaf0", root)
    for offset in range(4):
        assert made.everyone(message, offset) == []
    assert made.programs[root].counters["nofirst"] == 3
    arrived = [place for offset in range(4) for _, *place in made.data(1, message, offset)]
    assert sorted(arrived) == [[rank, message, offset] for rank in range(6) for offset in range(4)]


@pytest.mark.parametrize("message", [1, 3, 4, 5])
def test_packets_behind_a_first_that_a_leaf_lacks_are_known_by_another_connection(message: int) -> None:
    made, root = fabric(message), spine_of(message)
    made.lose(root, "leaf2")
    made.everyone(message, 0)
    for offset in (1, 2, 3):
        assert (3, 2, message, offset) in made.everyone(message, offset)
    leaf = made.programs["leaf2"]
    assert (leaf.counters["inferred"], leaf.counters["nofirst"]) == (1, 0)
    assert (3, 2, message, 0) in made.data(2, message, 0)
    made.through(range(message + 1, 10))


def test_without_another_connection_that_knows_nothing_is_inferred() -> None:
    made, root = fabric(), spine_of(1)
    job = made.job
    assert made.feed(root, 0, job.frame(1, 1, 1)) == []
    assert made.reasons(root)[-1] == "nofirst"


def test_after_a_message_without_header_nothing_is_inferred() -> None:
    """Such messages take PSNs of this connection alone, so that it no longer runs beside the others."""
    made, root, job = fabric(), spine_of(1), FabricJob(lengths=LENGTHS)
    made.feed(root, 0, job.frame(1, 1, 0, header=bytes(16), psn=job.psn(1, 9, 0)))
    made.through(range(1, 2))
    made.lose("leaf0", root)
    for offset in range(4):
        assert made.everyone(2, offset) == []
    spine = made.programs[root]
    assert (spine.counters["inferred"], spine.counters["nofirst"]) == (0, 3)


def test_a_connection_that_lacks_the_same_first_is_no_hindrance() -> None:
    made = fabric()
    made.everyone(1, 0, but=(3, 4))
    made.everyone(1, 1)
    leaf = made.programs["leaf2"]
    # h3's, h4's, and the one that comes down, whose FIRST waits at the spine
    assert (leaf.counters["inferred"], leaf.counters["nofirst"]) == (3, 0)


@pytest.mark.parametrize("late", [3, 4])
def test_a_stale_packet_of_a_boundary_passes_raw_by_the_root(late: int) -> None:
    """Not by the spine that the flow's hash names, which is one for all messages."""
    made = fabric(late + 3)
    copy = made.job.frame(1, late, 2)
    assert made.send(1, copy) == [(2, 1, late, 2)]
    hops, root = made.take(), spine_of(late)
    assert [hop.way for hop in hops] == [("h1", "leaf0"), ("leaf0", root), (root, "leaf1"), ("leaf1", "h2")]
    assert hops[1].frame == copy
    assert made.reasons("leaf0")[-1] == made.reasons("leaf1")[-1] == "stale_forwarded"


def test_a_mark_in_one_rack_reaches_the_hosts_of_all() -> None:
    made = fabric()
    marked = made.job.packet(4, 1, 0)
    frame = encode_packet(replace(marked, envelope=replace(marked.envelope, tos=0x03)))
    made.everyone(1, 0, but=(4,))
    assert len(made.send(4, frame)) == 6
    ecn = [decode_packet(hop.frame).envelope.tos & 3 for hop in made.take() if hop.target.startswith("h")]  # type: ignore[union-attr]
    assert ecn == [3] * 6
    made.everyone(1, 1)
    assert {hop.frame[15] & 3 for hop in made.take()} == {2}


def test_a_sum_by_racks_is_another_than_one_by_ranks() -> None:
    """And it is the one that the hosts get."""
    job = FabricJob(lengths=LENGTHS, arithmetic=ArithmeticSpec("sum", "float32"))
    made = Fabric(job)
    made.through(range(3))
    rows = [np.frombuffer(job.elements(rank, 1, 1), np.float32) for rank in range(6)]
    flat = ((((rows[0] + rows[1]) + rows[2]) + rows[3]) + rows[4]) + rows[5]
    racks = ((rows[0] + rows[1]) + rows[2]) + ((rows[3] + rows[4]) + rows[5])
    assert flat.tobytes() != racks.tobytes()
    reached = {hop.payload for hop in made.take() if hop.target.startswith("h") and (hop.message, hop.offset) == (1, 1)}
    assert reached == {racks.tobytes()}


def hole_at_the_spine(made: Fabric, lost: int, message: int, release_at: int) -> set[str]:
    """Leaves that the spine sends packet `release_at` to, when the boundary of rack `lost` lacks the packet before."""
    made.everyone(message, release_at - 1, but=(made.job.boundary(lost),))
    made.take()
    made.everyone(message, release_at)
    return {hop.target for hop in made.take() if hop.source.startswith("spine")}


@pytest.mark.parametrize("lost", range(4))
def test_a_spine_releases_early_to_the_rack_that_lacks_and_the_one_behind(lost: int) -> None:
    made = fabric(racks=(2, 1, 3, 1))
    made.everyone(1, 0)
    assert hole_at_the_spine(made, lost, 1, 2) == {f"leaf{lost}", f"leaf{(lost + 1) % 4}"}


def test_a_spine_that_releases_at_once_does_so_everywhere() -> None:
    made = fabric(racks=(2, 1, 3, 1), release="asap")
    made.everyone(1, 0)
    assert hole_at_the_spine(made, 0, 1, 2) == {"leaf0", "leaf1", "leaf2", "leaf3"}


def test_what_waits_at_a_spine_leaves_once_when_the_hole_closes() -> None:
    made, root = fabric(racks=(2, 1, 3, 1)), spine_of(1)
    made.everyone(1, 0)
    hole_at_the_spine(made, 0, 1, 2)
    made.data(1, 1, 1)
    downs = Counter((hop.target, hop.offset) for hop in made.take() if hop.source == root)
    # leaf0 and leaf1 had packet 2 early.
    assert downs == Counter([*((f"leaf{rack}", 1) for rack in range(4)), ("leaf2", 2), ("leaf3", 2)])


def test_a_spine_clears_what_its_own_completion_proves_and_no_more() -> None:
    """In its own numbers: with window 2 the third message that a spine sums clears the first."""
    made, root = fabric(), spine_of(1)
    own = [message for message in range(10) if spine_of(message) == root]
    ring = made.programs[root].rings[7]
    first, third = own.index(1), MINE[2]
    made.through(range(1, third))
    assert ring.tag[ring.slot_of(first, 0)] == first
    made.everyone(third, 0)
    assert [int(ring.tag[ring.slot_of(first, offset)]) for offset in (0, 1)] == [first + 4, first]
