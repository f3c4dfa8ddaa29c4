"""Workers and the server of a job that talk to each other: the sums are those of what came, whatever the wire does."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.dlcp_star import events, gradients, host_config, member_ip, run
from workloads.collectives.arithmetic import fold
from workloads.config import ArithmeticSpec
from workloads.datagrams.blocks import BlockSummed
from workloads.dlcp.bound import packets_needed
from workloads.dlcp.events import FlowClosed
from workloads.dlcp.hosts import create_host
from workloads.errors import ScenarioError
from workloads.events import CollectiveCompleted, DatagramResent, DatagramStatistics, FrameRejected, WorkerFailed
from workloads.wire.aggregation import AGGREGATION_PORT, Datagram, DatagramFlag, DatagramKind, encode_datagram
from workloads.wire.aggregation import decode_datagram as decode

PACKET = 4
"""elements"""


def kept(values: Any, bitmap: str) -> Any:
    """`values` where the bitmap has its packet, +0 elsewhere."""
    bits = int(bitmap, 16)
    return np.array([value if bits >> at // PACKET & 1 else 0 for at, value in enumerate(values)], values.dtype)


def assert_sums(hosts: Any, *, iterations: int = 1, bound: float = 0.0, **changes: Any) -> None:
    """Each rank has the sum of what was told to have come."""
    size, dtype = changes.get("size", 3), changes.get("dtype", "float32")
    closed = {
        (rank, e.iteration, e.sender): e for rank, (_, told) in enumerate(hosts) for e in events(told, FlowClosed)
    }
    assert len(closed) == 2 * (size - 1) * iterations
    for iteration in range(iterations):
        rows = gradients(iteration, iterations=iterations, **changes)
        rows = [kept(row, closed[size - 1, iteration, rank].bitmap) for rank, row in enumerate(rows[:-1])] + rows[-1:]
        total = fold(np.array(rows).view(np.uint8), ArithmeticSpec("sum", dtype)).view(rows[0].dtype)
        for rank, (_, told) in enumerate(hosts):
            result = total if rank == size - 1 else kept(total, closed[rank, iteration, size - 1].bitmap)
            done = [e for e in events(told, CollectiveCompleted) if e.iteration == iteration]
            assert [e.sha256 for e in done] == [hashlib.sha256(result.tobytes()).hexdigest()], (rank, iteration)
    for event in closed.values():
        assert event.counted == int(event.bitmap, 16).bit_count() == packets_needed(event.packets, bound)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int32sat"])
def test_without_loss_and_bound_all_of_it_is_there(dtype: str) -> None:
    hosts = run(dtype=dtype, iterations=2)
    assert_sums(hosts, dtype=dtype, iterations=2)
    assert {event.bitmap for _, told in hosts for event in events(told, FlowClosed)} == {f"{2**10 - 1:x}"}
    assert not any(events(told, DatagramResent) + events(told, FrameRejected) for _, told in hosts)
    summed = events(hosts[-1][1], BlockSummed)
    assert [(event.block, event.contributions) for event in summed] == [(block, (1, 1, 1)) for block in range(20)]


def test_a_flow_ends_early_and_what_is_missing_counts_as_zero() -> None:
    """The last packets are on their way, or have not left, when the flow ends."""
    hosts = run(loss_bound=0.3)
    assert_sums(hosts, bound=0.3)
    assert {event.bitmap for _, told in hosts for event in events(told, FlowClosed)} == {f"{2**7 - 1:x}"}
    assert not any(events(told, DatagramResent) for _, told in hosts)


def test_so_many_lost_packets_are_not_sent_again() -> None:
    """Of each flow the first three."""
    hosts = run(
        lambda number, found: int(found.header.kind == DatagramKind.ACK or found.header.sequence > 3), loss_bound=0.3
    )
    assert_sums(hosts, bound=0.3)
    assert not any(events(told, DatagramResent) for _, told in hosts)


def test_one_more_lost_packet_is_a_round_of_repetitions() -> None:
    lost: set[tuple[bytes, int]] = set()

    def fate(number: int, found: Datagram) -> int:
        key = found.src_ip, found.header.sequence
        if found.header.kind != DatagramKind.DATA or found.header.sequence > 4 or key in lost:
            return 1
        lost.add(key)
        return 0

    hosts = run(fate, loss_bound=0.3)
    assert_sums(hosts, bound=0.3)
    for _, told in hosts[:-1]:
        again = events(told, DatagramResent)
        assert again
        assert {event.block for event in again} <= {0, 1, 2, 3}


def test_lost_acknowledgements_cost_repetitions_and_no_sum() -> None:
    """The first 24 of everybody: also those that say that no more is wanted."""
    count: dict[bytes, int] = {}

    def fate(number: int, found: Datagram) -> int:
        if found.header.kind != DatagramKind.ACK:
            return 1
        count[found.dst_ip] = count.get(found.dst_ip, 0) + 1
        return int(count[found.dst_ip] > 24)

    hosts = run(fate, iterations=2, loss_bound=0.1)
    assert_sums(hosts, iterations=2, bound=0.1)
    assert any(events(told, DatagramResent) for _, told in hosts)


def test_packets_say_their_class() -> None:
    seen: dict[int, set[int]] = {}
    hosts = [create_host(host_config(rank, important=0.5), 0) for rank in range(3)]
    for host in hosts:
        while (timer := host.get_timer()) is not None and timer <= 0:
            host.handle_timer(0)
        for _, frame in host.frames_to_send(0):
            found = decode(frame)
            assert found is not None
            seen.setdefault(found.header.sequence, set()).add(frame[15] >> 2)
    for sequence, classes in seen.items():
        layer = 4 * (sequence - 1) // 10
        assert classes <= {8 + 2 * layer, 9 + 2 * layer}
    assert {tos & 1 for classes in seen.values() for tos in classes} == {0, 1}


@settings(max_examples=80, deadline=None)
@given(
    size=st.integers(2, 4),
    bound=st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9]),
    fates=st.lists(st.sampled_from([0, 0, 0, 1, 1, 1, 1, 2, 3]), min_size=1, max_size=60),
    late=st.lists(st.integers(0, 500), min_size=1, max_size=17),
    iterations=st.integers(1, 3),
    window=st.integers(1, 12),
    dtype=st.sampled_from(["float32", "int32"]),
)
def test_whatever_is_lost_doubled_or_late(
    size: int, bound: float, fates: list[int], late: list[int], iterations: int, window: int, dtype: str
) -> None:
    """The first frames have those fates, the others arrive."""
    changes: dict[str, Any] = {"size": size, "dtype": dtype}
    hosts = run(
        lambda number, found: fates[number - 1] if number <= len(fates) else 1,
        late=lambda number: late[number % len(late)] if number <= 100 else 0,
        loss_bound=bound, iterations=iterations, window=window, **changes,
    )  # fmt: skip
    assert_sums(hosts, iterations=iterations, bound=bound, **changes)
    for summed in events(hosts[-1][1], BlockSummed):
        assert set(summed.contributions) <= {0, 1}


@pytest.mark.parametrize(("bound", "chance"), [(0.0, 0.3660), (0.01, 0.7358), (0.02, 0.9206), (0.05, 0.9995)])
def test_completion_without_a_repetition(bound: float, chance: float) -> None:
    """The oracle of `test_flow` with frames, up and down: M = 100, each packet with elements lost with 1 %."""
    draw, iterations, size = Random(f"machines {bound}"), 20, 5
    hosts = run(
        lambda number, found: int(found.header.kind == DatagramKind.ACK or draw.random() >= 0.01),
        size=size, iterations=iterations, loss_bound=bound, words=200, elements=2, window=100, rto_ns=50_000_000,
    )  # fmt: skip
    flows = 2 * (size - 1) * iterations
    up = {(rank, e.block // 100) for rank, (_, told) in enumerate(hosts[:-1]) for e in events(told, DatagramResent)}
    assert sum(len(events(told, FlowClosed)) for _, told in hosts) == flows
    done = iterations * (size - 1) - len(up)
    runs = iterations * (size - 1)
    assert abs(done / runs - chance) <= 3 * math.sqrt(chance * (1 - chance) / runs) + 1 / runs, done


def test_a_host_that_starts_anew_gives_up() -> None:
    for rank in range(3):
        host = create_host(host_config(rank).reborn(1), 0)
        assert host.failed  # type: ignore[attr-defined]
        event = host.next_event()
        assert isinstance(event, WorkerFailed)
        assert event.reason == "RESTARTED"
        assert host.get_timer() is None
        host.receive_frame(0, a_frame(2 if rank < 2 else 0), 0)
        assert list(host.frames_to_send(0)) == []


def a_frame(sender: int = 0, **changes: Any) -> bytes:
    """The first packet of a host, with other values in its header."""
    host = create_host(host_config(sender if sender < 2 else 0), 0)
    host.handle_timer(0)
    _, frame = next(iter(host.frames_to_send(0)))
    found = decode(frame)
    assert found is not None
    envelope = host_config(0).peers[0]
    if "src_ip" in changes:
        envelope = replace(envelope, src_ip=changes.pop("src_ip"))
    payload = found.payload[: 4 * changes.get("nelem", found.header.nelem)]
    return encode_datagram(envelope, AGGREGATION_PORT, found.header._replace(**changes), payload)


@pytest.mark.parametrize(
    "changes",
    [
        {"policy": 6}, {"job": 2}, {"fan_in0": 4}, {"kind": DatagramKind.RESULT}, {"kind": DatagramKind.NACK},
        {"sequence": 0}, {"sequence": 11}, {"nelem": 2}, {"bitmap0": 2}, {"bitmap0": 3}, {"bitmap0": 0},
        {"bitmap0": 4}, {"tensor": 1}, {"src_ip": member_ip(1)}, {"kind": DatagramKind.ACK},
    ],
)  # fmt: skip
def test_a_server_refuses_what_cannot_be(changes: dict[str, Any]) -> None:
    server = create_host(host_config(2), 0)
    server.receive_frame(0, a_frame(**changes), 0)
    assert [type(event) for event in iter(server.next_event, None)] == [FrameRejected]
    assert list(server.frames_to_send(0)) == []


def test_a_server_answers_what_it_takes_and_what_it_has() -> None:
    server = create_host(host_config(2), 0)
    for _ in range(2):
        server.receive_frame(0, a_frame(), 0)
        ((_, frame),) = server.frames_to_send(0)
        found = decode(frame)
        assert found is not None
        assert (found.header.kind, found.header.sequence, found.header.flags) == (DatagramKind.ACK, 1, 0)
        assert found.dst_ip == member_ip(0)
    server.finish(1)
    (statistics,) = [e for e in iter(server.next_event, None) if isinstance(e, DatagramStatistics)]
    assert (statistics.results_received, statistics.duplicates_received) == (1, 1)


def test_what_is_over_is_not_wanted_any_more() -> None:
    """A copy of a gradient of the iteration before gets LAST, so that its sender stops."""
    hosts = run(iterations=2)
    server = hosts[-1][0]
    server.receive_frame(0, a_frame(), 10**9)
    ((_, frame),) = server.frames_to_send(10**9)
    found = decode(frame)
    assert found is not None
    assert found.header.flags == DatagramFlag.LAST


@pytest.mark.parametrize(
    ("rank", "changes", "key"),
    [
        (0, {"loss_bound": 1.0}, "loss_bound"), (0, {"loss_bound": -0.1}, "loss_bound"),
        (0, {"important": 1.1}, "important"),
        (2, {"peers": host_config(2).peers[:1]}, "peers"), (0, {"elements": 3}, "elements"),
        (0, {"window": 0}, "window"), (0, {"rto_ns": 1}, "rto_ns"),
        (0, {"dtype": "float64"}, "collective.arithmetic.dtype"),
    ],
)  # fmt: skip
def test_a_configuration_that_cannot_be_is_refused(rank: int, changes: dict[str, Any], key: str) -> None:
    with pytest.raises(ScenarioError) as error:
        create_host(host_config(rank, **changes), 0)
    assert error.value.key == key


def test_a_job_of_one_host_has_nobody_to_talk_to() -> None:
    config = host_config(0)
    with pytest.raises(ScenarioError, match=r"collective\.size"):
        create_host(replace(config, collective=replace(config.collective, size=1)), 0)
