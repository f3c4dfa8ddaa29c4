from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.fake_fabric import worker_config
from workloads.collectives.schedules import chunk_bounds, gathers, longest_packets, most_messages, ring_schedule

MTU = 256


def config_of(kind, size, **options):
    return worker_config(0, size, path_mtu=MTU, **{"kind": kind, "message_packets": 20, **options}).collective


@given(st.integers(2, 7), st.integers(1, 4000), st.booleans())
def test_the_halves_of_a_ring_are_the_ring(size, elements, pipelined):
    whole, first, second = (
        config_of(kind, size, pipelined=pipelined) for kind in ("ring", "reduce_scatter", "all_gather")
    )
    for rank in range(size):
        halves = [ring_schedule(config, rank, elements, MTU) for config in (first, second)]
        assert [*halves[0], *halves[1]] == [*ring_schedule(whole, rank, elements, MTU)]
        assert not any(gathers(first, item.step) for item in halves[0])
        assert all(gathers(second, item.step) for item in halves[1])


@given(st.integers(2, 7), st.integers(1, 4000))
def test_after_the_first_half_a_rank_has_received_the_chunk_that_the_second_begins_with(size, elements):
    for rank in range(size):
        received = ring_schedule(config_of("reduce_scatter", size), (rank - 1) % size, elements, MTU)
        sent = ring_schedule(config_of("all_gather", size), rank, elements, MTU)
        last = {item.chunk for item in received if item.step == size - 2}
        assert last == {item.chunk for item in sent if item.step == size - 1} <= {(rank + 1) % size}


@pytest.mark.parametrize("kind", ["chain_reduce", "chain_broadcast"])
def test_a_chain_passes_the_whole_gradient_from_the_first_rank_to_the_last(kind):
    config = config_of(kind, 3)
    schedules = [ring_schedule(config, rank, 64 * 40, MTU) for rank in range(3)]
    assert [[(item.step, item.packets) for item in schedule] for schedule in schedules] == [
        [(0, 16), (0, 16), (0, 8)], [(1, 16), (1, 16), (1, 8)], [],
    ]  # fmt: skip
    assert {gathers(config, step) for step in range(2)} == {kind == "chain_broadcast"}


def test_without_pipelining_a_chunk_is_cut_into_full_messages_only():
    pipelined, plain = (
        ring_schedule(config_of("ring", 2, message_packets=170, pipelined=way), 0, 64 * 2 * 200, MTU)
        for way in (True, False)
    )
    assert [item.packets for item in pipelined if item.step == 0] == [25] * 8
    assert [item.packets for item in plain if item.step == 0] == [170, 30]


@example("ring", 2, 129, True)  # chunks of 65 and 64 elements: two packets and one
@given(
    st.sampled_from(["ring", "reduce_scatter", "all_gather", "chain_reduce", "chain_broadcast"]),
    st.integers(2, 6),
    st.integers(1, 3000),
    st.booleans(),
)
def test_no_rank_sends_a_message_that_is_longer_than_the_slots_of_all(kind, size, elements, pipelined):
    config = config_of(kind, size, pipelined=pipelined)
    sent = [
        item.packets for rank in range(size) for item in ring_schedule(replace(config, rank=rank), rank, elements, MTU)
    ]
    assert max(sent, default=1) == longest_packets(config, elements, MTU)


@given(
    st.sampled_from(["ring", "reduce_scatter", "all_gather", "chain_reduce", "chain_broadcast"]),
    st.integers(2, 6),
    st.integers(1, 3000),
    st.sampled_from([1, 3, 20]),
)
def test_no_rank_sends_more_messages_than_receives_are_counted_for(kind, size, elements, message_packets):
    config = config_of(kind, size, message_packets=message_packets)
    sent = [len(ring_schedule(replace(config, rank=rank), rank, elements, MTU)) for rank in range(size)]
    assert max(sent) <= most_messages(config, elements, MTU) <= max(sent) + 2 * size


def test_chunks_differ_by_one_element_at_most():
    assert chunk_bounds(7, 3) == [(0, 12), (12, 20), (20, 28)]
