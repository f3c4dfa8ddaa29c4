"""The endpoint as a Machine: what it does with frames of every kind, and how its queue pairs share the port."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.rc_pair import BASE_VA, MTU, RKEY, RcPair, ipv6, pair_configs, pattern
from workloads.config import QpConfig
from workloads.events import FrameRejected, QpFailed, RcStatistics
from workloads.machine import BatchMachine, FrameBatch, Machine
from workloads.rc import RcEndpoint, ReceiveRequest, SendCompleted, SendRequest, rto_ns
from workloads.wire import Aeth, Bth, Envelope, Opcode, Packet, decode_packet, encode_packet

A, B = pair_configs()


def endpoint() -> RcEndpoint:
    """B's end."""
    end = RcEndpoint()
    end.add_qp(B)
    end.post_receive(0x22, ReceiveRequest(0, memoryview(bytearray(100))))
    return end


def send_only(**bth: int) -> bytes:
    values = {"opcode": Opcode.SEND_ONLY, "dest_qpn": 0x22, "psn": 0, "ack_req": 1} | bth
    return encode_packet(Packet(A.envelope, Bth(**values), b"hello"))


def events(end: RcEndpoint) -> list[object]:
    found = []
    while (event := end.next_event()) is not None:
        found.append(event)
    return found


def test_it_is_a_machine() -> None:
    assert isinstance(RcEndpoint(), Machine)
    assert isinstance(RcEndpoint(), BatchMachine)


def test_an_empty_endpoint_is_quiet() -> None:
    end = RcEndpoint()
    assert list(end.frames_to_send(0)) == []
    assert end.get_timer() is None
    end.handle_timer(0)
    end.receive_frame(0, send_only(), 0)
    assert events(end) == []
    assert end.next_completion() is None
    assert end.statistics() == ()


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (b"", []),
        (bytes(60), []),
        (encode_packet(Packet(replace(A.envelope, dst_ip=bytes((10, 0, 0, 9))), Bth(Opcode.SEND_ONLY, 0x22, 0))), []),
        (
            send_only(dest_qpn=0x99),
            [
                FrameRejected(
                    "unknown_qp",
                    "SEND_ONLY with PSN 0 from 10.0.0.1 is for QP 0x99, which is not connected to that address",
                )
            ],
        ),
        (
            encode_packet(Packet(replace(A.envelope, src_ip=bytes((10, 0, 0, 7))), Bth(Opcode.SEND_ONLY, 0x22, 5))),
            [
                FrameRejected(
                    "unknown_qp",
                    "SEND_ONLY with PSN 5 from 10.0.0.7 is for QP 0x22, which is not connected to that address",
                )
            ],
        ),
        (
            send_only()[:-1] + bytes([send_only()[-1] ^ 1]),
            [FrameRejected("icrc", "SEND_ONLY with PSN 0 from 10.0.0.1 to QP 0x22 has a wrong iCRC")],
        ),
        (send_only()[:-1], [FrameRejected("malformed", "IP length says 66 bytes, the frame has 65")]),
        (
            send_only(opcode=Opcode.UC_SEND_ONLY),
            [
                FrameRejected(
                    "opcode",
                    "UC_SEND_ONLY with PSN 0 from 10.0.0.1 to QP 0x22 has an opcode that no RC queue pair of ours "
                    "expects",
                )
            ],
        ),
        (
            encode_packet(Packet(A.envelope, Bth(Opcode.READ_RESP_LAST, 0x22, 3), aeth=Aeth(0, 0))),
            [
                FrameRejected(
                    "opcode",
                    "READ_RESP_LAST with PSN 3 from 10.0.0.1 to QP 0x22 has an opcode that no RC queue pair of ours "
                    "expects",
                )
            ],
        ),
    ],
    ids=["empty", "zeros", "another host", "unknown QP", "another peer", "iCRC", "cut", "UC", "READ response"],
)
def test_useless_frames(frame: bytes, expected: list[FrameRejected]) -> None:
    end = endpoint()
    end.receive_frame(0, frame, 0)
    assert events(end) == expected
    assert list(end.frames_to_send(0)) == []
    assert end.statistics()[0].packets_received == 0
    end.receive_frame(0, send_only(), 0)
    assert end.statistics()[0].packets_received == 1


def test_a_bad_icrc_counts_and_changes_nothing_not_even_for_answers() -> None:
    pair = RcPair()
    pair.send(b"abc")
    ((_, _),) = list(pair.ends["a"].frames_to_send(0))
    ack = bytearray(encode_packet(Packet(B.envelope, Bth(Opcode.ACKNOWLEDGE, 0x11, 0), aeth=Aeth(0x1F, 1))))
    ack[-6] ^= 1
    pair.ends["a"].receive_frame(0, ack, 0)
    assert pair.ends["a"].next_completion() is None
    assert pair.ends["a"].statistics()[0].icrc_errors == 1


def test_a_cnp_is_counted_and_otherwise_ignored() -> None:
    end = endpoint()
    end.receive_frame(0, encode_packet(Packet(A.envelope, Bth(Opcode.CNP, 0x22, 0, becn=1))), 0)
    assert events(end) == []
    assert list(end.frames_to_send(0)) == []
    assert end.statistics()[0].cnps_received == 1


def test_frames_may_be_any_buffer_and_are_not_kept() -> None:
    end = RcEndpoint()
    end.add_qp(B)
    room = bytearray(100)
    end.post_receive(0x22, ReceiveRequest(0, memoryview(room)))
    frame = bytearray(send_only())
    end.receive_frame(0, memoryview(frame), 0)
    frame[:] = bytes(len(frame))
    assert room[:5] == b"hello"


def test_statistics_after_a_run_with_loss() -> None:
    pair = RcPair()
    pair.post_receives(1)
    pair.drop("a", 3)
    pair.send(pattern(8 * MTU))
    pair.run()
    assert pair.ends["a"].statistics() == (
        RcStatistics(
            qpn=0x11, packets_sent=14, packets_retransmitted=6, packets_received=0, duplicates_received=0, acks_sent=0,
            acks_received=1, naks_sent=0, naks_received=1, rnr_naks_received=0, timeouts=0, icrc_errors=0,
        ),
    )  # fmt: skip
    assert pair.ends["b"].statistics() == (
        RcStatistics(
            qpn=0x22, packets_sent=0, packets_retransmitted=0, packets_received=8, duplicates_received=0, acks_sent=1,
            acks_received=0, naks_sent=1, naks_received=0, rnr_naks_received=0, timeouts=0, icrc_errors=0,
        ),
    )  # fmt: skip


def test_answers_leave_before_requests() -> None:
    pair = RcPair()
    end = pair.ends["b"]
    pair.post_receives(1)
    end.post_send(0x22, SendRequest(0, (pattern(5 * MTU),)), 0)
    end.receive_frame(0, send_only(), 0)
    opcodes = [p.bth.opcode for _, f in end.frames_to_send(0) if (p := decode_packet(f))]
    assert opcodes[0] == Opcode.ACKNOWLEDGE
    assert len(opcodes) == 6


def test_queue_pairs_take_turns() -> None:
    end = RcEndpoint()
    for qpn in (1, 2):
        end.add_qp(replace(A, qpn=qpn, peer_qpn=qpn))
        end.post_send(qpn, SendRequest(0, (bytes(300 * MTU),)), 0)
    order = [p.bth.dest_qpn for _, f in end.frames_to_send(0) if (p := decode_packet(f))]
    assert order == [1] * 256 + [2] * 256 + [1] * 44 + [2] * 44


def test_a_frame_that_nobody_took_has_not_left() -> None:
    pair = RcPair()
    pair.send(pattern(8 * MTU))
    end = pair.ends["a"]
    taken = next(iter(end.frames_to_send(0)))
    assert taken[0] == 0
    assert end.statistics()[0].packets_sent == 1
    assert len(list(end.frames_to_send(0))) == 7


def test_messages_are_not_copied_when_posted() -> None:
    pair = RcPair()
    data = bytearray(pattern(4 * MTU))
    pair.post_receives(1)
    pair.ends["a"].post_send(0x11, SendRequest(0, (b"head", memoryview(data)[4:]), None), 0)
    data[-1] ^= 0xFF
    pair.run()
    assert pair.received == [b"head" + bytes(data)[4:]]


def test_both_directions_at_once_over_ipv6() -> None:
    ends = [RcEndpoint(), RcEndpoint()]
    rooms = [bytearray(2000), bytearray(2000)]
    for end, config, room in zip(ends, (ipv6(A), replace(ipv6(B), envelope=_swapped(ipv6(A)))), rooms, strict=True):
        end.add_qp(config)
        end.post_receive(config.qpn, ReceiveRequest(7, memoryview(room)))
        end.post_send(config.qpn, SendRequest(1, (pattern(1500, config.qpn),)), 0)
    for _ in range(4):
        for me, other in ((0, 1), (1, 0)):
            for _, frame in ends[me].frames_to_send(0):
                ends[other].receive_frame(0, frame, 0)
    assert rooms[1][:1500] == pattern(1500, 0x11)
    assert rooms[0][:1500] == pattern(1500, 0x22)
    for end in ends:
        assert {type(end.next_completion()).__name__ for _ in range(2)} == {"SendCompleted", "ReceiveCompleted"}
        assert end.get_timer() is None


def _swapped(config: QpConfig) -> Envelope:
    e = config.envelope
    return replace(e, src_mac=e.dst_mac, dst_mac=e.src_mac, src_ip=e.dst_ip, dst_ip=e.src_ip)


def test_misuse_is_refused() -> None:
    end = endpoint()
    with pytest.raises(ValueError, match="QP 0x22 exists already"):
        end.add_qp(B)
    with pytest.raises(KeyError):
        end.post_send(0x99, SendRequest(0, (b"x",)), 0)
    with pytest.raises(KeyError):
        end.post_receive(0x99, ReceiveRequest(0))
    with pytest.raises(ValueError, match=r"ImmDt.value: 4294967296 does not fit 32 bits"):
        end.post_send(0x22, SendRequest(0, (b"x",), imm=1 << 32), 0)
    with pytest.raises(ValueError, match=r"RETH.rkey: -1 does not fit 32 bits"):
        end.post_send(0x22, SendRequest(0, (b"x",), remote_va=0, rkey=-1), 0)
    assert list(end.frames_to_send(0)) == []
    assert end.outstanding_packets(0x22) == 0


# failures, end to end


def test_retries_exhausted_takes_the_sum_of_the_timeouts_and_delivers_nothing() -> None:
    for retry_count in (0, 1, 3, 7):
        pair = RcPair(retry_count=retry_count, timeout_code=8)
        pair.post_receives(2)
        pair.fate = lambda sent: ()
        pair.send(pattern(3 * MTU), wr_id=1)
        pair.send(b"x", wr_id=2)
        pair.run()
        assert pair.statuses() == [(1, "RETRY_EXC"), (2, "FLUSH")]
        assert pair.now == (retry_count + 1) * (rto_ns(8) or 0)
        assert pair.received == []
        assert len(pair.data()) == 4 * (retry_count + 1)
        assert len(pair.events_of(QpFailed)) == 1
        pair.send(b"y", wr_id=3)
        pair.run()
        assert pair.statuses()[-1] == (3, "FLUSH")
        assert len(pair.data()) == 4 * (retry_count + 1)


def test_a_failed_qp_serves_no_requests() -> None:
    pair = RcPair(retry_count=0, timeout_code=8)
    pair.post_receives(1)
    end = pair.ends["b"]
    end.post_send(0x22, SendRequest(9, (b"x",)), 0)
    assert len(list(end.frames_to_send(0))) == 1
    end.handle_timer(rto_ns(8) or 0)
    end.receive_frame(0, send_only(), 0)
    assert list(end.frames_to_send(0)) == []
    assert end.next_completion() == SendCompleted(0x22, 9, "RETRY_EXC")
    assert end.next_completion() is None


def test_timeout_0_never_gives_up() -> None:
    pair = RcPair(timeout_code=0)
    pair.fate = lambda sent: ()
    pair.send(b"x")
    pair.run()
    assert pair.now == 0
    assert pair.statuses() == []


@pytest.mark.parametrize(
    ("rkey", "at", "status"),
    [(RKEY, 1 << 16, "REM_ACCESS"), (RKEY, (1 << 16) - 1, "REM_ACCESS"), (0x78, 0, "REM_ACCESS")],
)
def test_a_write_out_of_bounds_fails_at_both_ends(rkey: int, at: int, status: str) -> None:
    pair = RcPair()
    pair.write(b"ab", wr_id=1, at=at, rkey=rkey)
    pair.write(b"ab", wr_id=2)
    pair.run()
    assert pair.statuses() == [(1, status), (2, "FLUSH")]
    assert pair.memory == b"\xee" * len(pair.memory)
    assert [e.status for e in pair.events_of(QpFailed, "a")] == ["REM_ACCESS"]
    assert [e.status for e in pair.events_of(QpFailed, "b")] == ["LOC_ACCESS"]
    assert len(pair.of_kind("refusal")) == 1


def test_a_send_longer_than_the_receive_fails_at_both_ends() -> None:
    pair = RcPair()
    pair.post_receives(1, size=MTU)
    pair.ends["b"].post_send(0x22, SendRequest(5, (bytes(50_000),)), 0)
    pair.send(pattern(MTU + 1), wr_id=1)
    pair.run()
    assert pair.statuses() == [(1, "REM_INV_REQ")]
    assert [e.status for e in pair.events_of(QpFailed, "b")] == ["LOC_LEN"]
    assert SendCompleted(0x22, 5, "FLUSH") in pair.completions["b"]


# receiver not ready


@pytest.mark.parametrize("code", range(32))
def test_a_late_receive(code: int) -> None:
    pair = RcPair(rnr_timer_code=code, timeout_code=18)
    pair.at(30_000_000, lambda: pair.post_receives(1))
    pair.send(pattern(2 * MTU), wr_id=4)
    pair.run()
    assert pair.received == [pattern(2 * MTU)]
    assert pair.statuses() == [(4, "SUCCESS")]
    rounds = len(pair.of_kind("rnr"))
    assert rounds >= 1
    # as captured: each RNR NAK is followed by a sequence NAK for the packet behind, which starts nothing early
    assert len(pair.of_kind("nak")) == rounds
    assert pair.offsets(pair.data()) == [0, 1] * (rounds + 1)
    assert pair.ends["a"].statistics()[0].timeouts == 0


@pytest.mark.parametrize("rnr_retry", [0, 2])
def test_a_receive_that_never_comes(rnr_retry: int) -> None:
    pair = RcPair(rnr_retry=rnr_retry)
    pair.send(b"x", wr_id=4)
    pair.run()
    assert pair.statuses() == [(4, "RNR_RETRY_EXC")]
    assert len(pair.of_kind("rnr")) == rnr_retry + 1


def test_rnr_retry_7_waits_for_ever() -> None:
    pair = RcPair(rnr_retry=7, rnr_timer_code=1)
    pair.send(b"x", wr_id=4)
    pair.run(until=lambda: len(pair.of_kind("rnr")) == 200)
    assert pair.statuses() == []
    pair.post_receives(1)
    pair.run()
    assert pair.received == [b"x"]


def test_a_write_with_immediate_into_a_late_receive() -> None:
    pair = RcPair()
    pair.at(1_000_000, lambda: pair.ends["b"].post_receive(0x22, ReceiveRequest(3)))
    pair.write(pattern(3 * MTU), imm=8)
    pair.run()
    assert pair.received == [pattern(3 * MTU)]
    assert pair.offsets(pair.of_kind("rnr"))[0] == 2
    assert bytes(pair.memory[: 3 * MTU]) == pattern(3 * MTU)
    assert BASE_VA


def test_batches_do_what_frames_do() -> None:
    pair = RcPair()
    pair.post_receives(1)
    pair.send(pattern(8 * MTU))
    batch = FrameBatch.of(5, 2048)
    pair.ends["a"].fill_batch(batch, 0)
    assert batch.count == 5
    pair.ends["b"].receive_batch(batch, 0)
    batch.count = 0
    pair.ends["a"].fill_batch(batch, 0)
    assert batch.count == 3
    pair.ends["b"].receive_batch(batch, 0)
    pair.run()
    assert pair.received == [pattern(8 * MTU)]
