"""The NetReduce program: every group size, type, verb and address family; what it refuses, passes by and survives."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from switch_nodes.config import RingMember
from switch_nodes.events import PacketIgnored, SlotsAtEnd, SwitchStatistics
from switch_nodes.netreduce import NetReduceProgram
from tests.support.netreduce_harness import Bench, Job, Network, scramble
from workloads.collectives.ina_header import InaHeader
from workloads.config import ArithmeticSpec
from workloads.errors import ScenarioError
from workloads.machine import event_record
from workloads.wire import Bth, Deth, ImmDt, Opcode, Packet, Reth, encode_packet, icrc_of, psn_add
from workloads.wire.envelope import ipv4_checksum

LENGTHS = (1, 4, 4, 2, 4, 4, 1, 4)


@pytest.mark.parametrize("size", [2, 3, 4, 6, 8])
def test_group_sizes(size: int) -> None:
    network = Network(Job(size=size, lengths=LENGTHS))
    network.settle()
    network.check_end()
    assert all(set(host.transmissions.values()) == {1} for host in network.hosts)


def test_largest_group() -> None:
    bench = Bench(Job(size=64, lengths=(1, 2)))
    bench.run_through(2)


@pytest.mark.parametrize("op", ["sum", "max", "xor"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int32sat"])
def test_every_operation_on_every_type(op: str, dtype: str) -> None:
    network = Network(Job(lengths=(1, 4, 3), arithmetic=ArithmeticSpec(op, dtype)))
    network.settle()
    network.check_end()


def test_float_sums_do_not_depend_on_the_order_of_arrival() -> None:
    job = Job(size=4, lengths=(1, 2), arithmetic=ArithmeticSpec("sum", "float32"))
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)):
        bench = Bench(job)
        bench.run_through(1)
        sent = [out for rank in order for out in bench.data(rank, 1, 0)]
        assert sent == bench.all_of(1, 0)


@pytest.mark.parametrize("verb", ["write", "send"])
@pytest.mark.parametrize("ipv6", [False, True])
@pytest.mark.parametrize("mtu", [256, 1024, 4096])
def test_verbs_addresses_and_path_mtus(verb: str, ipv6: bool, mtu: int) -> None:
    network = Network(Job(lengths=(1, 3, 3), verb=verb, ipv6=ipv6, mtu=mtu, tail_bytes=20))
    network.settle()
    network.check_end()


@pytest.mark.parametrize("window", [1, 2, 4])
@pytest.mark.parametrize("options", [{}, {"release": "asap"}, {"gate": "epsn"}], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_random_faults(window: int, options: dict[str, object], seed: int) -> None:
    lengths = ((1, 4, 4, 2, 4, 1, 3, 4), (1, 1, 1, 1, 1, 1, 1, 1), (1, 3, 2, 4, 4, 4, 1, 2))[seed % 3]
    network = Network(Job(size=2 + seed % 3, lengths=lengths, window=window, seed=seed), **options)
    scramble(network, seed, rounds=1500, fault_rate=0.12)
    network.settle()
    network.check_end()


def test_jobs_without_hello() -> None:
    network = Network(Job(lengths=(4, 4, 1, 4), hello=False))
    scramble(network, 3, rounds=1000, fault_rate=0.1)
    network.settle()
    network.check_end()


def test_early_release_spares_the_others() -> None:
    """One packet lost in the middle: with `asap` the innocent hosts go back too."""
    resent = {}
    for release in ("order", "asap"):
        job = Job(size=4, lengths=(1, 8, 8, 8), message_packets=8)
        network = Network(job, release=release)
        lost = job.frame(2, 2, 1)
        while lost not in network.up[2]:
            for rank in range(4):
                while network.hosts[rank].can_send():
                    network.send(rank)
            if lost not in network.up[2]:
                network.step()
        network.up[2].remove(lost)
        network.settle()
        network.check_end()
        resent[release] = [sum(host.transmissions.values()) - len(job.places()) for host in network.hosts]
    assert resent["order"][2] > 0
    assert [count for rank, count in enumerate(resent["order"]) if rank != 2] == [0, 0, 0]
    assert min(resent["asap"]) > 0


def test_epsn_gate_hides_gaps() -> None:
    bench = Bench(Job(), gate="epsn")
    bench.run_through(1)
    assert bench.data(0, 1, 0) == bench.data(0, 1, 2) == bench.data(0, 1, 3) == []
    assert bench.reasons() == ["ahead", "ahead"]
    assert bench.data(0, 1, 1) == bench.data(0, 1, 2) == []
    assert bench.reasons() == []


def test_overrun_is_dropped_and_counted() -> None:
    """Message 2N and later before anything of message N is complete."""
    bench = Bench(Job(lengths=(1, 4, 4, 4, 4, 4)))
    bench.run_through(1)
    for offset in range(4):
        assert bench.data(0, 4, offset) == []
    assert bench.reasons() == ["overrun", "nofirst", "nofirst", "nofirst"]
    bench.run_after(1)


def test_repeated_packet_with_another_payload() -> None:
    bench = Bench(Job())
    bench.run_through(1)
    bench.data(0, 1, 1 - 1)
    changed = replace(bench.job.packet(0, 1, 0), payload=bench.job.header(0, 1) + bytes(240))
    assert bench.feed(encode_packet(changed), bench.job.port(0)) == []
    assert bench.reasons() == ["mismatch"]
    assert bench.everyone(1, 0, but=[0]) == bench.all_of(1, 0)


@pytest.mark.parametrize("size", [0, 4, 100, 252, 260, 1024])
def test_length_that_differs(size: int) -> None:
    bench = Bench(Job())
    bench.run_through(1)
    bench.data(0, 1, 0)
    bench.data(0, 1, 1)
    bench.data(1, 1, 0)
    odd = replace(bench.job.packet(1, 1, 1), payload=bytes(size))
    assert bench.feed(encode_packet(odd), bench.job.port(1)) == []
    assert bench.reasons() == ["length"]
    assert bench.everyone(1, 0, but=[0, 1]) == bench.all_of(1, 0)
    assert bench.everyone(1, 1, but=[0]) == bench.all_of(1, 1)


def test_padded_packets_are_not_aggregated() -> None:
    """A pad would have to be in the result too; elements never need one."""
    job = Job(tail_bytes=60)
    bench = Bench(job)
    bench.run_through(1)
    for offset in range(3):
        bench.data(0, 1, offset)
    padded = bytearray(job.frame(0, 1, 3))
    padded[14 + 20 + 8 + 1] |= 0x30
    for length_at in (16, 38):
        length = int.from_bytes(padded[length_at : length_at + 2], "big") + 3
        padded[length_at : length_at + 2] = length.to_bytes(2, "big")
    padded[24:26] = ipv4_checksum(padded[14:34]).to_bytes(2, "big")
    padded[-4:] = bytes(3)
    padded += icrc_of(padded[14:])
    assert bench.feed(bytes(padded), job.port(0)) == []
    assert bench.reasons() == ["length"]


@pytest.mark.parametrize("size", [254, 1, 257, 260])
def test_length_that_no_first_contribution_may_have(size: int) -> None:
    bench = Bench(Job())
    bench.run_through(1)
    bench.data(0, 1, 0)
    odd = replace(bench.job.packet(0, 1, 1), payload=bytes(size))
    assert bench.feed(encode_packet(odd), bench.job.port(0)) == []
    assert bench.reasons() == ["length"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"msg_len_pkts": 0}, "inconsistent_first"),
        ({"msg_len_pkts": 1}, "inconsistent_first"),
        ({"msg_len_pkts": 5}, "inconsistent_first"),
        ({"op": 1}, "inconsistent_first"),
        ({"dtype": 0}, "inconsistent_first"),
        ({"op": 9}, "inconsistent_first"),
        ({"msg_id": 2}, "inconsistent_first"),
    ],
)
def test_header_that_contradicts_the_ring(changes: dict[str, int], reason: str) -> None:
    bench = Bench(Job())
    bench.run_through(2)
    header = bench.job.header(0, 2, **{"msg_id": 2, **changes})
    psn = psn_add(bench.job.psn(0, 2, 0), 3 if changes == {"msg_id": 2} else 0)
    assert bench.feed(bench.job.frame(0, 2, 0, header=header, psn=psn), bench.job.port(0)) == []
    assert bench.reasons() == [reason]
    assert bench.everyone(2, 0) == bench.all_of(2, 0)


def test_ranks_that_announce_different_lengths() -> None:
    bench = Bench(Job())
    bench.run_through(1)
    bench.data(0, 1, 0)
    assert bench.data(1, 1, 0, header=bench.job.header(1, 1, msg_len_pkts=3)) == []
    assert bench.reasons() == ["inconsistent_first"]


def test_the_same_message_at_another_psn() -> None:
    bench = Bench(Job())
    bench.run_through(2)
    assert bench.data(0, 1, 0, psn=bench.job.psn(0, 1, 1)) == []
    assert bench.data(0, 1, 0, psn=bench.job.psn(0, 3, 3)) == []
    assert bench.reasons() == ["inconsistent_first", "inconsistent_first"]


@pytest.mark.parametrize("opcode", [Opcode.WRITE_MIDDLE, Opcode.SEND_MIDDLE])
def test_opcode_out_of_place(opcode: Opcode) -> None:
    bench = Bench(Job())
    bench.run_through(1)
    bench.data(0, 1, 0)
    last = replace(bench.job.packet(0, 1, 3), imm=None)
    frame = encode_packet(replace(last, bth=replace(last.bth, opcode=int(opcode))))
    assert bench.feed(frame, bench.job.port(0)) == []
    assert bench.reasons() == ["malformed"]


@pytest.mark.parametrize(
    "changes", [{"ring_id": 8}, {"rank": 1}, {"size": 4}, {"agg": False}], ids=lambda changes: next(iter(changes))
)
def test_header_of_something_else_passes_by(changes: dict[str, int]) -> None:
    """Not an installed ring's edge, or "do not aggregate": not ours, and the packets behind it neither."""
    job = Job()
    bench = Bench(job)
    frames = [job.frame(0, 1, 0, header=job.header(0, 1, **changes)), job.frame(0, 1, 1), job.frame(0, 1, 3)]
    for frame in frames:
        assert bench.feed(frame, job.port(0)) == [(job.port(1), frame)]
    assert bench.counters()["bypassed"] == 3
    assert bench.everyone(0, 0) == bench.all_of(0, 0)  # an INA header makes it the ring's


def test_header_with_another_magic_or_version_passes_by() -> None:
    job = Job()
    for index in (0, 1):
        bench = Bench(job)
        header = bytearray(job.header(0, 1))
        header[index] ^= 2
        frame = job.frame(0, 1, 0, header=bytes(header))
        assert bench.feed(frame, job.port(0)) == [(job.port(1), frame)]


def test_first_without_header_inside_a_known_message() -> None:
    job = Job()
    bench = Bench(job)
    bench.run_through(2)
    assert bench.data(0, 1, 0, header=bytes(16)) == []
    assert bench.reasons() == ["inconsistent_first"]


def test_data_on_the_wrong_port() -> None:
    job = Job()
    bench = Bench(job)
    bench.run_through(1)
    assert bench.feed(job.frame(0, 1, 0), job.port(1)) == []
    assert bench.reasons() == ["wrong_port"]
    assert bench.everyone(1, 0) == bench.all_of(1, 0)


def _foreign(job: Job) -> dict[str, bytes]:
    envelope = job.packet(0, 1, 0).envelope
    qpn, reth = 0x555, Reth(0, 1, 300)
    tcp = bytearray(encode_packet(job.packet(0, 1, 0)))
    tcp[14 + 9] = 6
    port_80 = bytearray(encode_packet(job.packet(0, 1, 0)))
    port_80[14 + 20 + 2 : 14 + 20 + 4] = (80).to_bytes(2, "big")
    ud = Packet(envelope, Bth(Opcode.UD_SEND_ONLY, qpn, 1), job.header(0, 1), deth=Deth(1, 2))
    return {
        "tcp": bytes(tcp),
        "udp": bytes(port_80),
        "arp": b"\xff" * 6 + envelope.src_mac + b"\x08\x06" + bytes(46),
        "read": encode_packet(Packet(envelope, Bth(Opcode.READ_REQUEST, job.qpn(0), 5), reth=reth)),
        "ud": encode_packet(ud),
        "uc": encode_packet(Packet(envelope, Bth(Opcode.UC_SEND_ONLY, job.qpn(0), 5), job.header(0, 1))),
        "only": encode_packet(Packet(envelope, Bth(Opcode.SEND_ONLY, qpn, 5), b"hello")),
        "first": encode_packet(Packet(envelope, Bth(Opcode.WRITE_FIRST, qpn, 6), bytes(256), reth=reth)),
        "middle": encode_packet(Packet(envelope, Bth(Opcode.WRITE_MIDDLE, qpn, 7), bytes(256))),
        "last": encode_packet(Packet(envelope, Bth(Opcode.WRITE_LAST_IMM, qpn, 8), b"xyz", imm=ImmDt(3))),
    }


def test_other_traffic_between_the_same_hosts_passes() -> None:
    job = Job()
    bench = Bench(job)
    bench.run_through(2)
    for name, frame in _foreign(job).items():
        out = bench.feed(frame, job.port(0))
        if name == "arp":
            assert sorted(port for port, _ in out) == [job.port(1), job.port(2)]
        else:
            assert out == [(job.port(1), frame)], name
    assert bench.reasons() == []
    assert bench.everyone(2, 0) == bench.all_of(2, 0)


def test_data_between_hosts_that_are_no_edge_passes() -> None:
    """From rank 1 back to rank 0: no connection of the ring of three."""
    job = Job()
    bench = Bench(job)
    there = job.packet(0, 1, 0)
    envelope = replace(
        there.envelope,
        src_ip=there.envelope.dst_ip, dst_ip=there.envelope.src_ip,
        src_mac=there.envelope.dst_mac, dst_mac=there.envelope.src_mac,
    )  # fmt: skip
    frame = encode_packet(replace(there, envelope=envelope))
    assert bench.feed(frame, job.port(1)) == [(job.port(0), frame)]


def test_two_rings_share_a_switch() -> None:
    """The same hosts in two rings with different arithmetic, sizes of messages and QPNs; packets alternate."""
    one = Job(lengths=(1, 4, 4, 4, 4, 4))
    two = Job(
        lengths=(1, 2, 2, 2, 2, 2), message_packets=2, ring_id=9, base_qpn=0x200, seed=2, window=1,
        arithmetic=ArithmeticSpec("sum", "float32"),
    )  # fmt: skip
    first, second = Bench(one), Bench(two)
    config = replace(one.config(), rings=(one.ring(), two.ring()))
    first.program = second.program = NetReduceProgram(config)
    left, right = one.places(), two.places()
    while left or right:
        for bench, places in ((first, left), (second, right)):
            if places:
                place = places.pop(0)
                assert bench.everyone(*place) == bench.all_of(*place)
    first.program.finish(0)
    ends = [event for event in iter(first.program.next_event, None) if isinstance(event, SlotsAtEnd)]
    assert [(end.ring_id, end.slots, end.open) for end in ends] == [(7, 16, 0), (9, 4, 0)]


def test_rings_of_different_hosts_do_not_meet() -> None:
    one, two = Job(size=2, lengths=(1, 4)), Job(size=3, lengths=(1, 4), ring_id=9, first_port=2)
    two_ring = replace(
        two.ring(), members=tuple(replace(member, ip=bytes((10, 9, 0, member.rank))) for member in two.ring().members)
    )
    bench = Bench(one)
    bench.program = NetReduceProgram(replace(one.config(), ports=5, rings=(one.ring(), two_ring)))
    bench.run_through(2)
    assert bench.program.rings[9].cursor.tolist() == [0] * 5


def test_udp_checksum_is_taken_off_results() -> None:
    """A checksum over the old payload would make the receiver's UDP drop the result."""
    job = Job()
    bench = Bench(job)
    bench.run_through(1)
    packet = job.packet(0, 1, 0)
    bench.feed(encode_packet(replace(packet, envelope=replace(packet.envelope, udp_checksum=0x1234))), job.port(0))
    assert bench.everyone(1, 0, but=[0]) == bench.all_of(1, 0)
    assert all(frame[14 + 20 + 6 : 14 + 20 + 8] == b"\0\0" for _, frame in bench.emitted)


def test_ethernet_padding_is_no_payload() -> None:
    job = Job(lengths=(1, 2), message_packets=2, tail_bytes=4)
    bench = Bench(job)
    bench.run_through(1)
    bench.everyone(1, 0)
    sent = [out for rank in range(3) for out in bench.feed(job.frame(rank, 1, 1) + bytes(9), job.port(rank))]
    assert sent == [(job.port((rank + 1) % 3), job.result(rank, 1, 1)) for rank in range(3)]


def test_buffers_of_the_caller_may_be_reused() -> None:
    """Frames are kept as copies, of our own data and of what passes by."""
    job = Job()
    bench = Bench(job)
    buffer = bytearray(2048)
    for rank in range(3):
        frame = job.frame(rank, 0, 0)
        buffer[: len(frame)] = frame
        bench.program.receive_frame(job.port(rank), memoryview(buffer)[: len(frame)], 0)
        ack = job.answer(0, rank, 0)
        buffer[: len(ack)] = ack
        bench.program.receive_frame(job.port(1), memoryview(buffer)[: len(ack)], 0)
        buffer[:] = b"\xee" * len(buffer)
    sent = [(port, bytes(frame)) for port, frame in bench.program.frames_to_send(0)]
    answers = [(job.port(0), job.answer(0, rank, 0)) for rank in range(3)]
    results = [(job.port((rank + 1) % 3), job.result(rank, 0, 0)) for rank in range(3)]
    assert sent == [*answers[:2], *results, answers[2]]


def test_frames_not_taken_stay() -> None:
    bench = Bench(Job())
    for rank in range(3):
        bench.program.receive_frame(rank, bench.job.frame(rank, 0, 0), 0)
    taken = next(iter(bench.program.frames_to_send(0)))
    rest = list(bench.program.frames_to_send(0))
    assert [port for port, _ in [taken, *rest]] == [1, 2, 0]


def test_what_is_told_at_the_end() -> None:
    bench = Bench(Job())
    bench.run_through(1)
    bench.data(0, 1, 0)
    bench.data(0, 1, 1)
    bench.data(1, 1, 1)
    bench.program.finish(5)
    slots, statistics = iter(bench.program.next_event, None)
    assert slots == SlotsAtEnd(7, 16, 2, 3)
    assert isinstance(statistics, SwitchStatistics)
    reasons = {"icrc", "nofirst", "stale", "stale_forwarded", "overrun", "duplicate", "mismatch", "length"}
    always = {"data_in", "results_out", "bypassed", "forwarded", "flooded", "inconsistent_first", "malformed", *reasons}
    assert always <= set(statistics.counters)
    assert statistics.counters["data_in"] == 6
    assert statistics.counters["results_out"] == 3
    assert event_record(statistics)["counters"]["inferred"] == 1


def test_no_timer() -> None:
    program = Bench(Job()).program
    assert program.get_timer() is None
    program.handle_timer(10**18)
    assert list(program.frames_to_send(10**18)) == []


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 5), st.integers(0, 400), st.binary(min_size=0, max_size=4), st.integers(0, 360), st.booleans())
def test_malformed_frames_never_raise(which: int, at: int, patch: bytes, size: int, seal: bool) -> None:
    """Any bytes of any frame replaced, any truncation; with the iCRC repaired, too."""
    job = Job(tail_bytes=12)
    bench = Bench(job)
    bench.program.receive_frame(0, job.frame(0, 0, 0), 0)
    frame = bytearray(job.frame(0, *[(0, 0), (1, 0), (1, 1), (1, 3), (2, 0), (2, 3)][which]))
    frame[at : at + len(patch)] = patch
    frame = frame[:size] if at % 2 else frame
    if seal and len(frame) > 60 and frame[14] == 0x45:
        frame[-4:] = icrc_of(frame[14:-4])
    bench.program.receive_frame(0, bytes(frame), 0)
    for port, sent in bench.program.frames_to_send(0):
        assert port != 0
        assert bytes(sent) == bytes(frame)  # one rank alone completes nothing


def test_bth_that_does_not_fit_is_passed_by() -> None:
    job = Job()
    bench = Bench(job)
    short = bytearray(job.frame(0, 1, 0)[: 14 + 20 + 8 + 8])
    short[16:18] = (36).to_bytes(2, "big")
    short[38:40] = (16).to_bytes(2, "big")
    short[24:26] = b"\0\0"
    total = sum(struct.unpack(">10H", short[14:34]))
    short[24:26] = (~(total % 0xFFFF) & 0xFFFF).to_bytes(2, "big")
    assert bench.feed(bytes(short), job.port(0)) == [(job.port(1), bytes(short))]


def test_pad_that_exceeds_the_packet_is_malformed() -> None:
    job = Job(lengths=(1, 2), message_packets=2)
    bench = Bench(job)
    bench.run_through(1)
    frame = bytearray(job.frame(0, 1, 1))
    packet = replace(job.packet(0, 1, 1), payload=b"")
    frame = bytearray(encode_packet(packet))
    frame[14 + 20 + 8 + 1] |= 0x30
    frame[-4:] = icrc_of(frame[14:-4])
    assert bench.feed(bytes(frame), job.port(0)) == []
    assert bench.reasons() == ["malformed"]
    assert bench.counters()["malformed"] == 1


def _members(*ips: bytes) -> tuple[RingMember, ...]:
    return tuple(RingMember(rank, ip, rank) for rank, ip in enumerate(ips))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"members": _members(b"\1\1\1\1")}, "number of members; found 1; allowed: 2 .. 64"),
        ({"members": _members(b"\1\1\1\1", b"\1\1\1\1")}, "two members have the same address; found"),
        ({"members": _members(b"\1\1\1\1", b"\2")}, "address lengths; found [4, 1]; allowed: all 4 or all 16 bytes"),
        ({"members": _members(b"1234", b"2345", b"3456", b"4567")}, "port of rank 3; found 3; allowed: 0 .. 2"),
        (
            {"members": _members(b"1234", b"2345")[::-1]},
            "members are not in rank order; found [1, 0]; allowed: 0, 1, 2",
        ),
        ({"ring_id": 65536}, "ring id; found 65536; allowed: 0 .. 65535"),
        ({"path_mtu": 1000}, "path MTU; found 1000; allowed: 256, 512, 1024, 2048, 4096"),
        ({"window_messages": 0}, "window; found 0 x 4; allowed: 1 .. messages of 1 .. 65535"),
        ({"message_packets": 0}, "window; found 2 x 0"),
        (
            {"arithmetic": ArithmeticSpec("mean", "float32")},
            "arithmetic; found mean of float32; allowed: sum, max, xor of",
        ),
        (
            {"window_messages": 100, "message_packets": 60000},
            "the connection table would span half of the PSNs; found 12060000; allowed: (2N+1) L below 8388608",
        ),
    ],
)
def test_rings_that_cannot_be_installed(changes: dict[str, object], message: str) -> None:
    job = Job()
    ring = replace(job.ring(), **changes)  # type: ignore[arg-type]
    with pytest.raises(ScenarioError) as caught:
        NetReduceProgram(job.config(rings=(ring,)))
    ring_id = changes.get("ring_id", 7)
    assert str(caught.value).startswith(f"scenario: switch s1: ring {ring_id}: {message}")


def test_options_that_do_not_exist() -> None:
    job = Job()
    with pytest.raises(ScenarioError, match="unknown release order; found never; allowed: order, asap"):
        NetReduceProgram(job.config(release="never"))
    with pytest.raises(ScenarioError, match="unknown gate; found door; allowed: window, epsn"):
        NetReduceProgram(job.config(gate="door"))
    with pytest.raises(ScenarioError, match="ring 7 is installed twice"):
        NetReduceProgram(job.config(rings=(job.ring(), job.ring())))


def test_no_ring_makes_a_plain_switch() -> None:
    job = Job()
    bench = Bench(job, rings=())
    for rank in range(3):
        frame = job.frame(rank, 1, 1)
        assert bench.feed(frame, job.port(rank)) == [(job.port((rank + 1) % 3), frame)]


def test_captured_rxe_traffic_passes_a_ring(rxe_captures: Path) -> None:
    """Frames of a stock RoCE stack through a switch whose ring joins the very same hosts."""
    raw = (rxe_captures / "send_m1024.A.pcap").read_bytes()
    frames, at = [], 24
    while at < len(raw):
        size = struct.unpack_from("<I", raw, at + 8)[0]
        frames.append(raw[at + 16 : at + 16 + size])
        at += 16 + size
    addresses = sorted({frame[26:30] for frame in frames if frame[12:14] == b"\x08\x00"})
    assert len(addresses) == 2
    job = Job(size=2)
    program = NetReduceProgram(replace(job.config(), rings=(replace(job.ring(), members=_members(*addresses)),)))
    passed = []
    for frame in frames:
        port = addresses.index(frame[26:30]) if frame[12:14] == b"\x08\x00" else 0
        program.receive_frame(port, frame, 0)
        passed += [bytes(sent) for _, sent in program.frames_to_send(0)]
    assert passed == frames
    assert not [event for event in iter(program.next_event, None) if isinstance(event, PacketIgnored)]


def test_ina_header_of_a_result_is_its_own_connections() -> None:
    bench = Bench(Job())
    sent = [frame for rank in range(3) for _, frame in bench.feed(bench.job.frame(rank, 0, 0), rank)]
    assert [InaHeader.decode(frame, len(frame) - 20).rank for frame in sent] == [0, 1, 2]
