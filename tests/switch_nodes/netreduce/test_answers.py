"""Maps of `irn-held` that pass a rack's switch: what it adds, and when it lets them be."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.netreduce import NetReduceProgram, create_netreduce
from tests.support.batches import fast_netreduce
from tests.support.native import needs_native
from tests.support.netreduce_harness import Bench, Job
from workloads.wire import Aeth, Bth, Envelope, Nak, Opcode, Packet, Sack, decode_packet, encode_packet
from workloads.wire.held_map import NO_PSN, HeldMap, decode_held_map

JOB = Job(size=3, lengths=(1, 4, 4, 4, 4, 4), window=2, irn=True)
PROGRAMS = pytest.mark.parametrize(
    "make",
    [NetReduceProgram, create_netreduce, pytest.param(fast_netreduce, marks=needs_native("switch_programs"))],
    ids=["reference", "as made", "by batches"],
)


def bench(make: object = NetReduceProgram, *, tells_held: bool = True) -> Bench:
    def made(config: SwitchConfig) -> NetReduceProgram:
        rings = tuple(replace(ring, tells_held=tells_held) for ring in config.rings)
        return make(replace(config, rings=rings))  # type: ignore[operator,no-any-return]

    found = Bench(JOB, made)
    found.run_through(1)
    return found


class Passed(NamedTuple):
    came: bytes
    left: bytes

    @property
    def held(self) -> HeldMap:
        packet = decode_packet(self.left)
        found = None if packet is None else decode_held_map(packet.payload)
        assert found is not None
        return found


def answer(b: Bench, rank: int, held: HeldMap, *, selective: int = 3, spoilt: bool = False) -> Passed:
    """The receiver of connection `rank` answers with a map; its frame, and what left towards the sender."""
    data = decode_packet(b.job.frame(rank, 1, 0))
    assert data is not None
    to = data.envelope
    back = Envelope(to.dst_mac, to.src_mac, to.dst_ip, to.src_ip)
    psn = b.job.psn(rank, 1, selective)
    frame = encode_packet(
        Packet(
            back, Bth(Opcode.IRN_ANSWER, 99, psn), held.encode(), aeth=Aeth(Nak.PSN_SEQUENCE, 1),
            sack=Sack(b.job.psn(rank, 1, 0), psn),
        )
    )  # fmt: skip
    if spoilt:
        frame = frame[:-1] + bytes((frame[-1] ^ 1,))
    [(port, left)] = b.feed(frame, b.job.port((rank + 1) % b.job.size))
    assert port == b.job.port(rank)
    return Passed(frame, left)


def lacking(b: Bench, rank: int, newest: int | None = None, packets: int = 4, bits: int = 0) -> HeldMap:
    """A receiver that has nothing of message 1, and was sent packet `newest` of it last."""
    named = NO_PSN if newest is None else b.job.psn(rank, 1, newest)
    return HeldMap(b.job.psn(rank, 1, 0), packets, bits, named)


@PROGRAMS
def test_what_waits_for_others_need_not_be_sent_again(make: object) -> None:
    b = bench(make)
    b.data(0, 1, 0), b.data(0, 1, 2), b.data(1, 1, 1)
    assert answer(b, 0, lacking(b, 0, 3)).held.bits == 0b0101
    assert answer(b, 1, lacking(b, 1, 3)).held.bits == 0b0010
    assert answer(b, 2, lacking(b, 2, 3)).held.bits == 0


@PROGRAMS
def test_a_result_is_on_its_way_until_a_later_one_came(make: object) -> None:
    b = bench(make)
    for offset in (1, 0, 2):
        b.everyone(1, offset)
    held = {newest: answer(b, 0, lacking(b, 0, newest)).held.bits for newest in (1, 0, 2)}
    assert held == {1: 0b0101, 0: 0b0100, 2: 0}
    assert answer(b, 0, lacking(b, 0)).held.bits == 0b0111, "nothing is known to have come"


@PROGRAMS
def test_a_replay_is_on_its_way_anew(make: object) -> None:
    b = bench(make)
    for offset in range(3):
        b.everyone(1, offset)
    b.data(0, 1, 1)
    assert answer(b, 0, lacking(b, 0, 2)).held.bits == 0b0010
    assert answer(b, 1, lacking(b, 1, 2)).held.bits == 0, "it was sent again on connection 0 alone"


@PROGRAMS
def test_what_the_receiver_has_stays(make: object) -> None:
    b = bench(make)
    b.data(0, 1, 0)
    assert answer(b, 0, lacking(b, 0, 3, bits=0b1000)).held.bits == 0b1001


@PROGRAMS
def test_the_newest_that_came_here_takes_the_place_of_the_other(make: object) -> None:
    b = bench(make)
    b.data(0, 1, 2), b.data(0, 1, 1)
    assert answer(b, 0, lacking(b, 0, 3)).held.newest == b.job.psn(0, 1, 1)
    b.data(0, 1, 2)
    assert answer(b, 0, lacking(b, 0, 3)).held.newest == b.job.psn(0, 1, 2)


@PROGRAMS
def test_a_map_ends_with_its_message(make: object) -> None:
    b = bench(make)
    b.data(0, 1, 0)
    b.data(0, 2, 0)
    told = answer(b, 0, lacking(b, 0, 3, packets=9, bits=0b1_0000_1000)).held
    assert (told.packets, told.bits) == (4, 0b1001)


@PROGRAMS
def test_a_message_that_is_gone_came_everywhere(make: object) -> None:
    b = bench(make)
    for message in (1, 2, 3):
        for offset in range(4):
            b.everyone(message, offset)
    assert answer(b, 0, lacking(b, 0, 3)).held.bits == 0b1111


@PROGRAMS
def test_what_no_slot_serves_yet_is_not_here(make: object) -> None:
    """A sender that is ahead of its credit."""
    b = bench(make)
    for message in (1, 2):
        for offset in range(4):
            b.everyone(message, offset)
    b.everyone(3, 0)
    b.data(0, 5, 0)
    assert answer(b, 0, lacking(b, 0, 3)._replace(first=b.job.psn(0, 5, 0))).held.bits == 0b0001


@PROGRAMS
def test_nothing_else_of_the_answer_changes(make: object) -> None:
    b = bench(make)
    b.data(0, 1, 0)
    passed = answer(b, 0, lacking(b, 0, 3))
    came, left = decode_packet(passed.came), decode_packet(passed.left)
    assert came is not None
    assert left is not None
    assert replace(came, payload=b"") == replace(left, payload=b"")
    assert b.job.psn(0, 1, 0) == passed.held.first


@PROGRAMS
@pytest.mark.parametrize("why", ["iCRC", "message", "switch"])
def test_what_passes_as_it_is(make: object, why: str) -> None:
    """A wrong iCRC would be signed; an unknown message has no slots; other recoveries have no maps."""
    b = bench(make, tells_held=why != "switch")
    b.data(0, 1, 0)
    held = lacking(b, 0, 3)
    if why == "message":
        held = held._replace(first=b.job.psn(0, 4, 0))
    passed = answer(b, 0, held, spoilt=why == "iCRC")
    assert passed.came == passed.left
