"""Donors and a newcomer that talk to each other: the block comes back whatever the wire does, and nothing is added
twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.repair_bench import SERVICE_IP, host_config, member_ip, reply
from workloads.codes import create_code
from workloads.datagrams.blocks import BlockSummed
from workloads.errors import ScenarioError
from workloads.events import CollectiveCompleted, DatagramResent, DatagramStatistics, FrameRejected
from workloads.gradients import create_source
from workloads.gradients.synthetic import SyntheticSource
from workloads.repair import CodeShare, RepairConfig
from workloads.repair.checks import problems_in_host
from workloads.repair.hosts import create_host
from workloads.repair.packets import coefficient_of, data_header
from workloads.repair.stored import StoredSource, file_of, symbols_of, words_of
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    DatagramKind,
    decode_datagram,
    encode_datagram,
)

RS = CodeShare("rs", 6, 4, 4, 1, (0, 2, 3, 5))
MSR = CodeShare("msr", 5, 3, 4, 4, (0, 1, 2, 3))
MBR = CodeShare("mbr", 4, 2, 3, 2, (0, 1, 3))
Fate = Callable[[int], int]
"""number of a frame -> how many copies arrive"""


def run(share: CodeShare, fate: Fate = lambda number: 1, *, hold: Fate = lambda number: 0, **changes: Any) -> list[Any]:
    """All hosts, with a wire that takes 10 us; by rank: (machine, events). `hold`: us that a frame is late."""
    changes = {"combined": False, **changes}
    configs = [host_config(rank, share, **changes) for rank in range(share.d + 1)]
    hosts = [create_host(config, 0) for config in configs]
    at = {member_ip(rank): rank for rank in range(share.d + 1)}
    told: list[list[Any]] = [[] for _ in hosts]
    wire: list[tuple[int, int, int, bytes]] = []
    now = number = 0
    for _ in range(20_000):
        for rank, host in enumerate(hosts):
            while (timer := host.get_timer()) is not None and timer <= now:
                host.handle_timer(now)
            for _, frame in host.frames_to_send(now):
                found = decode_datagram(frame)
                assert found is not None
                number += 1
                for copy in range(fate(number)):
                    wire.append((now + 10_000 + 1000 * hold(number + copy), number, at[found.dst_ip], bytes(frame)))
            while (event := host.next_event()) is not None:
                told[rank].append(event)
        if all(host.finished for host in hosts):  # type: ignore[attr-defined]
            break
        timers = [timer for host in hosts if (timer := host.get_timer()) is not None]
        now = max(now, min([*timers, *(due for due, *_ in wire)]))
        arrived, wire = [each for each in wire if each[0] <= now], [each for each in wire if each[0] > now]
        for _, _, rank, frame in sorted(arrived):
            hosts[rank].receive_frame(0, frame, now)
    for rank, host in enumerate(hosts):
        host.finish(now)
        while (event := host.next_event()) is not None:
            told[rank].append(event)
    return list(zip(hosts, told, strict=True))


def events(told: list[Any], kind: type) -> list[Any]:
    return [event for event in told if isinstance(event, kind)]


def assert_repaired(share: CodeShare, hosts: list[Any], *, iterations: int = 1, words: int = 24) -> None:
    import hashlib

    code = share.code
    for rank, node in enumerate((*share.donors, share.lost)):
        done = events(hosts[rank][1], CollectiveCompleted)
        assert [event.iteration for event in done] == list(range(iterations)), rank
        for event in done:
            config = replace(host_config(0, share).workload, elements=words, iterations=iterations)
            sources = [create_source(config, each, share.d + 1) for each in range(share.d + 1)]
            file = file_of(code, [source.gradient(event.iteration).copy() for source in sources])
            assert event.sha256 == hashlib.sha256(code.encode(file)[node].tobytes()).hexdigest(), rank
    for summed in events(hosts[-1][1], BlockSummed):
        assert summed.contributions == (*(1 for _ in share.donors), 0)


@pytest.mark.parametrize("share", [RS, MSR, MBR])
@pytest.mark.parametrize("op", ["xor", "gf256"])
def test_the_newcomer_holds_what_the_lost_node_stored(share: CodeShare, op: str) -> None:
    hosts = run(share, op=op)
    assert_repaired(share, hosts)
    assert not events(hosts[-1][1], FrameRejected)
    assert sum(len(events(told, DatagramResent)) for _, told in hosts) == 0


def test_several_iterations_are_several_files() -> None:
    workload = replace(host_config(0, RS).workload, iterations=3)
    hosts = run(RS, workload=workload)
    assert_repaired(RS, hosts, iterations=3)
    assert len({event.sha256 for event in events(hosts[-1][1], CollectiveCompleted)}) == 3


@settings(max_examples=60, deadline=None)
@given(
    share=st.sampled_from([RS, MSR, MBR]),
    fates=st.lists(st.sampled_from([0, 0, 1, 1, 1, 1, 2, 3]), min_size=1, max_size=40),
    late=st.lists(st.integers(0, 3000), min_size=1, max_size=17),
    iterations=st.integers(1, 2),
)
def test_whatever_is_lost_doubled_or_late(share: CodeShare, fates: list[int], late: list[int], iterations: int) -> None:
    """The first frames have those fates, the others arrive."""
    workload = replace(host_config(0, share).workload, iterations=iterations)

    def fate(number: int) -> int:
        return fates[number - 1] if number <= len(fates) else 1

    hosts = run(share, fate, hold=lambda number: late[number % len(late)] if number <= 60 else 0, workload=workload)
    assert_repaired(share, hosts, iterations=iterations)


def test_a_lost_acknowledgement_is_given_again_and_nothing_added() -> None:
    """Frames 1 to 8 are the donors' windows, the next ones acknowledgements."""
    hosts = run(RS, lambda number: 0 if 9 <= number <= 16 else 1)
    assert_repaired(RS, hosts)
    (statistics,) = events(hosts[-1][1], DatagramStatistics)
    assert statistics.duplicates_received == 8
    assert sum(len(events(told, DatagramResent)) for _, told in hosts) == 8


def header_of(config: RepairConfig, block: int, words: int, coefficient: int, iteration: int) -> AggregationHeader:
    """Of a packet of a donor."""
    header, slot = data_header(config, coefficient, iteration), config.first_slot + block % config.window
    return header._replace(sequence=block + 1, slot=slot, nelem=words)


def newcomer(**changes: Any) -> Any:
    host: Any = create_host(host_config(4, RS, **changes), 0)
    while (timer := host.get_timer()) is not None and timer <= 0:
        host.handle_timer(0)
    return host


def frame_of(config: RepairConfig, block: int, **changes: Any) -> bytes:
    header = header_of(config, block, 8, 1, 0)._replace(**changes)
    return encode_datagram(config.answers[0], AGGREGATION_PORT, header, bytes(4 * header.nelem))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"bitmap0": 2}, "unexpected"), ({"bitmap0": 3}, "unexpected"), ({"kind": DatagramKind.RESULT}, "unexpected"),
        ({"job": 8}, "unexpected"), ({"fan_in0": 5}, "unexpected"), ({"sequence": 90}, "bad_result"),
        ({"nelem": 6}, "bad_result"),
    ],
)  # fmt: skip
def test_the_newcomer_refuses_what_contradicts_itself(changes: dict[str, int], reason: str) -> None:
    host = newcomer(combined=False)
    host.receive_frame(0, frame_of(host_config(0, RS, combined=False), 0, **changes), 5)
    told = []
    while (event := host.next_event()) is not None:
        told.append(event)
    assert [event.reason for event in told if isinstance(event, FrameRejected)] == [reason]
    assert list(host.frames_to_send(5)) == []


def test_a_question_is_answered_when_the_block_is_there_alone() -> None:
    host, config = newcomer(), host_config(0, RS)
    envelope = replace(config.answers[0], src_ip=SERVICE_IP, dst_ip=member_ip(4))
    data = header_of(config, 0, 8, 1, 0)
    asked = encode_datagram(envelope, AGGREGATION_PORT, reply(data, DatagramKind.REMINDER, 15), b"")
    host.receive_frame(0, asked, 5)
    assert list(host.frames_to_send(5)) == []
    result = data._replace(kind=DatagramKind.RESULT, bitmap0=15)
    host.receive_frame(0, encode_datagram(envelope, AGGREGATION_PORT, result, bytes(32)), 6)
    assert len(list(host.frames_to_send(6))) == 1
    host.receive_frame(0, asked, 7)
    ((_, frame),) = host.frames_to_send(7)
    found = decode_datagram(frame)
    assert found is not None
    assert (found.dst_ip, found.header.kind, found.header.bitmap0) == (SERVICE_IP, DatagramKind.ACK, 15)


def test_a_donor_takes_acknowledgements_that_name_it() -> None:
    host: Any = create_host(host_config(0, RS), 0)
    while (timer := host.get_timer()) is not None and timer <= 0:
        host.handle_timer(0)
    assert len(list(host.frames_to_send(0))) == 2, "a window"
    envelope = replace(host_config(0, RS).answers[0], src_ip=SERVICE_IP, dst_ip=member_ip(0))
    header = header_of(host_config(0, RS), 0, 8, 1, 0)
    for bitmap, left in ((2, 0), (1, 1), (1, 0)):
        host.receive_frame(
            0, encode_datagram(envelope, AGGREGATION_PORT, reply(header, DatagramKind.ACK, bitmap), b""), 9
        )
        assert len(list(host.frames_to_send(9))) == left


@pytest.mark.parametrize("sequence", [0, 2, 3, (1 << 32) - 1, 1 << 31])
def test_a_donor_refuses_acknowledgements_of_what_never_left(sequence: int) -> None:
    """Sequence 0 decodes to packet -1; 1 is the only packet that left."""
    host: Any = create_host(host_config(0, RS, words=400), 0)
    while (timer := host.get_timer()) is not None and timer <= 0:
        host.handle_timer(0)
    next(iter(host.frames_to_send(0)))
    envelope = replace(host_config(0, RS).answers[0], src_ip=SERVICE_IP, dst_ip=member_ip(0))
    header = header_of(host_config(0, RS), 0, 8, 1, 0)._replace(sequence=sequence)
    for _ in range(60):
        host.receive_frame(0, encode_datagram(envelope, AGGREGATION_PORT, reply(header, DatagramKind.ACK, 1), b""), 9)
    host.finish(9)
    (statistics,) = events(list(iter(host.next_event, None)), DatagramStatistics)
    assert (statistics.results_received, statistics.duplicates_received) == (0, 60)


@pytest.mark.parametrize("kind", [DatagramKind.RESULT, DatagramKind.REMINDER])
def test_a_newcomer_has_nothing_of_packets_before_the_first(kind: DatagramKind) -> None:
    host: Any = create_host(host_config(4, RS), 0)
    while (timer := host.get_timer()) is not None and timer <= 0:
        host.handle_timer(0)
    envelope = replace(host_config(0, RS).answers[0], src_ip=SERVICE_IP, dst_ip=member_ip(4))
    words = 8 if kind == DatagramKind.RESULT else 0
    header = header_of(host_config(0, RS), 0, words, 1, 0)._replace(sequence=0, kind=kind, bitmap0=15)
    host.receive_frame(0, encode_datagram(envelope, AGGREGATION_PORT, header, bytes(4 * words)), 9)
    assert not list(host.frames_to_send(9)), "an acknowledgement of what never was"
    assert events(list(iter(host.next_event, None)), FrameRejected)


def test_a_newcomer_keeps_no_more_of_the_next_iteration_than_a_window() -> None:
    config = host_config(4, RS)
    config = replace(config, workload=replace(config.workload, iterations=3))
    host: Any = create_host(config, 0)
    while (timer := host.get_timer()) is not None and timer <= 0:
        host.handle_timer(0)
    envelope = replace(host_config(0, RS).answers[0], src_ip=SERVICE_IP, dst_ip=member_ip(4))
    for block in range(config.blocks, config.blocks + 50):
        header = header_of(host_config(0, RS), block, 8, 1, 1)._replace(kind=DatagramKind.RESULT, bitmap0=15)
        host.receive_frame(0, encode_datagram(envelope, AGGREGATION_PORT, header, bytes(32)), 9)
    assert len(host._early) == config.window


def test_donors_that_wait_in_vain_stop_asking_at_the_same_time() -> None:
    """Else the same full queue turns the same one away for ever."""
    asked = []
    for rank in (0, 1):
        host: Any = create_host(host_config(rank, RS), 0)
        times = []
        for _ in range(60):
            now = host.get_timer()
            host.handle_timer(now)
            times += [now for _ in host.frames_to_send(now)]
        asked.append(times)
    assert asked[0][:8] == asked[1][:8]
    assert len(set(asked[0][-40:]) & set(asked[1][-40:])) < 5


def test_coefficients_travel_as_bytes() -> None:
    for coefficient in (0, 1, 127, 128, 255):
        header = header_of(host_config(0, RS, op="gf256"), 3, 8, coefficient, 0)
        assert -128 <= header.exponent0 <= 127
        assert coefficient_of(header) == coefficient
        assert coefficient_of(header_of(host_config(0, RS), 3, 8, coefficient, 0)) == 1


def test_what_nodes_store_comes_from_all_gradients() -> None:
    code = create_code("mbr", 4, 2, 3)
    stored = [StoredSource(host_config(rank, MBR)).gradient(0) for rank in range(4)]
    sources = [create_source(host_config(0, MBR).workload, rank, 4) for rank in range(4)]
    file = np.concatenate([symbols_of(source.gradient(0), 3) for source in sources])[:5]
    for rank, node in enumerate((0, 1, 3, 2)):
        assert (words_of(code.encode(file)[node], stored[rank].dtype).tobytes()) == stored[rank].tobytes()


def test_hosts_of_one_process_draw_a_file_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as one of them has it; a file of another seed or iteration is another one."""
    drawn: list[int] = []
    draw = SyntheticSource.draw
    monkeypatch.setattr(
        SyntheticSource, "draw", lambda own, number, *rest: (drawn.append(number), draw(own, number, *rest))
    )
    workload = host_config(0, MBR).workload

    def draws(source: StoredSource, iteration: int) -> int:
        drawn.clear()
        source.gradient(iteration)
        return len(drawn)

    late = replace(workload, straggle_ns=5)
    hosts = [StoredSource(host_config(rank, MBR, workload=late if rank else workload)) for rank in range(4)]
    other = StoredSource(host_config(0, MBR, workload=replace(workload, seed=6)))
    assert [draws(host, 0) for host in hosts] == [2, 0, 0, 0]
    assert [draws(hosts[0], 1), draws(hosts[1], 0), draws(hosts[1], 1), draws(other, 0)] == [2, 0, 0, 2]
    del hosts
    assert draws(StoredSource(host_config(0, MBR)), 0) == 2


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"share": replace(RS, name="lrc")}, "share.name"), ({"share": replace(RS, d=3)}, "share.d"),
        ({"share": replace(RS, donors=(0, 2, 3))}, "share.donors"), ({"op": "sum"}, "op"), ({"window": 0}, "window"),
        ({"share": replace(RS, donors=(0, 1, 2, 3))}, "share.donors"), ({"answers": ()}, "answers"),
        ({"rto_ns": 5}, "rto_ns"), ({"elements": 7}, "elements"),
    ],
)  # fmt: skip
def test_a_host_that_cannot_be_says_why(changes: dict[str, Any], key: str) -> None:
    config = replace(host_config(0, RS), **changes)
    assert next(problem.key for problem in problems_in_host(config)) == key
    with pytest.raises(ScenarioError):
        create_host(config, 0)


def test_alpha_must_divide_what_a_node_stores() -> None:
    assert [problem.key for problem in problems_in_host(host_config(0, MBR, words=25))] == ["workload.elements"]
