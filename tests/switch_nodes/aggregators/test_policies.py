"""E1: with equal priorities, no ageing, results that free, and no reminders, `esa` is `atp`, packet for packet."""

from __future__ import annotations

import dataclasses

from hypothesis import given, settings
from hypothesis import strategies as st

from switch_nodes.aggregators import AtpProgram, EsaProgram
from switch_nodes.aggregators.core import AggregatorProgram
from switch_nodes.events import SwitchStatistics
from switch_nodes.jobs import AggregatorKnobs, RackLevels
from tests.support.aggregator_bench import Bench, job_config
from tests.support.switchml_bench import SERVICE_IP, member_ip, member_mac
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
PACKETS = st.fixed_dictionaries(
    {
        "port": st.integers(0, 8),
        "source": st.integers(0, 8),
        "to": st.integers(0, 8),
        "job": st.sampled_from([3, 3, 3, 4, 4, 5]),
        "kind": st.sampled_from([DatagramKind.DATA] * 6 + list(DatagramKind)),
        "sequence": st.integers(0, 9),
        "slot": st.integers(0, 3),
        "bitmap0": st.integers(0, 8),
        "fan_in0": st.sampled_from([3, 3, 3, 2, 1]),
        "fan_in1": st.sampled_from([0, 0, 0, 2]),
        "flags": st.sampled_from([0, 0, 0, 0, 1, 1, 2, 4, 8, 16, 17, 32]),
        "op": st.sampled_from([0, 1]),
        "tensor": st.integers(0, 1),
        "elements": st.lists(st.sampled_from([0, 1, -5, 2**31 - 1, -(2**31)]), min_size=1, max_size=2),
        "ce": st.booleans(),
        "honest": st.sampled_from([True, True, True, False]),
    }
)


def encoded(packet: dict[str, object], policy: int, levels: bool) -> tuple[int, bytes]:
    """As drawn, or, where it is honest, with the addresses, port and header of somebody who may send that."""
    p = dict(packet)
    port, source, to, elements = p.pop("port"), p.pop("source"), p.pop("to"), p.pop("elements")
    ce, honest = p.pop("ce"), p.pop("honest")
    ip = SERVICE_IP if to == 8 else member_ip(to)  # type: ignore[arg-type]
    if honest and p["job"] != 5:
        config = {3: ONE, 4: TWO}[p["job"]]  # type: ignore[index]
        assert config.server is not None
        if p["kind"] == DatagramKind.DATA:
            member = config.members[source % 3]  # type: ignore[operator]
            fan_in = 3 if not levels else 1 if member.rank == 2 else 2
            p |= {"bitmap0": 1 << member.rank, "fan_in0": fan_in, "fan_in1": 2 if levels else 0}
            p["op"], ip = int(config is TWO), config.server.ip
            if levels and member.rank == 2:
                p["flags"] = 32
        else:
            member, ip = config.server, SERVICE_IP if to > 2 else config.members[to].ip  # type: ignore[operator,index]
        port, source = member.port, member.port
    payload = b"".join((value & 0xFFFFFFFF).to_bytes(4, "big") for value in elements)  # type: ignore[union-attr]
    header = AggregationHeader(policy=policy, nelem=len(payload) // 4, **p)  # type: ignore[arg-type]
    envelope = Envelope(member_mac(source), member_mac(to), member_ip(source), ip, 5000, tos=2)  # type: ignore[arg-type]
    frame = encode_datagram(envelope, AGGREGATION_PORT, header, payload)
    return port, (mark_ce(frame) or frame) if ce else frame  # type: ignore[return-value]


def as_atp(frame: bytes) -> bytes:
    """The same frame with ATP's name in it."""
    found = decode_datagram(frame)
    assert found is not None
    envelope = Envelope(found.src_mac, frame[:6], found.src_ip, found.dst_ip, found.sport, frame[15], frame[22])
    return encode_datagram(envelope, AGGREGATION_PORT, found.header._replace(policy=Policy.ATP), found.payload)


def run(make: type[AggregatorProgram], packets: list[dict[str, object]], levels: bool, reclaim: bool) -> object:
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


@given(st.lists(PACKETS, max_size=40), st.booleans(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_esa_with_equal_priorities_is_atp(packets: list[dict[str, object]], levels: bool, reclaim: bool) -> None:
    assert run(EsaProgram, packets, levels, reclaim) == run(AtpProgram, packets, levels, reclaim)
