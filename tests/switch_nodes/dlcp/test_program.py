"""A switch that adds what comes in time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.dlcp import DlcpProgram
from switch_nodes.jobs import JobConfig, JobMember, RackLevels
from tests.support.dlcp_star import host_config, mac_of, member_ip
from workloads.collectives.arithmetic import fold
from workloads.config import ArithmeticSpec
from workloads.datagrams.blocks import ContributionIgnored, MemoryAtEnd, PartialSent
from workloads.dlcp.packets import header_of
from workloads.errors import ScenarioError
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    Datagram,
    DatagramFlag,
    DatagramKind,
    decode_datagram,
    encode_datagram,
)

SERVICE_MAC, SERVICE_IP = bytes(6), bytes((10, 77, 255, 1))
WAIT = 1000
MEMBERS = tuple(JobMember(rank, mac_of(rank), member_ip(rank), rank) for rank in range(4))
JOB = JobConfig(
    job=1, members=MEMBERS, service_mac=SERVICE_MAC, service_ip=SERVICE_IP, first_slot=0, slots=2, elements=4,
    server=replace(MEMBERS[3], rank=-1), window=10, levels=RackLevels(((0, 1, 2),), 0, collects=False),
    partial_after_ns=WAIT,
)  # fmt: skip
SWITCH = SwitchConfig(
    name="s1", program="dlcp", ports=4, macs=tuple((each.mac, each.port) for each in MEMBERS), jobs=(JOB,), memory=2
)


def values_of(rank: int, packet: int) -> Any:
    return np.array([10.0**rank * 0.1 * (packet + 1)] * 4, np.float32)


def packet(rank: int, number: int = 0, iteration: int = 0, *, tos: int = 36, **changes: Any) -> bytes:
    config = host_config(rank, 4)
    header = header_of(config, DatagramKind.DATA, rank, iteration)._replace(
        **{"sequence": number + 1, "nelem": 4, **changes}
    )
    payload = values_of(rank, number).astype(">f4").tobytes()[: 4 * header.nelem]
    return encode_datagram(replace(config.peers[0], tos=tos), AGGREGATION_PORT, header, payload)


def switch(**changes: Any) -> DlcpProgram:
    return DlcpProgram(replace(SWITCH, jobs=(replace(JOB, **changes),)))


def leaving(program: DlcpProgram, now: int = 0) -> list[tuple[int, Datagram]]:
    found = []
    for port, frame in program.frames_to_send(now):
        datagram = decode_datagram(frame)
        assert datagram is not None
        found.append((port, datagram))
    return found


def told(program: DlcpProgram, kind: type) -> list[Any]:
    return [event for event in iter(program.next_event, None) if isinstance(event, kind)]


def by_rank(ranks: tuple[int, ...], number: int = 0) -> bytes:
    rows = np.array([values_of(rank, number) for rank in ranks])
    return fold(rows.view(np.uint8), ArithmeticSpec()).tobytes()


def elements(datagram: Datagram) -> bytes:
    return np.frombuffer(datagram.payload, ">f4").astype(np.float32).tobytes()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_the_last_one_completes_a_sum_by_rank(order: tuple[int, ...]) -> None:
    program = switch()
    for number, rank in enumerate(order):
        assert leaving(program) == []
        program.receive_frame(rank, packet(rank, tos=(36, 32, 44)[rank]), number)
    ((port, found),) = leaving(program)
    assert (port, found.header.bitmap0, found.src_ip, found.dst_ip) == (3, 7, SERVICE_IP, member_ip(3))
    assert elements(found) == by_rank((0, 1, 2))
    assert program.slots_in_use == 0
    assert program.get_timer() is None
    (sent,) = told(program, PartialSent)
    assert (sent.block, sent.contributions, sent.bitmap, sent.reason) == (0, (1, 1, 1, 0), 7, "complete")


def test_a_sum_is_as_important_as_its_most_important_packet() -> None:
    program = switch()
    for rank in range(3):
        program.receive_frame(rank, packet(rank, tos=(36, 32, 44)[rank]), 0)
    ((_, frame),) = program.frames_to_send(0)
    assert frame[15] == 32


def test_when_the_time_is_up_those_who_came_leave_with_their_bitmap() -> None:
    program = switch()
    program.receive_frame(2, packet(2, 3, 1), 5)
    program.receive_frame(0, packet(0, 3, 1), 900)
    assert program.get_timer() == 5 + WAIT
    program.handle_timer(4 + WAIT)
    assert leaving(program) == []
    program.handle_timer(5 + WAIT)
    ((_, found),) = leaving(program)
    assert (found.header.bitmap0, found.header.sequence, found.header.tensor) == (5, 4, 1)
    assert elements(found) == by_rank((0, 2), 3)
    (sent,) = told(program, PartialSent)
    assert (sent.block, sent.contributions, sent.reason) == (13, (1, 0, 1, 0), "late")


def test_who_comes_behind_a_sum_that_left_begins_another_one() -> None:
    program = switch()
    program.receive_frame(0, packet(0), 0)
    program.handle_timer(WAIT)
    program.receive_frame(1, packet(1), WAIT + 1)
    program.receive_frame(2, packet(2), WAIT + 2)
    program.handle_timer(2 * WAIT + 1)
    assert [found.header.bitmap0 for _, found in leaving(program)] == [1, 6]


def test_a_copy_is_not_added_again() -> None:
    program = switch()
    for rank in (0, 0, 1, 2):
        program.receive_frame(rank, packet(rank), 0)
    ((_, found),) = leaving(program)
    assert elements(found) == by_rank((0, 1, 2))
    assert [event.reason for event in told(program, ContributionIgnored)] == ["duplicate"]


def test_another_size_is_not_added() -> None:
    program = switch()
    program.receive_frame(0, packet(0), 0)
    program.receive_frame(1, packet(1, nelem=2), 0)
    assert [event.reason for event in told(program, ContributionIgnored)] == ["mismatch"]


def test_iterations_and_packets_are_apart() -> None:
    program = switch()
    program.receive_frame(0, packet(0, 0, 0), 0)
    program.receive_frame(1, packet(1, 0, 1), 0)
    assert program.slots_in_use == 2


def test_what_finds_no_slot_passes() -> None:
    program = switch()
    for number in range(3):
        program.receive_frame(0, packet(0, number), 0)
    ((port, found),) = leaving(program)
    assert (port, found.src_ip, found.header.sequence) == (3, member_ip(0), 3)
    assert program.counters["no_slot"] == 1


@pytest.mark.parametrize(
    "frame",
    [
        packet(0, flags=int(DatagramFlag.RESEND)), packet(0, kind=DatagramKind.ACK), packet(0, job=2),
        packet(0, policy=6), packet(0, bitmap0=3), packet(0, bitmap0=2), packet(0, bitmap0=0),
    ],
)  # fmt: skip
def test_the_rest_passes(frame: bytes) -> None:
    program = switch()
    program.receive_frame(0, frame, 0)
    assert [port for port, _ in program.frames_to_send(0)] == [3]
    assert program.slots_in_use == 0


def test_damage_is_told() -> None:
    program = switch()
    program.receive_frame(0, packet(0)[:-1] + b"\xff", 0)
    assert [event.reason for event in told(program, ContributionIgnored)] == ["checksum"]


def test_a_slot_whose_time_has_not_come_is_not_left_behind() -> None:
    for now, left in ((WAIT - 1, 0), (WAIT, 1)):
        program = switch()
        program.receive_frame(0, packet(0), 0)
        program.finish(now)
        (end,) = told(program, MemoryAtEnd)
        assert (end.open, end.slots, end.peak_occupied) == (left, 2, 1)


def test_the_time_of_a_slot_is_useful_when_all_were_inside() -> None:
    program = switch()
    for rank in range(3):
        program.receive_frame(rank, packet(rank), 100 * rank)
    program.receive_frame(0, packet(0, 1), 300)
    program.handle_timer(300 + WAIT)
    program.finish(300 + WAIT)
    (end,) = told(program, MemoryAtEnd)
    assert (end.useful_ns, end.busy_ns) == (200, 200 + WAIT)


def test_a_job_that_departs_passes() -> None:
    program = switch()
    assert list(program.serving) == [1]
    assert program.depart(1)
    assert not program.depart(1)
    program.receive_frame(0, packet(0), 0)
    assert len(leaving(program)) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"slots": 3}, {"slots": 0}, {"first_slot": -1}, {"partial_after_ns": 0}, {"levels": None}, {"server": None},
        {"arithmetic": ArithmeticSpec("sum", "int32sat")},
    ],
)  # fmt: skip
def test_jobs_that_cannot_be_served_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError):
        switch(**changes)


def test_jobs_have_slots_of_their_own() -> None:
    other = replace(JOB, job=2)
    with pytest.raises(ScenarioError, match="also those of another job"):
        DlcpProgram(replace(SWITCH, jobs=(JOB, other)))
