"""The verbs endpoint on devices in memory: queues, names, failures."""

from __future__ import annotations

import pytest

from tests.support.fake_nics import Fabric
from workloads.config import QpConfig
from workloads.events import NicCounters, QpFailed
from workloads.rc import ReceiveCompleted, ReceiveRequest, SendCompleted, SendRequest
from workloads.verbs import PeerNames, VerbsEndpoint
from workloads.wire import Envelope

A, B = bytes((10, 77, 0, 1)), bytes((10, 77, 0, 2))
QPN_A, QPN_B, RKEY, BASE = 11, 22, 5, 1 << 20


def qp(qpn: int, peer: int, src: bytes, dst: bytes, **options: int) -> QpConfig:
    return QpConfig(qpn, peer, Envelope(bytes(6), bytes(6), src, dst), 0xFFFFFE, 0, path_mtu=256, **options)


class Pair:
    def __init__(self, depth: int = 64, **options: int) -> None:
        self.fabric = Fabric(depth=depth)
        self.a, self.b = (VerbsEndpoint(self.fabric.open(f"rxe{n}", ip)) for n, ip in enumerate((A, B)))
        self.a.add_qp(qp(QPN_A, QPN_B, A, B, **options))
        self.b.add_qp(qp(QPN_B, QPN_A, B, A, **options))
        self.memory = memoryview(bytearray(b"\xee" * 4096))
        self.b.register_memory(RKEY, BASE, self.memory)

    def connect(self) -> None:
        region = self.b.region_of(RKEY)
        self.a.connect(QPN_A, PeerNames(self.b.real_qpn(QPN_B), region.rkey, region.address - BASE))
        self.b.connect(QPN_B, PeerNames(self.a.real_qpn(QPN_A)))

    def settle(self) -> None:
        """Until nothing moves."""
        moved = True
        while moved:
            moved = self.fabric.deliver()
            for endpoint in (self.a, self.b):
                endpoint.handle_timer(0)

    def fake_qp(self):
        return self.fabric.qps[A, self.a.real_qpn(QPN_A)]


def completions(endpoint):
    found = []
    while (completion := endpoint.next_completion()) is not None:
        found.append(completion)
    return found


def test_a_write_lands_at_the_real_address_of_the_planned_one():
    pair = Pair()
    pair.connect()
    pair.b.post_receives(QPN_B, [ReceiveRequest(0)])
    pair.a.post_send(QPN_A, SendRequest(7, (b"head", b"tail" * 3), 9, BASE + 100, RKEY), 0)
    pair.settle()
    assert bytes(pair.memory[100:116]) == b"head" + b"tail" * 3
    assert bytes(pair.memory[:100]) == b"\xee" * 100
    assert completions(pair.a) == [SendCompleted(QPN_A, 7, "SUCCESS")]
    assert completions(pair.b) == [ReceiveCompleted(QPN_B, 0, 9, 16)]


def test_a_send_lands_in_the_part_that_its_receive_names():
    pair = Pair()
    pair.connect()
    whole = bytearray(300)
    pair.b.post_receives(QPN_B, [ReceiveRequest(0, memoryview(whole)[100:200])])
    pair.b.post_receives(QPN_B, [ReceiveRequest(1, memoryview(whole)[200:300])])
    for number, letter in enumerate((b"x", b"y")):
        pair.a.post_send(QPN_A, SendRequest(number, (letter * 50,), number), 0)
    pair.settle()
    assert whole == bytes(100) + b"x" * 50 + bytes(50) + b"y" * 50 + bytes(50)
    assert [(c.wr_id, c.imm, c.length) for c in completions(pair.b)] == [(0, 0, 50), (1, 1, 50)]


def test_what_is_posted_before_the_connection_waits_for_it():
    pair = Pair()
    pair.b.post_receives(QPN_B, [ReceiveRequest(0)])
    pair.a.post_send(QPN_A, SendRequest(0, (b"abcd",), 1, BASE, RKEY), 0)
    pair.settle()
    assert completions(pair.a) == []
    pair.connect()
    pair.settle()
    assert completions(pair.a) == [SendCompleted(QPN_A, 0, "SUCCESS")]


def test_full_queues_of_the_device_keep_the_rest_here_in_order():
    """FakeNic refuses an overflow."""
    pair = Pair(depth=2)
    pair.connect()
    for number in range(7):
        pair.b.post_receives(QPN_B, [ReceiveRequest(number)])
        pair.a.post_send(QPN_A, SendRequest(number, (bytes([number]) * 8,), number, BASE + 8 * number, RKEY), 0)
    assert pair.a.outstanding_packets(QPN_A) == 7
    pair.settle()
    assert [c.wr_id for c in completions(pair.a)] == list(range(7))
    assert [(c.wr_id, c.imm) for c in completions(pair.b)] == [(n, n) for n in range(7)]
    assert bytes(pair.memory[:56]) == b"".join(bytes([n]) * 8 for n in range(7))
    assert pair.a.outstanding_packets(QPN_A) == 0


def test_a_message_being_sent_is_not_overwritten_by_the_next():
    pair = Pair()
    pair.connect()
    for number in range(3):
        pair.b.post_receives(QPN_B, [ReceiveRequest(number)])
        pair.a.post_send(
            QPN_A, SendRequest(number, (bytes([65 + number]) * 600,), number, BASE + 600 * number, RKEY), 0
        )
    assert pair.a.outstanding_packets(QPN_A) == 9  # 600 bytes are 3 packets of 256
    buffers = {message.data for message in pair.fake_qp().sends}
    assert len(buffers) == 3
    pair.settle()
    registered = len(pair.a._nic.regions)
    pair.b.post_receives(QPN_B, [ReceiveRequest(3)])
    pair.a.post_send(QPN_A, SendRequest(3, (b"again" * 100,), 3, BASE, RKEY), 0)
    pair.settle()
    assert len(pair.a._nic.regions) == registered  # a buffer was used again


def test_a_failure_is_told_once_with_its_reason_and_the_rest_is_flushed():
    pair = Pair(depth=2, timeout_code=17, retry_count=6)
    pair.connect()
    for number in range(4):
        pair.b.post_receives(QPN_B, [ReceiveRequest(number)])
        pair.a.post_send(QPN_A, SendRequest(number, (bytes(600),), number, BASE, RKEY), 0)
    pair.fabric.deliver()
    pair.a.handle_timer(0)
    pair.fabric.fail(pair.fake_qp(), "RETRY_EXC")
    pair.a.handle_timer(0)
    assert [(c.wr_id, c.status) for c in completions(pair.a)] == [
        (0, "SUCCESS"), (1, "RETRY_EXC"), (2, "FLUSH"), (3, "FLUSH"),
    ]  # fmt: skip
    failed = pair.a.next_event()
    detail = "rxe0: message 1 ended with RETRY_EXC, peer 10.77.0.2: no ACK after 6 retries, 537 ms each or more"
    assert failed == QpFailed(pair.a.real_qpn(QPN_A), "RETRY_EXC", 1, detail)  # 0xfffffe + 3, wrapped
    assert pair.a.next_event() is None
    assert pair.a.outstanding_packets(QPN_A) == 0
    pair.a.post_send(QPN_A, SendRequest(9, (b"late",), 9, BASE, RKEY), 0)
    assert completions(pair.a)[-1:] == [SendCompleted(QPN_A, 9, "FLUSH")]


def test_a_receiver_that_never_posts_is_named():
    pair = Pair(rnr_retry=3)
    pair.connect()
    pair.a.post_send(QPN_A, SendRequest(0, (b"abcd",), 0, BASE, RKEY), 0)
    pair.fabric.fail(pair.fake_qp(), "RNR_RETRY_EXC")
    pair.a.handle_timer(0)
    assert pair.a.next_event().detail == (
        "rxe0: message 0 ended with RNR_RETRY_EXC, peer 10.77.0.2: the peer had no receive posted, 3 times"
    )


def test_receives_of_a_failed_queue_pair_never_complete():
    pair = Pair()
    pair.connect()
    pair.b.post_receives(QPN_B, [ReceiveRequest(0)])
    pair.fabric.fail(pair.fabric.qps[B, pair.b.real_qpn(QPN_B)], "FLUSH")
    pair.b.handle_timer(0)
    assert completions(pair.b) == []
    failed = pair.b.next_event()
    assert (failed.status, failed.detail) == ("FLUSH", "rxe1: receive 0 ended with FLUSH, peer 10.77.0.1")


def test_it_is_polled_at_once_while_completions_come_and_seldom_when_not():
    pair = Pair()
    pair.connect()
    pair.a.handle_timer(1_000)
    idle = pair.a.get_timer()
    assert idle > 1_000
    pair.b.post_receives(QPN_B, [ReceiveRequest(0)])
    pair.a.post_send(QPN_A, SendRequest(0, (b"abcd",), 0, BASE, RKEY), 0)
    pair.fabric.deliver()
    pair.a.handle_timer(idle)
    assert pair.a.get_timer() == idle


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda pair: pair.a.add_qp(qp(QPN_A, 1, A, B)), "QP 0xb exists already"),
        (lambda pair: pair.b.register_memory(RKEY, 0, memoryview(bytearray(8))), "rkey 0x5 is registered already"),
        (lambda pair: pair.b.register_memory(6, 0, memoryview(bytes(8))), "the memory of rkey 0x6 is read-only"),
    ],
)
def test_names_are_given_once(act, text):
    with pytest.raises(ValueError, match=text):
        act(Pair())


def test_the_ports_counters_are_told_as_differences():
    fabric = Fabric()
    nic = fabric.open("rxe0", A)
    nic.counted["sent_pkts"] = 40
    endpoint = VerbsEndpoint(nic)
    nic.counted["sent_pkts"] = 42
    assert endpoint.statistics() == (NicCounters("rxe0", {"sent_pkts": 2}),)
