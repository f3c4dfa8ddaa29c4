"""Each condition of a Match, alone, on requests and answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.faults.identity import IdentityReader
from testbed.faults.matching import ConnectionTable, matches
from testbed.faults.model import Match
from tests.support.roce_frames import CONNECTIONS, FIRST_PSN, TABLE, answer, arp, datagram, request
from workloads.wire import Opcode


def takes(match: Match, frame: bytes, occurrence: int = 1, table: ConnectionTable = TABLE) -> bool:
    identity = IdentityReader().read(frame)
    sent = None if identity.transport is None else identity.transport.identify(frame)
    return matches(match, identity, occurrence, table, sent)


def at(offset: int, opcode: int = Opcode.SEND_MIDDLE) -> bytes:
    return request(FIRST_PSN + offset, opcode=opcode)


@pytest.mark.parametrize(
    ("match", "frame", "taken"),
    [
        (Match(), arp(), True),
        (Match(), at(0), True),
        (Match(opcodes=frozenset({1})), arp(), False),
        (Match(opcodes=frozenset({1})), at(0), True),
        (Match(opcodes=frozenset({0, 2})), at(0), False),
        (Match(syndrome=0x60), answer(1, syndrome=0x60), True),
        (Match(syndrome=0x60), answer(1, syndrome=0x1F), False),
        (Match(syndrome=0), at(0), False),
        (Match(psn_offset=0), at(0), True),
        (Match(psn_offset=0), at(1), False),
        (Match(psn_offset=20), at(20), True),  # over the wrap of the PSN
        (Match(psn_offset=20), answer(FIRST_PSN + 20), True),
        (Match(psn_offset=20), answer(FIRST_PSN + 21), False),
        (Match(psn_offset=3), request(503, connection=1), True),
        (Match(message=0), at(0), True),
        (Match(message=0), at(1), False),
        (Match(message=1), at(1), True),
        (Match(message=1), at(20), True),
        (Match(message=1), at(21), False),
        (Match(message=3), at(45), True),
        (Match(message=3), at(46), False),  # behind the planned messages
        (Match(message=1), answer(FIRST_PSN + 20), True),
        (Match(packet=0), at(21), True),
        (Match(packet=0), at(22), False),
        (Match(packet=-1), at(20), True),
        (Match(packet=-1), at(19), False),
        (Match(packet=-1), at(0), True),  # a message of one packet
        (Match(message=2, packet=7), at(28), True),
        (Match(message=2, packet=7), at(29), False),
        (Match(source_rank=0), at(5), True),
        (Match(source_rank=1), at(5), False),
        (Match(source_rank=0), answer(7), True),
        (Match(source_rank=1), request(7, connection=1), True),
        (Match(source_rank=0, opcodes=frozenset({0x11})), at(5), False),
    ],
)
def test_conditions(match: Match, frame: bytes, taken: bool) -> None:
    assert takes(match, frame) is taken


def test_attempt() -> None:
    assert [takes(Match(attempt=2), at(0), occurrence) for occurrence in (1, 2, 3)] == [False, True, False]


def test_of_datagrams_kind_number_and_attempt_are_known() -> None:
    frame = datagram(3)  # which has number 4
    assert takes(Match(kind="data"), frame)
    assert not takes(Match(kind="ack"), frame)
    assert [takes(Match(sequence=number), frame) for number in (3, 4)] == [False, True]
    second = Match(kind="data", sequence=4, attempt=2)
    assert [takes(second, frame, occurrence) for occurrence in (1, 2)] == [False, True]
    assert not takes(Match(kind="ack", sequence=4, attempt=1), frame)
    assert not takes(Match(kind="data"), at(0)), "RoCE packets have opcodes"
    assert not takes(Match(sequence=0), at(0))


def test_of_datagrams_nothing_is_known_that_roce_packets_have() -> None:
    frame = datagram()
    assert takes(Match(), frame)
    assert [takes(Match(attempt=2), frame, occurrence) for occurrence in (1, 2, 3)] == [False, True, False]
    for more in (Match(opcodes=frozenset({0})), Match(psn_offset=0), Match(source_rank=0), Match(packet=0)):
        assert not takes(more, frame)
        assert not takes(replace(more, attempt=1), frame)


@pytest.mark.parametrize(
    "frame", [arp(), datagram(port=4790), datagram()[:41], datagram()[:20] + b"\x20" + datagram()[21:]]
)
def test_of_any_other_frame_not_even_the_attempt_is_known(frame: bytes) -> None:
    assert takes(Match(), frame)
    assert not takes(Match(attempt=1), frame)
    assert not takes(Match(kind="data"), frame)


def test_a_foreign_connection_has_no_offset_and_no_rank() -> None:
    nothing = ConnectionTable(())
    assert takes(Match(), at(0), table=nothing)
    for match in (Match(psn_offset=0), Match(source_rank=0), Match(message=0), Match(packet=0)):
        assert not takes(match, at(0), table=nothing)


def test_behind_the_plan_the_opcode_tells_the_ends_of_a_message() -> None:
    table = ConnectionTable([CONNECTIONS[0].__class__(0, CONNECTIONS[0].requests, CONNECTIONS[0].answers, 0, ())])
    found = {
        (packet, opcode)
        for packet in (0, -1, 1)
        for opcode in (Opcode.SEND_FIRST, Opcode.SEND_MIDDLE, Opcode.SEND_LAST_IMM, Opcode.WRITE_ONLY)
        if takes(Match(packet=packet), request(9, opcode=opcode), table=table)
    }
    assert found == {
        (0, Opcode.SEND_FIRST), (0, Opcode.WRITE_ONLY), (-1, Opcode.SEND_LAST_IMM), (-1, Opcode.WRITE_ONLY),
    }  # fmt: skip
    assert not takes(Match(packet=0), answer(9), table=table)
    assert not takes(Match(message=0, packet=0), request(9, opcode=Opcode.SEND_FIRST), table=table)
