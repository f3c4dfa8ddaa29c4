"""Which node a packet is for: shares, and agreement between workers and switches."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.grid import NodeShare, ShareTable


def test_every_stretch_of_packets_has_each_nodes_share() -> None:
    table = ShareTable([(NodeShare(1, 12.0), NodeShare(3, 1.0))])
    for start in range(0, 4_000, 500):
        count = Counter(table.node_of(0, packet) for packet in range(start, start + 130))
        assert 9 <= count[3] <= 11
        assert count[1] + count[3] == 130


def test_workers_with_equal_lanes_choose_alike() -> None:
    shares = (NodeShare(1, 0.3), NodeShare(2, 0.5), NodeShare(0, 0.2))
    table = ShareTable([shares, shares])
    assert all(table.node_of(0, packet) == table.node_of(1, packet) for packet in range(500))


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.floats(0.01, 5)), min_size=1, max_size=3,
    unique_by=lambda x: x[0]),
                min_size=1, max_size=4), st.integers(0, 1 << 33))  # fmt: skip
def test_a_switch_expects_exactly_those_who_send_to_it(shares: list[list[tuple[int, float]]], packet: int) -> None:
    table = ShareTable([tuple(NodeShare(*part) for part in each) for each in shares])
    expected = {node: table.expected(node, packet) for node in range(4)}
    for rank in range(len(shares)):
        assert [node for node, mask in expected.items() if mask >> rank & 1] == [table.node_of(rank, packet)]


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.floats(0.01, 5)), min_size=1, max_size=3,
    unique_by=lambda x: x[0]),
                min_size=1, max_size=4), st.integers(0, 1 << 33), st.integers(1, 500))  # fmt: skip
def test_packets_of_one_way_have_the_same_node_at_each_rank(
    shares: list[list[tuple[int, float]]], packet: int, later: int
) -> None:
    table = ShareTable([tuple(NodeShare(*part) for part in each) for each in shares])
    same_way = table.way_of(packet) == table.way_of(packet + later)
    nodes = [[table.node_of(rank, each) for rank in range(len(shares))] for each in (packet, packet + later)]
    assert not same_way or nodes[0] == nodes[1]


def test_a_way_ends_where_any_rank_changes_its_node() -> None:
    halves, thirds = [NodeShare(1, 1), NodeShare(2, 1)], [NodeShare(1, 1), NodeShare(2, 2)]
    assert {ShareTable([halves, thirds]).way_of(packet) for packet in range(100)} == {0, 1, 2}
    assert {ShareTable([halves, halves]).way_of(packet) for packet in range(100)} == {0, 1}


@pytest.mark.parametrize("shares", [(), (NodeShare(1, 0.0),), (NodeShare(1, 1.0), NodeShare(2, -1.0))])
def test_a_worker_without_a_share_is_refused(shares: tuple[NodeShare, ...]) -> None:
    with pytest.raises(ValueError, match="share above zero"):
        ShareTable([shares])
