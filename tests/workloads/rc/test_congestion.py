"""DCQCN through an endpoint: CE in, CNP on the wire, slower requests."""

import itertools
from dataclasses import replace

from tests.support.rc_pair import RcPair, ipv6, pair_configs, pattern
from workloads.config import DcqcnConfig
from workloads.events import CnpSent, CongestionStatistics, RateChanged, RcStatistics
from workloads.rc import RcEndpoint, SendRequest
from workloads.wire import Bth, Envelope, Opcode, Packet, decode_packet, encode_packet, icrc_is_valid
from workloads.wire.ecn import mark_ce

MS = 10**6
CONFIG = DcqcnConfig(
    line_rate_bps=100_000_000, min_rate_bps=1_000_000, additive_bps=100_000, hyper_bps=500_000, alpha_timer_ns=22 * MS,
    increase_timer_ns=22 * MS, byte_counter_bytes=10_000_000, cnp_interval_ns=20 * MS, cut_period_ns=2 * MS,
)  # fmt: skip
PACKETS = 200


def marking_pair(marks, **overrides):
    """A pair whose wire marks A's requests of these numbers (from 1), in their first transmission."""
    pair = RcPair(**overrides)
    pair.config = {side: replace(c, envelope=replace(c.envelope, tos=2)) for side, c in pair.config.items()}
    for side in pair.ends:
        memory = pair.ends[side]
        pair.ends[side] = RcEndpoint()
        pair.ends[side].add_qp(pair.config[side])
        del memory
    transmit = pair._transmit

    def mark(side, frame):
        index = pair._frames_of[side] + 1
        transmit(side, mark_ce(frame) if side == "a" and index in marks else frame)

    pair._transmit = mark
    pair.post_receives(1, PACKETS * 256)
    pair.send(pattern(PACKETS * 256))
    return pair


def cnps(pair):
    return [sent for sent in pair.sent if sent.side == "b" and sent.opcode is Opcode.CNP]


def test_a_mark_brings_a_notice_and_the_sender_slows_down():
    pair = marking_pair({5}, dcqcn=CONFIG, spacing_ns=26_000)
    pair.run()
    (notice,) = cnps(pair)
    assert pair.events_of(CnpSent, "b") == [CnpSent(pair.config["b"].qpn, pair.psn(4))]
    (cut, *rest) = pair.events_of(RateChanged)
    assert (cut.cause, cut.rate_bps, cut.qpn) == ("cnp", 50_000_000, pair.config["a"].qpn)
    assert all(change.cause == "timer" for change in rest)
    arrives = notice.time + pair.delay_ns
    later = [sent.time for sent in pair.data() if arrives < sent.time < arrives + 22 * MS]
    gaps = [b - a for a, b in itertools.pairwise(later)]
    frame = len(pair.data()[5].frame)
    assert len(gaps) > 100
    assert sum(gaps) / len(gaps) >= frame * 8e9 / 50_000_000 * 0.99
    assert pair.received == [pattern(PACKETS * 256)]
    assert pair.statuses() == [(0, "SUCCESS")]


def test_the_notice_is_the_one_that_adapters_send():
    """The bytes of a ConnectX-4 Lx (scapy's test suite, test/contrib/roce.uts), but for addresses, QP, TTL,
    identification and the UDP source port, which are the sender's own."""
    pair = marking_pair({1}, dcqcn=CONFIG)
    pair.run()
    (notice,) = cnps(pair)
    packet = decode_packet(notice.frame)
    known = bytes.fromhex("45c2003c718c4000401191160a0011010a001201000012b7002800008100ffff4000011800000000") + bytes(
        16
    )
    ours = notice.frame[14:-4]
    varies = {*range(4, 6), *range(10, 22), *range(33, 36)}
    assert [i for i, (a, b) in enumerate(zip(ours, known, strict=True)) if a != b and i not in varies] == []
    assert packet.bth == Bth(Opcode.CNP, pair.config["a"].qpn, 0, becn=1)
    assert packet.envelope == replace(pair.config["b"].envelope, tos=0xC2)
    assert icrc_is_valid(notice.frame)


def test_notices_leave_before_answers_and_at_most_one_per_interval():
    config = replace(CONFIG, cnp_interval_ns=MS, cut_period_ns=MS // 2)
    pair = marking_pair(set(range(1, PACKETS + 1)), dcqcn=config, spacing_ns=26_000)
    pair.run()
    times = [notice.time for notice in cnps(pair)]
    assert len(times) > 1
    assert min(b - a for a, b in itertools.pairwise(times)) >= MS
    (statistics,) = [s for s in pair.ends["b"].statistics() if isinstance(s, CongestionStatistics)]
    assert statistics == CongestionStatistics(pair.config["b"].qpn, PACKETS, len(times), 0, 0)
    (statistics,) = [s for s in pair.ends["a"].statistics() if isinstance(s, CongestionStatistics)]
    assert statistics == CongestionStatistics(pair.config["a"].qpn, 0, 0, len(times), len(times))


def test_a_damaged_packet_and_an_ack_with_a_mark_bring_no_notice():
    pair = marking_pair(set(), dcqcn=CONFIG)
    pair.run()
    data, ack = pair.data()[3].frame, pair.of_kind("ack")[0].frame
    broken = bytearray(mark_ce(data))
    broken[80] ^= 1
    pair.inject("b", bytes(broken))
    pair.inject("a", mark_ce(ack))
    pair.run()
    assert cnps(pair) == []
    pair.inject("b", mark_ce(data))
    pair.run()
    assert len(cnps(pair)) == 1, "a duplicate went through the same queue"


def test_without_congestion_control_marks_and_notices_change_nothing():
    marked, plain = marking_pair(set(range(1, PACKETS + 1))), marking_pair(set())
    marked.run()
    notice = encode_packet(Packet(replace(plain.config["b"].envelope, tos=0xC2), Bth(0x81, 0x11, 0, becn=1), bytes(16)))
    plain.at(1000, lambda: plain.ends["a"].receive_frame(0, notice, plain.now))
    plain.run()
    assert [(s.time, s.side, s.psn, s.opcode) for s in marked.sent] == [
        (s.time, s.side, s.psn, s.opcode) for s in plain.sent
    ]
    assert not marked.events_of(CnpSent, "b")
    assert [type(s) for s in plain.ends["a"].statistics()] == [RcStatistics]
    assert plain.ends["a"].statistics()[0].cnps_received == 1


def test_ipv6_marks_count_too():
    a, b = (replace(ipv6(c), dcqcn=CONFIG) for c in pair_configs())
    sender, receiver = RcEndpoint(), RcEndpoint()
    back = replace(b.envelope, src_ip=a.envelope.dst_ip, dst_ip=a.envelope.src_ip)
    sender.add_qp(replace(a, envelope=replace(a.envelope, tos=2)))
    receiver.add_qp(replace(b, envelope=back))
    sender.post_send(a.qpn, SendRequest(0, (b"x",)), 0)
    ((_, frame),) = list(sender.frames_to_send(0))
    receiver.receive_frame(0, mark_ce(frame), 0)
    first = decode_packet(next(iter(receiver.frames_to_send(0)))[1])
    assert first.bth.opcode == Opcode.CNP
    assert isinstance(first.envelope, Envelope)


def test_a_sender_that_waits_for_its_turn_lets_other_queue_pairs_send():
    slow, fast = pair_configs(dcqcn=CONFIG)[0], replace(pair_configs()[0], qpn=0x33, peer_qpn=0x44)
    endpoint = RcEndpoint()
    for config in (slow, fast):
        endpoint.add_qp(config)
        endpoint.post_send(config.qpn, SendRequest(0, (bytes(20 * 256),)), 0)
    notice = encode_packet(
        Packet(
            Envelope(slow.envelope.dst_mac, slow.envelope.src_mac, slow.envelope.dst_ip, slow.envelope.src_ip,
                tos=0xC2),
            Bth(Opcode.CNP, slow.qpn, 0, becn=1), bytes(16),
        )
    )  # fmt: skip
    endpoint.receive_frame(0, notice, 0)
    sent = [decode_packet(frame).bth.dest_qpn for _, frame in endpoint.frames_to_send(0)]
    assert (sent.count(slow.peer_qpn), sent.count(fast.peer_qpn)) == (1, 20)
    opens = endpoint.get_timer()
    assert 0 < opens < MS
    assert list(endpoint.frames_to_send(opens - 1)) == []
    endpoint.handle_timer(opens)
    assert len(list(endpoint.frames_to_send(opens))) == 1
