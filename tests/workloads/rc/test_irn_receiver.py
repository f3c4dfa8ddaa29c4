"""The receiver of IRN without a sender: packets that no honest sender makes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rc_pair import BASE_VA, MTU, RKEY, START_PSNS, pair_configs
from workloads.events import FrameRejected, QpFailed
from workloads.rc import ReceiveRequest
from workloads.rc.inbound import Inbound
from workloads.rc.irn_receiver import MOST_AHEAD, IrnReceiver
from workloads.rc.memory import MemoryRegions
from workloads.rc.tally import Counters, Outbox
from workloads.wire import Nak, Opcode, Reth, psn_add

FIRST, MIDDLE, LAST = Opcode.WRITE_FIRST, Opcode.WRITE_ONLY, Opcode.WRITE_ONLY_IMM
ROOM = 8 * MTU


class Driver:
    def __init__(self, psn: int = 0, receives: int = 4) -> None:
        self.first, self.counters, self.outbox = psn, Counters(), Outbox()
        self.memory, regions = bytearray(ROOM), MemoryRegions()
        regions.register(RKEY, BASE_VA, memoryview(self.memory))
        self.config = pair_configs(recovery="irn", psn=psn)[1]
        self.receiver = IrnReceiver(self.config, regions, self.counters, self.outbox)
        for number in range(receives):
            self.receiver.post_receives([ReceiveRequest(number)])

    def gets(self, at: int, opcode: Opcode, size: int, length: int, va: int = -1) -> None:
        """Packet `at` of the connection, its bytes at that place (default: as many MTUs on)."""
        reth = Reth(BASE_VA + (at * MTU if va < 0 else va), RKEY, length)
        imm = 7 if opcode is LAST else None
        psn = psn_add(self.first, at)
        self.receiver.on_request(
            Inbound(b"", self.config.envelope, 0, opcode, 0x22, psn, True, bytes(size), reth, imm, None)
        )

    def gets_trimmed(self, at: int) -> None:
        """The headers of packet `at`."""
        psn, reth = psn_add(self.first, at), Reth(BASE_VA + at * MTU, RKEY, ROOM)
        self.receiver.on_trimmed(Inbound(b"", self.config.envelope, 0, MIDDLE, 0x22, psn, True, b"", reth, None, None))

    def answers(self) -> list[tuple[int, int]]:
        """(syndrome, next expected packet) of each."""
        return [(a.syndrome, (a.sack.cumulative - self.first) % (1 << 24)) for a in self.receiver.answers if a.sack]

    def events(self, kind: type) -> list[Any]:
        return [event for event in self.outbox.events if isinstance(event, kind)]


@pytest.mark.parametrize("psn", START_PSNS)
@pytest.mark.parametrize(
    ("packets", "status", "told"),
    [
        ([(0, FIRST, MTU - 1, 2 * MTU)], "LOC_QP_OP",
            "WRITE_FIRST with PSN {0} carries 255 bytes at a path MTU of 256"),
        ([(0, FIRST, MTU + 1, 2 * MTU)], "LOC_QP_OP",
            "WRITE_FIRST with PSN {0} carries 257 bytes at a path MTU of 256"),
        ([(0, FIRST, MTU, 3 * MTU), (1, LAST, 9, 3 * MTU)], "LOC_LEN",
            "WRITE_ONLY_IMM with PSN {1} makes 265 bytes of a message of 768"),
        ([(0, FIRST, MTU, 2 * MTU), (1, MIDDLE, MTU, 2 * MTU), (2, MIDDLE, MTU, 2 * MTU)], "LOC_LEN",
            "WRITE_ONLY with PSN {2} makes 768 bytes of a message of 512"),
        ([(0, MIDDLE, MTU, 2 * MTU)], "LOC_QP_OP", "WRITE_ONLY with PSN {0} breaks the order FIRST, MIDDLE, LAST"),
        ([(0, FIRST, MTU, 2 * MTU), (1, FIRST, MTU, 2 * MTU)], "LOC_QP_OP",
            "WRITE_FIRST with PSN {1} breaks the order FIRST, MIDDLE, LAST"),
        ([(0, Opcode.SEND_FIRST, MTU, 2 * MTU)], "LOC_QP_OP", ("SEND_FIRST with PSN {0} is an operation that IRN does "
                                                              "not carry")),
        ([(0, Opcode.WRITE_MIDDLE, MTU, 2 * MTU)], "LOC_QP_OP", ("WRITE_MIDDLE with PSN {0} is an operation that IRN "
                                                                "does not carry")),
    ],
)  # fmt: skip
def test_what_breaks_a_message_ends_the_queue_pair(
    packets: list[tuple[int, Opcode, int, int]], status: str, told: str, psn: int
) -> None:
    d = Driver(psn)
    for packet in packets:
        d.gets(*packet)
    (failed,) = d.events(QpFailed)
    assert failed.status == status
    assert failed.detail.endswith(told.format(*(psn_add(psn, at) for at in range(3))))
    assert d.answers()[-1] == (Nak.INVALID_REQUEST, len(packets) - 1)
    assert d.receiver.failed
    d.gets(0, FIRST, MTU, MTU)
    assert len(d.receiver.answers) == len(packets), "a failed queue pair answers nothing"


def test_a_foreign_place_ends_the_queue_pair_although_the_packet_is_ahead() -> None:
    d = Driver()
    d.gets(3, MIDDLE, MTU, 9 * MTU, va=ROOM)
    assert d.answers() == [(Nak.REMOTE_ACCESS, 0)]
    assert d.events(QpFailed)[0].status == "LOC_ACCESS"


@pytest.mark.parametrize("psn", START_PSNS)
def test_what_is_further_ahead_than_any_window_is_dropped(psn: int) -> None:
    d = Driver(psn)
    d.gets(MOST_AHEAD - 1, MIDDLE, MTU, 9 * MTU, va=0)
    d.gets(MOST_AHEAD, MIDDLE, MTU, 9 * MTU, va=0)
    assert d.answers() == [(Nak.PSN_SEQUENCE, 0)]
    assert [event.reason for event in d.events(FrameRejected)] == ["too_far"]


def test_a_message_of_nothing_is_delivered() -> None:
    d = Driver()
    d.gets(0, LAST, 0, 0)
    assert d.answers() == [(0, 1)]
    assert d.receiver.msn == 1


@pytest.mark.parametrize("psn", START_PSNS)
def test_a_trimmed_copy_of_what_arrived_is_not_requested_again(psn: int) -> None:
    """Packet 1 is missing, 0 is delivered, 2 waits behind the gap, and nothing is known of 3."""
    d = Driver(psn)
    d.gets(0, FIRST, MTU, ROOM)
    d.gets(2, MIDDLE, MTU, ROOM)
    d.receiver.answers.clear()
    for at in (0, 2, 1, 3):
        d.gets_trimmed(at)
    assert d.answers() == [(0, 1), (Nak.PSN_SEQUENCE, 1), (Nak.TRIMMED, 1), (Nak.TRIMMED, 1)]
