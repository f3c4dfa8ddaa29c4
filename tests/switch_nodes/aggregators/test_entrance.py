"""Which packets an aggregator switch of two levels takes for its own, and which of them it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.entrance import Entrance
from switch_nodes.aggregators.served import ServedJob
from switch_nodes.jobs import RackLevels
from tests.support.aggregator_bench import REAL, Bench, contribution, job_config
from tests.support.switchml_bench import SERVICE_IP, member_ip, member_mac
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    DatagramFlag,
    DatagramKind,
    Policy,
    encode_datagram,
)

RACKS = ((0, 1), (2, 3))
UPLINK = 9
RESEND, EDGE = int(DatagramFlag.RESEND), int(DatagramFlag.EDGE)
STRANGER = bytes((10, 9, 9, 9))


def entrance(own: int | None, *, collects: bool) -> Entrance:
    """Four workers in two racks; those of `own` are behind ports 0 .. 3, the others and (elsewhere) the server behind
    9."""
    job = job_config(workers=4)
    members = tuple(
        replace(member, port=member.port if own is not None and member.rank in RACKS[own] else UPLINK)
        for member in job.members
    )
    assert job.server is not None
    server = replace(job.server, port=job.server.port if collects else UPLINK)
    job = replace(job, members=members, server=server, levels=RackLevels(RACKS, own, collects))
    return Entrance({7: ServedJob(job)}, Policy.ATP)


LEAF, COLLECTING, APART = entrance(1, collects=False), entrance(0, collects=True), entrance(None, collects=True)


def judged(where: Entrance, port: int, frame: bytes) -> str | None:
    """`in`, what is wrong, or None: it passes."""
    arrival = AggregatorArrival()
    arrival.meet(port, frame)
    told = where.admit(arrival)
    return "in" if told == "" else told


def from_worker(rank: int, **header: int) -> bytes:
    return contribution(job_config(workers=4), rank, 0, **{"fan_in0": 2, "fan_in1": 2, **header})


def from_ip(ip: bytes, bitmap: int, flags: int = 0) -> bytes:
    """A part or a sum for the server that says it comes from there."""
    header = AggregationHeader(Policy.ATP, DatagramKind.DATA, 7, 1, 0, bitmap, 2, nelem=1, flags=flags, fan_in1=2)
    envelope = Envelope(member_mac(0), member_mac(4), ip, member_ip(4))
    return encode_datagram(envelope, AGGREGATION_PORT, header, bytes(4))


@pytest.mark.parametrize(
    ("where", "rank", "port", "told"),
    [
        (LEAF, 2, 2, "in"), (LEAF, 3, 3, "in"), (LEAF, 2, 3, "wrong_port"), (LEAF, 0, UPLINK, None), (LEAF, 0, 2, None),
        (COLLECTING, 0, 0, "in"), (COLLECTING, 0, 1, "wrong_port"), (COLLECTING, 2, UPLINK, "in"),
        (COLLECTING, 2, 0, "wrong_port"), (APART, 0, UPLINK, "in"), (APART, 3, UPLINK, "in"),
    ],
)  # fmt: skip
def test_a_switch_takes_parts_of_its_own_workers_and_who_collects_those_of_all(
    where: Entrance, rank: int, port: int, told: str | None
) -> None:
    assert judged(where, port, from_worker(rank)) == told


@pytest.mark.parametrize(
    ("ip", "bitmap", "flags", "told"),
    [
        (SERVICE_IP, 0b1100, EDGE, "in"), (SERVICE_IP, 0b0100, 0, "in"), (SERVICE_IP, 0b0100, EDGE, "malformed"),
        (SERVICE_IP, 0b0011, EDGE, "malformed"), (SERVICE_IP, 0b0110, 0, "malformed"),
        (STRANGER, 0b1100, EDGE, "malformed"),
        (STRANGER, 0b0100, 0, "malformed"), (SERVICE_IP, 0b1111, RESEND, "in"), (SERVICE_IP, 0b1111, 0, "malformed"),
        (SERVICE_IP, 0b1111, RESEND | EDGE, "malformed"), (SERVICE_IP, 0, 0, "malformed"),
        (SERVICE_IP, 0b10000, 0, "malformed"),
    ],
)  # fmt: skip
def test_sums_are_those_of_another_rack(ip: bytes, bitmap: int, flags: int, told: str) -> None:
    """All of it when they say so; and the whole sum, of who is asked for it."""
    assert judged(COLLECTING, UPLINK, from_ip(ip, bitmap, flags)) == told


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "in"), ({"bitmap0": 0b1111, "flags": RESEND}, "in"), ({"bitmap0": 0b1111}, "malformed"),
        ({"bitmap0": 0b1111, "flags": RESEND | EDGE}, "malformed"), ({"flags": EDGE}, "malformed"),
        ({"bitmap0": 0b0010}, "malformed"), ({"bitmap0": 0b0011}, "malformed"), ({"fan_in0": 4}, "malformed"),
        ({"fan_in1": 0}, "malformed"), ({"op": 1}, "malformed"), ({"slot": 8}, "bad_slot"), ({"slot": 7}, "in"),
    ],
)  # fmt: skip
def test_a_worker_sends_its_own_part_or_the_whole_sum(changes: dict[str, int], told: str) -> None:
    assert judged(COLLECTING, 0, from_worker(0, **changes)) == told


def test_a_frame_that_was_marked_on_its_way_is_congested() -> None:
    for changes, congested in (({}, False), ({"ce": True}, True), ({"flags": int(DatagramFlag.ECN)}, True)):
        frame = contribution(job_config(workers=4), 0, 0, fan_in0=2, fan_in1=2, **changes)  # type: ignore[arg-type]
        arrival = AggregatorArrival()
        arrival.meet(0, frame)
        assert COLLECTING.admit(arrival) == ""
        assert arrival.congested is congested


def test_results_reach_a_rack_from_the_server_or_from_who_collects_and_that_one_from_the_server_alone() -> None:
    def result(ip: bytes, to: bytes = SERVICE_IP, kind: int = DatagramKind.RESULT) -> bytes:
        header = AggregationHeader(Policy.ATP, kind, 7, 1, 0, 0b1111, 2, fan_in1=2)
        return encode_datagram(Envelope(member_mac(4), member_mac(0), ip, to), AGGREGATION_PORT, header, b"")

    server = member_ip(4)
    assert [judged(LEAF, UPLINK, result(ip)) for ip in (server, SERVICE_IP, STRANGER)] == ["in", "in", "malformed"]
    assert [judged(COLLECTING, 4, result(ip)) for ip in (server, SERVICE_IP)] == ["in", "malformed"]
    assert judged(LEAF, 2, result(server)) == judged(COLLECTING, UPLINK, result(server)) == "wrong_port"
    assert judged(LEAF, UPLINK, result(server, member_ip(2))) == "in"
    assert judged(LEAF, UPLINK, result(server, STRANGER)) is None
    assert judged(LEAF, UPLINK, result(server, kind=DatagramKind.REMINDER)) == "in"
    assert judged(LEAF, UPLINK, result(server, kind=DatagramKind.NACK)) is None


def test_a_whole_sum_that_nobody_asked_for_is_refused_with_one_level_too() -> None:
    bench = Bench(REAL.atp)
    assert bench.send(0, 0, bitmap0=0b111) == bench.send(0, 0, bitmap0=0b111, flags=RESEND | EDGE) == []
    assert bench.reasons == ["malformed", "malformed"]
