import struct
from dataclasses import replace

import pytest

from workloads.background import FlowConfig, UdpSink, UdpSource
from workloads.background.udp import datagrams
from workloads.events import FlowReceived, FlowSent
from workloads.machine import FrameBatch
from workloads.wire import Envelope, decode_packet
from workloads.wire.ecn import mark_ce
from workloads.wire.envelope import ipv4_checksum

MS = 10**6
ENVELOPE = Envelope(b"\2" * 6, b"\4" * 6, bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)), sport=0x9000)
CONFIG = FlowConfig("noise", ENVELOPE, 5201, rate_bps=8_336_000, payload_bytes=1000)
"""a frame of 1042 bytes each millisecond"""


def drain(source, until, step=MS // 4):
    return [(now, frame) for now in range(0, until, step) for frame in datagrams(source, now)]


def test_datagrams_leave_at_the_rate_whatever_the_wake_ups():
    assert [now for now, _ in drain(UdpSource(CONFIG), 5 * MS)] == [0, MS, 2 * MS, 3 * MS, 4 * MS]
    seldom = drain(UdpSource(CONFIG), 41 * MS, 10 * MS)
    assert [now // MS for now, _ in seldom] == [0] + [10] * 10 + [20] * 10 + [30] * 10 + [40] * 10


def test_a_datagram_is_udp_with_right_lengths_and_no_roce():
    (frame,) = [frame for _, frame in drain(UdpSource(CONFIG), MS)]
    assert len(frame) == CONFIG.frame_bytes == 1042
    assert frame[:12] == b"\4" * 6 + b"\2" * 6
    (length,) = struct.unpack_from("!H", frame, 16)
    assert (length, frame[23]) == (1028, 17)
    assert struct.unpack_from("!HHHH", frame, 34) == (0x9000, 5201, 1008, 0)
    assert struct.unpack_from("!H", frame, 24)[0] == ipv4_checksum(frame[14:34])
    assert decode_packet(frame) is None


def test_start_stop_and_size_bound_it():
    late = replace(CONFIG, start_ns=2 * MS, stop_ns=4 * MS)
    assert [now for now, _ in drain(UdpSource(late), 10 * MS)] == [2 * MS, 3 * MS]
    assert [now for now, _ in drain(UdpSource(late, start_ns=MS), 10 * MS)] == [3 * MS, 4 * MS]
    small = UdpSource(replace(CONFIG, size_bytes=2500))
    assert len(drain(small, 20 * MS)) == 3
    assert small.due is None
    assert small.finished() == FlowSent("noise", 3, 3000, 0)


def test_it_wakes_for_the_next_datagram_and_never_for_one_that_waits_for_the_link():
    source = UdpSource(CONFIG)
    assert source.wakes_at == 0
    source.woken(0)
    assert source.wakes_at is None
    assert source.next_frame(0)
    assert source.wakes_at == MS
    assert UdpSource(replace(CONFIG, start_ns=MS), timeout_ns=5).wakes_at == MS + 5


def test_what_is_far_behind_is_given_up():
    source = UdpSource(CONFIG)
    assert source.next_frame(0)
    assert len(list(datagrams(source, 1000 * MS))) <= 2
    assert source.finished().skipped >= 997
    assert [now for now, _ in drain(source, 1002 * MS) if now > 1000 * MS] == [1001 * MS]


def test_a_flow_without_rate_is_refused():
    with pytest.raises(ValueError, match="UDP flow noise has no rate"):
        UdpSource(replace(CONFIG, rate_bps=None))


@pytest.mark.parametrize("by_rows", [False, True])
def test_a_sink_counts_its_own_flow_and_nothing_else(by_rows):
    sink = UdpSink(CONFIG)
    (ours,) = [frame for _, frame in drain(UdpSource(replace(CONFIG, envelope=replace(ENVELOPE, tos=2))), MS)]
    (other,) = [frame for _, frame in drain(UdpSource(replace(CONFIG, dport=5202)), MS)]
    tcp = bytearray(ours)
    tcp[23] = 6
    frames = [ours, other, mark_ce(ours), bytes(tcp), ours[:41], bytes(60)]
    if by_rows:
        batch = FrameBatch.of(8, 1100)
        for frame in frames:
            batch.append(0, frame)
        sink.receive_rows(batch, 5 * MS)
        batch.count = 1
        sink.receive_rows(batch, 7 * MS)
    else:
        assert [sink.receive(frame, 5 * MS) for frame in frames] == [True, False, True, False, False, False]
        sink.receive(ours, 7 * MS)
    assert sink.finished() == FlowReceived("noise", 3, 3000, 1, 5 * MS, 7 * MS)
