"""Hosts with IRN: each packet names its place, and nothing waits for what is in front of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.events import MessageInferred
from switch_nodes.netreduce import NetReduceProgram, create_netreduce
from tests.support.netreduce_harness import Bench, Job
from workloads.wire import Opcode, Reth, encode_packet, psn_add

JOB = Job(size=3, lengths=(1, 4, 4, 4, 4, 4), window=2, irn=True)
PROGRAMS = pytest.mark.parametrize("make", [NetReduceProgram, create_netreduce], ids=["reference", "as made"])


def bench(make: object, job: Job = JOB, upto: int = 1, **options: object) -> Bench:
    found = Bench(job, make, **options)  # type: ignore[arg-type]
    found.run_through(upto)
    return found


@PROGRAMS
def test_packets_behind_a_lost_first_are_placed_by_what_they_say(make: object) -> None:
    """Nobody's FIRST of message 1 came: under go-back-N all of this would be dropped."""
    b = bench(make)
    for offset in (3, 1, 2):
        assert b.everyone(1, offset) == b.all_of(1, offset)
    assert b.reasons() == []
    assert [(e.rank, e.message, e.offset) for e in b.events if isinstance(e, MessageInferred)] == [
        (k, 1, 3) for k in range(3)
    ]
    assert b.everyone(1, 0) == b.all_of(1, 0)


@PROGRAMS
def test_messages_may_come_in_any_order_inside_the_window(make: object) -> None:
    b = bench(make)
    assert b.everyone(2, 1) == b.all_of(2, 1)
    assert b.everyone(1, 3) == b.all_of(1, 3)
    assert b.everyone(1, 0) == b.all_of(1, 0)


@PROGRAMS
@pytest.mark.parametrize("release", ["order", "asap"])
def test_results_leave_as_they_are_complete(make: object, release: str) -> None:
    b = bench(make, release=release)
    assert b.everyone(1, 0, but=(1,)) == []
    assert b.everyone(1, 1) == b.all_of(1, 1)
    assert b.everyone(1, 2) == b.all_of(1, 2)
    assert b.data(1, 1, 0) == b.all_of(1, 0)


@PROGRAMS
def test_a_late_copy_is_not_taken_for_the_message_that_has_its_slot(make: object) -> None:
    """Message 1 and message 5 share their slots (2N = 4)."""
    b = bench(make, upto=4)
    assert b.data(0, 5, 2) == []  # message 3 is complete, so that its slot serves message 5
    late = b.job.frame(1, 1, 2)
    assert b.feed(late, b.job.port(1)) == [(b.job.port(2), late)], "its receiver has it, and answers again"
    assert b.reasons() == ["stale_forwarded"]
    assert b.data(1, 5, 2) == []
    assert b.data(2, 5, 2) == b.all_of(5, 2)


@PROGRAMS
def test_a_late_copy_passes_although_a_message_between_is_missing(make: object) -> None:
    """Its sender's answer was lost, and a timer sends nothing else; message 2, which is complete, began only when every
    host had the result of message 0."""
    b = bench(make)
    for offset in range(4):
        assert b.everyone(2, offset) == b.all_of(2, offset)
    late = b.job.frame(1, 0, 0)
    assert b.feed(late, b.job.port(1)) == [(b.job.port(2), late)]
    assert b.reasons() == ["stale_forwarded"]


def test_the_ways_a_packet_contradicts_itself() -> None:
    b = bench(NetReduceProgram, upto=2)
    packet = b.job.packet(0, 2, 1)
    assert packet.reth is not None
    va, length = packet.reth.va, packet.reth.length
    wrong = {
        "one byte off": replace(packet, reth=replace(packet.reth, va=va + 1)),
        "before the memory": replace(packet, reth=replace(packet.reth, va=0)),
        "the next place": replace(packet, reth=replace(packet.reth, va=va + b.job.mtu)),
        "the place in the next message": replace(packet, reth=replace(packet.reth, va=va + 4 * b.job.mtu)),
        "a longer message than L": replace(packet, reth=replace(packet.reth, length=5 * b.job.mtu)),
        "a message that ends before it": replace(packet, reth=replace(packet.reth, length=b.job.mtu + 4)),
        "the PSN of the next": replace(packet, bth=replace(packet.bth, psn=psn_add(packet.bth.psn, 1))),
        "the opcode of a last packet": replace(packet, bth=replace(packet.bth, opcode=Opcode.WRITE_ONLY_IMM),
            imm=b.job.packet(0, 2, 3).imm),
        "no RETH": replace(packet, bth=replace(packet.bth, opcode=Opcode.WRITE_MIDDLE), reth=None),
    }  # fmt: skip
    assert length == 4 * b.job.mtu
    b.data(0, 2, 0)  # its begin and its length are known
    for name, forged in wrong.items():
        assert b.feed(encode_packet(forged), b.job.port(0)) == [], name
        assert b.reasons() == ["malformed"], name


@pytest.mark.parametrize("change", [{"va": 1024}, {"length": 5 * 256}], ids=str)
def test_a_first_whose_header_and_reth_contradict_each_other_is_refused(change: dict[str, int]) -> None:
    b = bench(NetReduceProgram)
    packet = b.job.packet(0, 1, 0)
    assert packet.reth is not None
    reth = Reth(packet.reth.va + change.get("va", 0), packet.reth.rkey, change.get("length", packet.reth.length))
    assert b.feed(encode_packet(replace(packet, reth=reth)), b.job.port(0)) == []
    assert b.reasons() == ["inconsistent_first"]


@PROGRAMS
def test_what_is_no_message_of_the_ring_passes(make: object) -> None:
    b = bench(make)
    packet = b.job.packet(0, 1, 0)
    plain = encode_packet(replace(packet, payload=b"no header" * 3, bth=replace(packet.bth, dest_qpn=0x4242)))
    assert b.feed(plain, b.job.port(0)) == [(b.job.port(1), plain)]


@PROGRAMS
def test_answers_of_irn_pass_as_they_are(make: object) -> None:
    from workloads.wire import Aeth, Bth, Envelope, Packet, Sack

    b = bench(make)
    there = b.job.packet(0, 1, 0).envelope
    envelope = Envelope(there.dst_mac, there.src_mac, there.dst_ip, there.src_ip)
    frame = encode_packet(Packet(envelope, Bth(Opcode.IRN_ANSWER, 0x9000, 7), aeth=Aeth(0x60, 3), sack=Sack(5, 7)))
    assert b.feed(frame, b.job.port(1)) == [(b.job.port(0), frame)]


@pytest.mark.parametrize("length", [5 * 256, 256 + 4])
def test_a_length_that_no_message_has_is_refused_before_anything_is_known(length: int) -> None:
    """Longer than L packets, or too short to have this one."""
    b = bench(NetReduceProgram, upto=2)
    packet = b.job.packet(0, 2, 2)
    assert packet.reth is not None
    forged = encode_packet(replace(packet, reth=replace(packet.reth, length=length)))
    assert b.feed(forged, b.job.port(0)) == []
    assert b.reasons() == ["malformed"]
