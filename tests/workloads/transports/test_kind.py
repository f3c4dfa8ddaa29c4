"""What transports say of frames: ours of what their codecs write, of anything else nothing, and they never raise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.roce_frames import answer, arp, datagram, request
from workloads.datagrams.transport import DATAGRAMS
from workloads.rc.transport import RELIABLE, AnswerKind, frame_of_flow
from workloads.transports import SentAs
from workloads.transports.kind import udp_port_of
from workloads.uc.transport import UNRELIABLE, opcodes_of
from workloads.wire import Envelope, Opcode, opcode_name
from workloads.wire.aggregation import AGGREGATION_PORT, DatagramKind

TRANSPORTS = (RELIABLE, UNRELIABLE, DATAGRAMS)


def test_a_packet_of_a_connection_is_its_opcode_and_psn() -> None:
    assert RELIABLE.identify(request(0x123456, opcode=1)) == SentAs("10.77.0.2>10.77.0.3:513", "SEND_MIDDLE", 0x123456)
    found = RELIABLE.identify(answer(7))
    assert found is not None
    assert (found.kind, found.sequence) == ("ACKNOWLEDGE", 7)


def test_a_datagram_is_its_kind_and_number() -> None:
    assert DATAGRAMS.identify(datagram(16)) == SentAs("10.77.0.2>10.77.0.3 job 1", "data", 17)


def test_kinds_have_what_they_carry() -> None:
    assert set(DATAGRAMS.kinds) == {kind.name.lower() for kind in DatagramKind}
    assert set(DATAGRAMS.kinds.values()) == {"data", "results", "answers"}
    assert not RELIABLE.kinds, "faults name opcodes"


def test_what_is_of_another_transport_is_not_theirs() -> None:
    assert DATAGRAMS.identify(request(5)) is None
    assert RELIABLE.identify(datagram()) is None
    assert [each.identify(arp()) for each in TRANSPORTS] == [None] * 3


@pytest.mark.parametrize(
    ("frame", "port"),
    [
        (datagram(), AGGREGATION_PORT), (request(1), 4791), (arp(), None), (datagram()[:41], None),
        (datagram()[:42], AGGREGATION_PORT), (request(1, ipv6=True), None),
        (datagram()[:20] + b"\x20" + datagram()[21:], None),
    ],
    ids=["datagram", "roce", "arp", "short", "no payload", "ipv6", "fragment"],
)  # fmt: skip
def test_the_port_of_a_frame(frame: bytes, port: int | None) -> None:
    assert udp_port_of(frame) == port


@given(st.sampled_from([datagram(), request(3), answer(3), request(3, ipv6=True)]), st.data())
def test_no_damage_makes_them_raise(frame: bytes, data: st.DataObject) -> None:
    damaged = bytearray(frame)
    for at in data.draw(st.lists(st.integers(0, len(frame) - 1), max_size=4)):
        damaged[at] = data.draw(st.integers(0, 255))
    short = bytes(damaged[: data.draw(st.integers(0, len(frame)))])
    for transport in TRANSPORTS:
        found = transport.identify(short)
        assert found is None or (found.flow and found.kind)


def test_a_frame_of_a_flow_has_its_addresses() -> None:
    frame = frame_of_flow(Envelope(bytes(6), bytes(6), bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)), 0xC001))
    found = RELIABLE.identify(frame)
    assert found is not None
    assert found.flow.startswith("10.0.0.1>10.0.0.2:")


def test_opcodes_of_messages_over_uc() -> None:
    names = [sorted(map(opcode_name, opcodes_of(packets))) for packets in (1, 2, 3)]
    assert names[0] == ["UC_WRITE_ONLY_IMM"]
    assert names[1] == sorted(["UC_WRITE_ONLY_IMM", "UC_WRITE_FIRST", "UC_WRITE_LAST_IMM"])
    assert set(names[2]) - set(names[1]) == {Opcode.UC_WRITE_MIDDLE.name}


@given(st.integers(0, (1 << 24) - 1), st.integers(-(1 << 20), 1 << 20))
def test_numbers_of_connections_begin_again_and_keep_their_distance(sequence: int, count: int) -> None:
    behind = RELIABLE.after(sequence, count)
    assert 0 <= behind < 1 << 24
    assert RELIABLE.distance(behind, sequence) == count
    assert RELIABLE.after(sequence + (1 << 24), count) == behind, "of a count that never begins again"


def test_numbers_of_other_transports_go_on() -> None:
    assert DATAGRAMS.after((1 << 24) - 1, 1) == 1 << 24
    assert DATAGRAMS.distance(3, 8) == -5


def test_what_answers_say() -> None:
    found = {code: RELIABLE.answer_kind(code) for code in range(256)}
    assert {code for code in found if found[code] is AnswerKind.ACK} == set(range(32))
    assert {code for code in found if found[code] is AnswerKind.WAIT} == set(range(32, 64))
    assert [code for code in found if found[code] is AnswerKind.GAP] == [RELIABLE.gap_code]
    assert [code for code in found if found[code] is AnswerKind.REFUSAL] == [0x61, 0x62, 0x63]
    assert found[RELIABLE.trimmed_code] is AnswerKind.OTHER_NAK
    assert found[0x40] is found[0xFF] is AnswerKind.UNKNOWN


def test_frames_in_one_line() -> None:
    assert RELIABLE.describe(request(0x123456, opcode=1)) == "SEND_MIDDLE 10.77.0.2 -> 10.77.0.3 QPN 0x201 PSN 0x123456"
    assert RELIABLE.describe(arp()).endswith("bytes, not RoCE v2")
    assert DATAGRAMS.describe(datagram(16)) == "data 10.77.0.2>10.77.0.3 job 1, number 17"
    assert DATAGRAMS.describe(arp()).endswith("bytes")


def test_a_frame_gets_its_checksum_back() -> None:
    frame = request(5)
    assert RELIABLE.sealed(bytearray(frame[:-4])) == frame
