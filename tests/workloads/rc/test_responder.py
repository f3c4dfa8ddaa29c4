"""The responder without bytes: decoded requests in, answers out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rc_pair import BASE_VA, MTU, RKEY, START_PSNS, pair_configs, pattern
from workloads.events import NakSent, QpFailed, RnrNakSent
from workloads.machine import Buffer
from workloads.rc import ReceiveCompleted, ReceiveRequest, Responder
from workloads.rc.inbound import Inbound
from workloads.rc.memory import MemoryRegions
from workloads.rc.responder_table import RESPONDER_TABLE, ResponderAction, ResponderEvent, ResponderState
from workloads.rc.tally import Counters, Outbox
from workloads.wire import ACK_UNLIMITED, Nak, Opcode, Reth, psn_add, rnr_syndrome

pytestmark = pytest.mark.parametrize("first", START_PSNS)

FULL = pattern(MTU)
Op = Opcode


class Driver:
    def __init__(self, first: int, **overrides: Any) -> None:
        self.config = pair_configs(psn=first, **overrides)[1]
        self.regions, self.counters, self.outbox = MemoryRegions(), Counters(), Outbox()
        self.memory = bytearray(4 * MTU)
        self.regions.register(RKEY, BASE_VA, memoryview(self.memory))
        self.responder = Responder(self.config, self.regions, self.counters, self.outbox)
        self.first = first

    def receives(self, *buffers: bytearray | None) -> None:
        for wr_id, buffer in enumerate(buffers):
            self.responder.post_receives([ReceiveRequest(wr_id, None if buffer is None else memoryview(buffer))])

    def request(
        self,
        offset: int,
        opcode: Opcode,
        payload: Buffer = b"",
        *,
        ack: bool = False,
        write: tuple[int, int] | None = None,
        rkey: int = RKEY,
        imm: int | None = None,
    ) -> list[tuple[int, int, int]]:
        """Answers as (PSN counted from the first, syndrome, MSN)."""
        reth = None if write is None else Reth(BASE_VA + write[0], rkey, write[1])
        psn = psn_add(self.first, offset)
        envelope = self.config.envelope
        self.responder.on_request(Inbound(b"", envelope, 0, opcode, 0x22, psn, ack, payload, reth, imm, None))
        answers = [((a.psn - self.first) % (1 << 24), a.syndrome, a.msn) for a in self.responder.answers]
        self.responder.answers.clear()
        return answers

    def events(self, kind: type) -> list[Any]:
        return [e for e in self.outbox.events if isinstance(e, kind)]


ACK = ACK_UNLIMITED


def test_a_send_of_three_packets(first: int) -> None:
    d, buffer = Driver(first), bytearray(1000)
    d.receives(buffer)
    assert d.request(0, Op.SEND_FIRST, FULL) == []
    assert d.request(1, Op.SEND_MIDDLE, FULL, ack=True) == [(1, ACK, 0)], "mid-message: the PSN, MSN unchanged"
    assert d.request(2, Op.SEND_LAST_IMM, b"end", ack=True, imm=8) == [(2, ACK, 1)]
    assert buffer[: 2 * MTU + 3] == FULL + FULL + b"end"
    assert list(d.outbox.completions) == [ReceiveCompleted(0x22, 0, 8, 2 * MTU + 3)]


def test_a_gap_brings_one_nak_until_the_expected_packet_came(first: int) -> None:
    d = Driver(first)
    d.receives(bytearray(4 * MTU), bytearray(4 * MTU))
    d.request(0, Op.SEND_FIRST, FULL)
    assert d.request(2, Op.SEND_MIDDLE, FULL) == [(1, Nak.PSN_SEQUENCE, 0)]
    assert d.request(3, Op.SEND_MIDDLE, FULL) == []
    assert d.request(2, Op.SEND_MIDDLE, FULL) == []
    assert d.request(1, Op.SEND_MIDDLE, FULL) == []
    assert d.request(3, Op.SEND_LAST, FULL) == [(2, Nak.PSN_SEQUENCE, 0)], "a new gap"
    assert d.request(2, Op.SEND_LAST, b"x", ack=True) == [(2, ACK, 1)]
    assert d.request(4, Op.SEND_ONLY, b"x") == [(3, Nak.PSN_SEQUENCE, 1)], "between messages"
    assert d.request(5, Op.SEND_ONLY, b"x") == []
    assert d.events(NakSent) == [NakSent(0x22, 0x60, psn_add(first, o)) for o in (1, 2, 3)]


def test_the_opcode_of_a_packet_ahead_is_not_judged(first: int) -> None:
    d = Driver(first)
    assert d.request(1, Op.SEND_MIDDLE, b"short") == [(0, Nak.PSN_SEQUENCE, 0)]
    assert d.request(2, Op.READ_REQUEST) == []
    assert d.responder.state is ResponderState.EXPECT_FIRST_GAP


def test_duplicates_are_acknowledged_and_not_executed(first: int) -> None:
    d, buffer = Driver(first), bytearray(1000)
    d.receives(buffer, bytearray(10))
    d.request(0, Op.SEND_FIRST, FULL)
    d.request(1, Op.SEND_MIDDLE, FULL)
    assert d.request(0, Op.SEND_FIRST, bytes(MTU)) == [(1, ACK, 0)]
    assert d.request(1, Op.SEND_MIDDLE, bytes(MTU)) == [(1, ACK, 0)]
    assert d.request(3, Op.SEND_MIDDLE, FULL) == [(2, Nak.PSN_SEQUENCE, 0)]
    assert d.request(0, Op.SEND_FIRST, bytes(MTU)) == [(1, ACK, 0)], "also in a gap"
    assert d.request(3, Op.SEND_MIDDLE, FULL) == [], "which a duplicate does not close"
    assert d.request(2, Op.SEND_LAST, b"x", ack=True) == [(2, ACK, 1)]
    assert d.request(2, Op.SEND_LAST, b"y", ack=True) == [(2, ACK, 1)]
    assert buffer[: 2 * MTU + 1] == FULL + FULL + b"x"
    assert len(d.outbox.completions) == 1
    assert d.counters.duplicates_received == 4
    assert d.counters.packets_received == 3


def test_acks_are_coalesced(first: int) -> None:
    d = Driver(first, ack_every=3)
    d.receives(*[bytearray(8)] * 20)
    answered = [bool(d.request(i, Op.SEND_ONLY, b"x", ack=i == 4)) for i in range(9)]
    assert [i for i, yes in enumerate(answered) if yes] == [2, 4, 7]
    # any answer counts: a duplicate's ACK starts the count again
    d.request(9, Op.SEND_ONLY, b"x")
    assert d.request(9, Op.SEND_ONLY, b"x") == [(9, ACK, 10)]
    assert [bool(d.request(10 + i, Op.SEND_ONLY, b"x")) for i in range(3)] == [False, False, True]


def test_without_a_receive_a_send_is_refused_and_stays_expected(first: int) -> None:
    d = Driver(first, rnr_timer_code=14)
    assert d.request(0, Op.SEND_FIRST, FULL) == [(0, rnr_syndrome(14), 0)]
    assert d.request(1, Op.SEND_LAST, b"x") == [(0, Nak.PSN_SEQUENCE, 0)], "the packets behind, as rdma_rxe does"
    assert d.request(0, Op.SEND_FIRST, FULL) == [(0, rnr_syndrome(14), 0)]
    assert d.request(1, Op.SEND_LAST, b"x") == [(0, Nak.PSN_SEQUENCE, 0)], "the expected PSN came: a new gap"
    d.receives(bytearray(1000))
    assert d.request(0, Op.SEND_FIRST, FULL) == []
    assert d.request(1, Op.SEND_LAST, b"x", ack=True) == [(1, ACK, 1)]
    assert d.events(RnrNakSent) == [RnrNakSent(0x22, first)] * 2


def test_a_write_needs_a_receive_at_its_immediate_only(first: int) -> None:
    d = Driver(first)
    assert d.request(0, Op.WRITE_FIRST, FULL, write=(0, MTU + 2)) == []
    assert d.request(1, Op.WRITE_LAST_IMM, b"ab", imm=5) == [(1, rnr_syndrome(12), 0)]
    assert bytes(d.memory[MTU : MTU + 2]) == b"\0\0", "a refused packet writes nothing"
    d.receives(None)
    assert d.request(1, Op.WRITE_LAST_IMM, b"ab", imm=5, ack=True) == [(1, ACK, 1)]
    assert bytes(d.memory[: MTU + 2]) == FULL + b"ab"
    assert list(d.outbox.completions) == [ReceiveCompleted(0x22, 0, 5, MTU + 2)]
    assert d.request(2, Op.WRITE_ONLY_IMM, b"zz", write=(0, 2), imm=6) == [(2, rnr_syndrome(12), 1)]
    assert bytes(d.memory[:2]) == FULL[:2]
    assert d.request(2, Op.WRITE_ONLY, b"zz", write=(0, 2), ack=True) == [(2, ACK, 2)]


def test_a_write_may_fill_the_region_and_not_one_byte_more(first: int) -> None:
    d = Driver(first)
    assert d.request(0, Op.WRITE_ONLY, b"ab", write=(4 * MTU - 2, 2), ack=True) == [(0, ACK, 1)]
    assert bytes(d.memory[-2:]) == b"ab"
    assert d.request(1, Op.WRITE_ONLY, b"ab", write=(4 * MTU - 1, 2)) == [(1, Nak.REMOTE_ACCESS, 1)]


BAD_ACCESS = {
    "wrong key": {"write": (0, 2), "rkey": RKEY + 1},
    "before the region": {"write": (-1, 2)},
    "behind it": {"write": (4 * MTU, 2)},
}


@pytest.mark.parametrize("name", BAD_ACCESS)
def test_access_errors(first: int, name: str) -> None:
    d = Driver(first)
    before = bytes(d.memory)
    assert d.request(0, Op.WRITE_ONLY, b"ab", **BAD_ACCESS[name]) == [(0, Nak.REMOTE_ACCESS, 0)]  # type: ignore[arg-type]
    assert d.memory == before
    assert d.events(NakSent) == [NakSent(0x22, 0x62, first)]
    (failed,) = d.events(QpFailed)
    assert failed.status == "LOC_ACCESS"
    assert d.responder.state is ResponderState.ERROR
    assert d.request(0, Op.WRITE_ONLY, b"ab", write=(0, 2)) == [], "a failed QP is silent"


def test_the_detail_of_an_access_error(first: int) -> None:
    d = Driver(first)
    d.request(0, Op.WRITE_FIRST, FULL, write=(4 * MTU, 300))
    assert d.events(QpFailed)[0].detail == (
        f"10.0.0.1 QP 0x11 -> 10.0.0.2 QP 0x22: WRITE_FIRST with PSN {first} names 300 bytes at 0x100400 of rkey 0x77, "
        "which are not registered"
    )


def test_a_zero_length_write_needs_no_key(first: int) -> None:
    d = Driver(first)
    assert d.request(0, Op.WRITE_ONLY, b"", write=(1 << 40, 0), rkey=1, ack=True) == [(0, ACK, 1)]


# name -> (requests before, the bad one); all before are accepted
Request = tuple[Opcode, bytes, dict[str, Any]]
SEND_OPEN: list[Request] = [(Op.SEND_FIRST, FULL, {})]
WRITE_OPEN: list[Request] = [(Op.WRITE_FIRST, FULL, {"write": (0, 3 * MTU)})]
INVALID: dict[str, tuple[list[Request], Request, str]] = {
    "MIDDLE first": ([], (Op.SEND_MIDDLE, FULL, {}), "LOC_QP_OP"),
    "LAST first": ([], (Op.SEND_LAST, FULL, {}), "LOC_QP_OP"),
    "WRITE LAST first": ([], (Op.WRITE_LAST_IMM, FULL, {"imm": 1}), "LOC_QP_OP"),
    "FIRST in a message": (SEND_OPEN, (Op.SEND_FIRST, FULL, {}), "LOC_QP_OP"),
    "ONLY in a message": (SEND_OPEN, (Op.SEND_ONLY, FULL, {}), "LOC_QP_OP"),
    "WRITE FIRST in a SEND": (SEND_OPEN, (Op.WRITE_FIRST, FULL, {"write": (0, 600)}), "LOC_QP_OP"),
    "WRITE MIDDLE in a SEND": (SEND_OPEN, (Op.WRITE_MIDDLE, FULL, {}), "LOC_QP_OP"),
    "SEND LAST in a WRITE": (WRITE_OPEN, (Op.SEND_LAST, FULL, {}), "LOC_QP_OP"),
    "FIRST too short": ([], (Op.SEND_FIRST, FULL[:-1], {}), "LOC_QP_OP"),
    "FIRST too long": ([], (Op.SEND_FIRST, FULL + b"x", {}), "LOC_QP_OP"),
    "MIDDLE too short": (SEND_OPEN, (Op.SEND_MIDDLE, FULL[:-1], {}), "LOC_QP_OP"),
    "MIDDLE too long": (SEND_OPEN, (Op.SEND_MIDDLE, FULL + b"x", {}), "LOC_QP_OP"),
    "LAST empty": (SEND_OPEN, (Op.SEND_LAST, b"", {}), "LOC_QP_OP"),
    "LAST too long": (SEND_OPEN, (Op.SEND_LAST, FULL + b"x", {}), "LOC_QP_OP"),
    "ONLY too long": ([], (Op.SEND_ONLY, FULL + b"x", {}), "LOC_QP_OP"),
    "more than the receive": ([*SEND_OPEN, *[(Op.SEND_MIDDLE, FULL, {})] * 2], (Op.SEND_LAST, FULL, {}), "LOC_LEN"),
    "RETH says less": ([], (Op.WRITE_ONLY, FULL, {"write": (0, MTU - 1)}), "LOC_LEN"),
    "RETH says more": ([], (Op.WRITE_ONLY, FULL, {"write": (0, MTU + 1)}), "LOC_LEN"),
    "RETH of one packet": ([], (Op.WRITE_FIRST, FULL, {"write": (0, MTU)}), "LOC_LEN"),
    "MIDDLE at the end": ([*WRITE_OPEN, (Op.WRITE_MIDDLE, FULL, {})], (Op.WRITE_MIDDLE, FULL, {}), "LOC_LEN"),
    "LAST too early": (WRITE_OPEN, (Op.WRITE_LAST, FULL, {}), "LOC_LEN"),
    "LAST one byte short": ([*WRITE_OPEN, (Op.WRITE_MIDDLE, FULL, {})], (Op.WRITE_LAST, FULL[:-1], {}), "LOC_LEN"),
    "READ": ([], (Op.READ_REQUEST, b"", {"write": (0, 2)}), "LOC_QP_OP"),
    "atomic": ([], (Op.FETCH_ADD, b"", {}), "LOC_QP_OP"),
    "SEND with invalidate": ([], (Op.SEND_ONLY_INV, b"x", {}), "LOC_QP_OP"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_requests(first: int, name: str) -> None:
    before, (opcode, payload, more), status = INVALID[name]
    d = Driver(first)
    d.receives(bytearray(3 * MTU + 10), bytearray(10))
    for offset, (good, body, extra) in enumerate(before):
        assert d.request(offset, good, body, **extra) == []
    at = len(before)
    received = d.counters.packets_received
    assert d.request(at, opcode, payload, **more) == [(at, Nak.INVALID_REQUEST, 0)]
    (failed,) = d.events(QpFailed)
    assert failed.status == status
    assert opcode.name in failed.detail
    assert d.counters.packets_received == received
    assert not d.outbox.completions
    assert d.request(at, Op.SEND_ONLY, b"x") == []


def test_a_send_into_a_receive_without_memory_is_too_long(first: int) -> None:
    d = Driver(first)
    d.receives(None, None)
    assert d.request(0, Op.SEND_ONLY_IMM, b"", imm=1, ack=True) == [(0, ACK, 1)]
    assert d.request(1, Op.SEND_ONLY, b"x") == [(1, Nak.INVALID_REQUEST, 1)]


def test_read_only_memory_cannot_be_posted_or_registered(first: int) -> None:
    d = Driver(first)
    with pytest.raises(ValueError, match="the memory of receive 3 is read-only"):
        d.responder.post_receives([ReceiveRequest(3, memoryview(b"abc"))])
    with pytest.raises(ValueError, match="the memory of rkey 0x5 is read-only"):
        d.regions.register(5, 0, memoryview(b"abc"))
    with pytest.raises(ValueError, match="rkey 0x77 is registered already"):
        d.regions.register(RKEY, 0, memoryview(bytearray(3)))


def test_msn_wraps(first: int) -> None:
    d = Driver(first)
    d.receives(*[bytearray(8)] * 2)
    d.responder.msn = 0xFFFFFF
    assert d.request(0, Op.SEND_ONLY, b"x", ack=True) == [(0, ACK, 0)]


def test_the_table_is_total_and_errors_are_final(first: int) -> None:
    assert len(RESPONDER_TABLE) == len(ResponderState) * len(ResponderEvent)
    for (state, event), step in RESPONDER_TABLE.items():
        if state is ResponderState.ERROR:
            assert step == (ResponderState.ERROR, ())
        if ResponderAction.EXECUTE in step.actions:
            assert event in (ResponderEvent.FIRST, ResponderEvent.MIDDLE, ResponderEvent.LAST, ResponderEvent.ONLY)
