"""The parameter server as a Machine: what it takes for itself, and to whom it sends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.atp_star import SERVER_IP, SERVER_MAC, SERVICE_IP, SERVICE_MAC, atp_workers, server_config
from workloads.datagrams.blocks import BlockSummed, ServerStatistics
from workloads.errors import ScenarioError
from workloads.events import FrameRejected
from workloads.hosts import create_host
from workloads.machine import Event
from workloads.server import ParameterServer
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    DatagramFlag,
    DatagramKind,
    Policy,
    decode_datagram,
    encode_datagram,
)
from workloads.wire.ecn import mark_ce

JOB = atp_workers(2)
HEADER = AggregationHeader(Policy.ATP, DatagramKind.DATA, 7, 1, 0, 1, 2, nelem=2)


def frame(rank: int, *, to: bytes = SERVER_IP, **changes: int) -> bytes:
    envelope = replace(JOB[rank].envelope, dst_ip=to)
    header = HEADER._replace(bitmap0=1 << rank)._replace(**changes)
    return encode_datagram(envelope, AGGREGATION_PORT, header, bytes(4 * header.nelem))


def events(server: ParameterServer) -> list[Event]:
    found = []
    while (event := server.next_event()) is not None:
        found.append(event)
    return found


def goals(server: ParameterServer) -> list[tuple[bytes, bytes]]:
    """(MAC, IP) that frames go to."""
    return [(frame[:6], frame[30:34]) for _, frame in server.frames_to_send(0)]


def served(multicast: bool) -> ParameterServer:
    server = create_host(server_config(JOB, multicast=multicast))
    assert isinstance(server, ParameterServer)
    return server


def test_a_result_goes_to_the_switch_or_to_each() -> None:
    members = [(worker.envelope.src_mac, worker.envelope.src_ip) for worker in JOB]
    for multicast, wanted in ((True, [(SERVICE_MAC, SERVICE_IP)]), (False, members)):
        server = served(multicast)
        for rank in (0, 1):
            server.receive_frame(0, frame(rank), rank)
        assert goals(server) == wanted


def test_a_result_comes_from_the_server() -> None:
    server = served(True)
    for rank in (0, 1):
        server.receive_frame(0, frame(rank), rank)
    ((_, sent),) = server.frames_to_send(0)
    found = decode_datagram(sent)
    assert found is not None
    assert (found.src_mac, found.src_ip, found.header.server) == (
        SERVER_MAC,
        SERVER_IP,
        int.from_bytes(SERVER_IP, "big"),
    )
    assert sent[15] & 3 == 2, "it can be marked"


def test_what_is_not_for_the_server_is_nothing_to_it() -> None:
    server = served(True)
    for rank in (0, 1):
        server.receive_frame(0, frame(rank, to=SERVICE_IP), 0)
        server.receive_frame(0, bytes(100), 0)
    assert (goals(server), events(server)) == ([], [])


@pytest.mark.parametrize(
    "changes",
    [
        {"job": 8}, {"policy": Policy.ESA}, {"kind": DatagramKind.NACK}, {"bitmap0": 0}, {"bitmap0": 4}, {"op": 1},
        {"slot": 16}, {"nelem": 9},
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(changes: dict[str, int]) -> None:
    server = served(True)
    server.receive_frame(0, frame(0, **changes), 0)
    assert [event.reason for event in events(server) if isinstance(event, FrameRejected)] == ["unexpected"]
    server.receive_frame(0, frame(1)[:-1] + b"\xff", 0)
    assert [event.reason for event in events(server) if isinstance(event, FrameRejected)] == ["checksum"]
    for rank in (0, 1):
        server.receive_frame(0, frame(rank), 0)
    assert len(goals(server)) == 1


def test_what_came_is_counted() -> None:
    server = served(True)
    for rank in (0, 1, 1):
        server.receive_frame(0, frame(rank), 0)
    server.receive_frame(0, frame(0, op=1), 0)
    server.finish(0)
    (told,) = [event for event in events(server) if isinstance(event, ServerStatistics)]
    assert (told.job, told.bytes_in, told.packets_in) == (7, 3 * len(frame(0)), {"data": 3})
    assert (told.blocks, told.ignored, told.rejected, told.open) == (1, 1, 1, 0)


def test_a_server_that_starts_anew_behind_half_of_all_sequence_numbers_sums_on() -> None:
    server = create_host(replace(server_config(JOB, multicast=True), lives=1))
    assert isinstance(server, ParameterServer)
    for rank in (0, 1):
        server.receive_frame(0, frame(rank, sequence=(1 << 31) + 11), 0)
    (sent,) = [decode_datagram(found) for _, found in server.frames_to_send(0)]
    assert sent is not None
    assert (sent.header.kind, sent.header.sequence) == (DatagramKind.RESULT, (1 << 31) + 11)


def test_blocks_are_counted_on_where_sequence_numbers_begin_anew() -> None:
    server = create_host(server_config(atp_workers(2, kind="esa"), multicast=True))
    for sequence in (1 << 31, 2, (1 << 32) - 1, 1, 3, 2):  # the second one is late
        server.receive_frame(0, frame(0, policy=Policy.ESA, bitmap0=3, sequence=sequence), 0)
    blocks = [event.block for event in events(server) if isinstance(event, BlockSummed)]
    assert blocks == [(1 << 31) - 1, 1, (1 << 32) - 2, 1 << 32, (1 << 32) + 2, (1 << 32) + 1]


def test_two_jobs_with_one_id_are_refused() -> None:
    config = server_config(JOB)
    with pytest.raises(ScenarioError, match=r"jobs\[1\].job: server ps: cannot be; found 7; allowed: an id of its own"):
        create_host(replace(config, jobs=config.jobs * 2))


@pytest.mark.parametrize("by", ["nobody", "flag", "ip"])
def test_marks_of_packets_go_back_with_the_sum(by: str) -> None:
    server = served(True)
    first = frame(0, flags=int(DatagramFlag.ECN)) if by == "flag" else frame(0)
    for each in (mark_ce(first) or b"" if by == "ip" else first, frame(1)):
        server.receive_frame(0, each, 0)
    (sent,) = [decode_datagram(found) for _, found in server.frames_to_send(0)]
    assert sent is not None
    assert sent.header.flags == (0 if by == "nobody" else DatagramFlag.ECN)


def test_a_server_has_no_timer_until_something_waits() -> None:
    server = create_host(server_config(atp_workers(2, kind="esa"), multicast=True))
    assert server.get_timer() is None
    server.receive_frame(0, frame(0, policy=Policy.ESA), 500)
    assert server.get_timer() == 500 + JOB[0].rto_ns


def test_the_job_that_waited_longest_is_asked_first() -> None:
    others = atp_workers(2, job=9, kind="esa", first_host=2)
    server = create_host(server_config(atp_workers(2, kind="esa"), others, multicast=True))
    late = encode_datagram(others[0].envelope, AGGREGATION_PORT, HEADER._replace(policy=Policy.ESA, job=9), bytes(8))
    server.receive_frame(0, late, 300)
    server.receive_frame(0, frame(0, policy=Policy.ESA), 500)
    rto = JOB[0].rto_ns
    assert server.get_timer() == 300 + rto
    for due, job in ((300 + rto, 9), (500 + rto, 7)):
        server.handle_timer(due)
        ((port, sent),) = server.frames_to_send(due)
        found = decode_datagram(sent)
        assert found is not None
        assert (port, found.header.kind, found.header.job) == (0, DatagramKind.REMINDER, job)
    assert server.get_timer() == 300 + 3 * rto
