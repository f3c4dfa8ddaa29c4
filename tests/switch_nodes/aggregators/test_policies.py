"""E1: with equal priorities, no ageing, results that free, and no reminders, `esa` is `atp`, packet for packet."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

from switch_nodes.aggregators import AtpProgram, EsaProgram
from switch_nodes.aggregators.core import AggregatorProgram
from switch_nodes.aggregators.tables import aggregator_table, atp_knobs
from switch_nodes.events import SwitchStatistics
from switch_nodes.jobs import AggregatorKnobs, RackLevels
from tests.support.aggregator_bench import Bench, job_config
from tests.support.switchml_bench import SERVICE_IP, member_ip, member_mac
from workloads.datagrams.blocks import SlotChanged
from workloads.machine import Event
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    DatagramKind,
    Policy,
    decode_datagram,
    encode_datagram,
)
from workloads.wire.ecn import mark_ce

ONE, TWO = job_config(3, memory=3), job_config(4, first=4, memory=3, dtype="int32sat")
LEVELS = RackLevels(((0, 1), (2,)), 0, True)
Packet = dict[str, Any]


def drawn(draw: random.Random) -> Packet:
    sequence, kinds = draw.randrange(1, 8), [DatagramKind.DATA] * 12 + [DatagramKind.RESULT] * 3 + list(DatagramKind)
    kind = draw.choice(kinds)
    flags = (0, 16, 17) if kind == DatagramKind.RESULT else (0,) * 12 + (1, 1, 2, 4, 8, 16, 17, 32)
    return {
        "port": draw.randrange(9),
        "source": draw.randrange(9),
        "to": draw.randrange(9),
        "job": draw.choice((3, 3, 3, 4, 4, 5)),
        "kind": kind,
        "sequence": sequence,
        "slot": sequence % 3 if draw.random() < 0.9 else draw.randrange(4),
        "bitmap0": draw.randrange(9),
        "fan_in0": draw.randrange(1, 4),
        "fan_in1": draw.choice((0, 2)),
        "flags": draw.choice(flags),
        "op": draw.randrange(2),
        "tensor": int(draw.random() < 0.05),
        "elements": [draw.choice((0, 1, -5, 2**31 - 1, -(2**31))) for _ in range(2 - (draw.random() < 0.15))],
        "ce": draw.random() < 0.2,
        "honest": draw.random() < 0.9,
    }


def encoded(packet: Packet, policy: int, levels: bool) -> tuple[int, bytes]:
    """As drawn, or, where it is honest, with the addresses, port and header of somebody who may send that."""
    p = dict(packet)
    port, source, to, elements = p.pop("port"), p.pop("source"), p.pop("to"), p.pop("elements")
    ce, honest = p.pop("ce"), p.pop("honest")
    ip = SERVICE_IP if to == 8 else member_ip(to)
    if honest and p["job"] != 5:
        config = {3: ONE, 4: TWO}[p["job"]]
        assert config.server is not None
        if p["kind"] == DatagramKind.DATA:
            member = config.members[source % 3]
            fan_in = 3 if not levels else 1 if member.rank == 2 else 2
            p |= {"bitmap0": 1 << member.rank, "fan_in0": fan_in, "fan_in1": 2 if levels else 0}
            p["op"], ip = int(config is TWO), config.server.ip
            if levels and member.rank == 2:
                p["flags"] = 32
        else:
            member, ip = config.server, SERVICE_IP if to > 2 else config.members[to].ip
        port, source = member.port, member.port
    payload = b"".join((value & 0xFFFFFFFF).to_bytes(4, "big") for value in elements)
    header = AggregationHeader(policy=policy, nelem=len(payload) // 4, **p)
    envelope = Envelope(member_mac(source), member_mac(to), member_ip(source), ip, 5000, tos=2)
    frame = encode_datagram(envelope, AGGREGATION_PORT, header, payload)
    return port, (mark_ce(frame) or frame) if ce else frame


def as_atp(frame: bytes) -> bytes:
    """The same frame with ATP's name in it."""
    found = decode_datagram(frame)
    assert found is not None
    envelope = Envelope(found.src_mac, frame[:6], found.src_ip, found.dst_ip, found.sport, frame[15], frame[22])
    return encode_datagram(envelope, AGGREGATION_PORT, found.header._replace(policy=Policy.ATP), found.payload)


def run(
    make: type[AggregatorProgram], packets: list[Packet], levels: bool, reclaim: bool
) -> tuple[list[object], list[Event], list[object]]:
    """Frames by frames that came in, and all that was told."""
    jobs = [dataclasses.replace(job, levels=LEVELS if levels else None) for job in (ONE, TWO)]
    knobs = AggregatorKnobs(age="none", free="ack", reminder=False, reclaim=reclaim)
    bench = Bench(make, *jobs, knobs=knobs, trace=True)
    frames = [bench.give(*encoded(packet, bench.policy, levels)) for packet in packets]
    bench.at_end()
    events: list[Event] = bench.events
    told = [event for event in events if not isinstance(event, SwitchStatistics)]
    counters = [event.counters for event in events if isinstance(event, SwitchStatistics)]
    return [[(port, as_atp(frame)) for port, frame in sent] for sent in frames], told, counters


@pytest.mark.parametrize(("levels", "reclaim"), [(False, True), (False, False), (True, True), (True, False)])
def test_esa_with_equal_priorities_is_atp(levels: bool, reclaim: bool) -> None:
    """Whatever comes in; together the traces reach all of ATP's table."""
    table = {(state.name.lower(), event.name.lower()) for state, event in aggregator_table(atp_knobs(reclaim))}
    alone = {("empty", "completing")}  # these jobs have three workers
    wanted = {pair for pair in table - alone if pair[1] != "other_lower"}
    steps: set[tuple[str, str]] = set()
    for seed in range(60):
        draw = random.Random(seed)
        packets = [drawn(draw) for _ in range(150)]
        atp, esa = (run(make, packets, levels, reclaim) for make in (AtpProgram, EsaProgram))
        assert esa == atp
        steps |= {(event.state, event.cause) for event in atp[1] if isinstance(event, SlotChanged)}
        if steps == wanted and seed > 3:
            break
    assert steps == wanted
