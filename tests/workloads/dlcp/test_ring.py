"""Ranks of a ring that talk to each other: sums are those of what came, whatever the wire does."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.checkers.folds import ring_fold
from testbed.protocols.dlcp.bounded_ring import RingJob
from testbed.protocols.dlcp.bounded_told import Findings, ToldLoss
from tests.support.dlcp_star import events, gradients, host_config, run
from workloads.config import ArithmeticSpec
from workloads.datagrams.blocks import BlockSummed
from workloads.dlcp.events import FlowClosed
from workloads.dlcp.hosts import create_host
from workloads.events import CollectiveCompleted, DatagramResent, FrameRejected
from workloads.wire.aggregation import AGGREGATION_PORT, DatagramKind, decode_datagram, encode_datagram


def told_by(hosts: Any) -> ToldLoss:
    told = ToldLoss()
    for rank, (_, told_events) in enumerate(hosts):
        name = f"h{rank + 1}"
        for end in events(told_events, FlowClosed):
            assert (name, end.iteration, end.sender, end.step) not in told.closed
            told.closed[name, end.iteration, end.sender, end.step] = end
        for summed in events(told_events, BlockSummed):
            assert (name, summed.block) not in told.summed
            told.summed[name, summed.block] = summed.contributions
    return told


def assert_sums(hosts: Any, iterations: int = 1, **changes: Any) -> None:
    size = len(hosts)
    configs = [host_config(rank, size, ring=True, iterations=iterations, **changes) for rank in range(size)]
    judge = RingJob(configs, told_by(hosts), Findings())
    for iteration in range(iterations):
        for found in judge.results(
            iteration, gradients(iteration, size=size, ring=True, iterations=iterations, **changes)
        ):
            assert not isinstance(found, str), found
            rank, result, _ = found
            done = [e for e in events(hosts[rank][1], CollectiveCompleted) if e.iteration == iteration]
            assert [e.sha256 for e in done] == [hashlib.sha256(result.tobytes()).hexdigest()]


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("words", [3, 40, 61])
def test_without_loss_and_bound_it_is_a_ring_all_reduce(size: int, words: int) -> None:
    hosts = run(size=size, ring=True, words=words, iterations=2)
    assert_sums(hosts, iterations=2, words=words)
    for iteration in range(2):
        rows = gradients(iteration, size=size, ring=True, words=words, iterations=2)
        right = hashlib.sha256(ring_fold(rows, ArithmeticSpec()).tobytes()).hexdigest()
        assert all(events(told, CollectiveCompleted)[iteration].sha256 == right for _, told in hosts)
    assert not any(events(told, DatagramResent) + events(told, FrameRejected) for _, told in hosts)


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(2, 4),
    bound=st.sampled_from([0.0, 0.2, 0.5, 0.9]),
    fates=st.lists(st.sampled_from([0, 0, 0, 1, 1, 1, 1, 2, 3]), min_size=1, max_size=60),
    late=st.lists(st.integers(0, 500), min_size=1, max_size=17),
    iterations=st.integers(1, 3),
    window=st.integers(1, 6),
    dtype=st.sampled_from(["float32", "int32"]),
)
def test_whatever_is_lost_doubled_or_late(
    size: int, bound: float, fates: list[int], late: list[int], iterations: int, window: int, dtype: str
) -> None:
    hosts = run(
        lambda number, found: fates[number - 1] if number <= len(fates) else 1,
        late=lambda number: late[number % len(late)] if number <= 100 else 0,
        size=size, ring=True, loss_bound=bound, iterations=iterations, window=window, dtype=dtype, words=50,
    )  # fmt: skip
    assert_sums(hosts, iterations, loss_bound=bound, dtype=dtype, words=50)


def a_frame(**changes: Any) -> bytes:
    """The first packet of rank 0 to rank 1, with other values in its header."""
    host = create_host(host_config(0, ring=True), 0)
    host.handle_timer(0)
    _, frame = next(iter(host.frames_to_send(0)))
    found = decode_datagram(frame)
    assert found is not None
    header = found.header._replace(**changes)
    return encode_datagram(
        host_config(0, ring=True).peers[0], AGGREGATION_PORT, header, found.payload[: 4 * header.nelem]
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"slot": 4}, {"sequence": 0}, {"sequence": 5}, {"nelem": 2}, {"bitmap0": 2}, {"bitmap0": 3}, {"tensor": 2},
        {"kind": DatagramKind.RESULT}, {"kind": DatagramKind.ACK, "nelem": 0}, {"tensor": 1},
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(changes: dict[str, Any]) -> None:
    """Of one iteration."""
    host = create_host(host_config(1, ring=True), 0)
    host.receive_frame(0, a_frame(**changes), 0)
    assert [type(event) for event in iter(host.next_event, None)] == [FrameRejected]


def test_a_predecessor_may_be_ahead() -> None:
    """What it sends before this rank has begun, and for a later step, is kept and acknowledged."""
    host = create_host(host_config(1, ring=True), 0)
    for step in (0, 1):
        host.receive_frame(0, a_frame(slot=step), 0)
    found = [decode_datagram(frame) for _, frame in host.frames_to_send(0)]
    assert [(each.header.kind, each.header.slot) for each in found if each is not None] == [
        (DatagramKind.ACK, 0), (DatagramKind.ACK, 1),
    ]  # fmt: skip


def test_missing_parts_are_plus_zero() -> None:
    hosts = run(
        lambda number, found: int(found.header.kind == DatagramKind.ACK or found.header.sequence != 1),
        size=3, ring=True, loss_bound=0.5, words=48,
    )  # fmt: skip
    assert_sums(hosts, loss_bound=0.5, words=48)
    for host, _ in hosts:
        assert np.isfinite(host._training.result).all()
