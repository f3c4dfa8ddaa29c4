import shutil
import socket
import subprocess
import time

import pytest
from pyroute2 import IPRoute

from testbed.doctor.isolation import run_isolated
from testbed.kernel.links import read_links
from testbed.kernel.queues import open_queues, read_waiting
from testbed.kernel.shaping import burst_bytes, change_rate, read_qdisc, read_qdiscs, shape
from testbed.worlds.emulated.namespace_sockets import turn_ipv6_off
from tests.support.emulated import needs_root
from workloads.wire import Envelope
from workloads.wire.dscp import layer_class_of, read_dscp
from workloads.wire.envelope import encode_envelope

_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33


@pytest.mark.parametrize(
    ("rate_bps", "mtu", "expected"),
    [
        (1_000_000_000, 1500, 65_536),
        (100_000_000, 9000, 65_536),
        (10_000_000, 1500, 25_000),
        (1_000_000, 1500, 3036),
        (1_000_000, 9000, 18_036),
    ],
)
def test_burst(rate_bps: int, mtu: int, expected: int) -> None:
    assert burst_bytes(rate_bps, mtu) == expected


def _shape_and_change() -> str:
    with IPRoute() as netlink:
        netlink.link("add", ifname="va", kind="veth", peer={"ifname": "vb"})
        index = netlink.link_lookup(ifname="va")[0]
        before = read_qdisc(netlink, index)
        seen = []
        for rate_bps in (64_000, 100_000_000, 40_000_000_000):
            if not seen:
                shape(netlink, index, rate_bps=rate_bps, queue_packets=7, mtu=1500)
            else:
                change_rate(netlink, index, rate_bps=rate_bps, mtu=1500)
            reading = read_qdisc(netlink, index)
            assert reading is not None
            seen.append((reading.rate_bps, reading.queue_packets))
    return f"{before} {seen}"


def _bring_up(netlink: IPRoute, indices: list[int]) -> None:
    for index in indices:
        netlink.link("set", index=index, state="up")
    while not all(read_links(netlink)[index].operational for index in indices):
        time.sleep(0.001)


def _passed_at_once() -> str:
    """Packets of four that have passed by the time of half a frame, without a burst and with the usual one."""
    turn_ipv6_off()
    passed = []
    for burst in (1, None):
        with IPRoute() as netlink:
            netlink.link("add", ifname="va", kind="veth", peer={"ifname": "vb"})
            indices = [netlink.link_lookup(ifname=name)[0] for name in ("va", "vb")]
            shape(netlink, indices[0], rate_bps=16_000, queue_packets=7, mtu=1500, burst=burst)
            _bring_up(netlink, indices)
            with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as out:
                out.bind(("va", 0))
                for _ in range(4):
                    out.send(bytes(12) + b"\x88\xb5" + bytes(986))
                time.sleep(0.25)
            reading = read_qdisc(netlink, indices[0])
            assert reading is not None
            passed.append(reading.packets)
            netlink.link("del", index=indices[0])
    return str(passed)


def _only_complete_ones() -> str:
    with IPRoute() as netlink:
        netlink.link("add", ifname="va", kind="veth", peer={"ifname": "vb"})
        indices = [netlink.link_lookup(ifname=name)[0] for name in ("va", "vb")]
        seen = []
        for index, queue_packets in zip(indices, (7, 9), strict=True):
            shape(netlink, index, rate_bps=1_000_000, queue_packets=queue_packets, mtu=1500)
            readings = read_qdiscs(netlink, indices)
            seen.append([readings[index].queue_packets if index in readings else None for index in indices])
        # The class stays, its queue goes.
        netlink.tc("del", "pfifo", indices[0], 0x10_0000, parent=0x1_0010)
        seen.append([index in read_qdiscs(netlink, indices) for index in indices])
        seen.append([index in read_qdiscs(netlink, indices[1:]) for index in indices])
    return str(seen)


def _as_tc_tells() -> str:
    """Another reader of the same kernel: iproute2."""
    with IPRoute() as netlink:
        netlink.link("add", ifname="va", kind="veth", peer={"ifname": "vb"})
        index = netlink.link_lookup(ifname="va")[0]
        shape(netlink, index, rate_bps=20_000_000, queue_packets=77, mtu=1500)
        commands = ["tc class show dev va", "tc qdisc show dev va"]
        return "".join(
            subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout for command in commands
        )


def _serve_classes() -> str:
    """Frames of each layer class, the worst first, more of each than the turn of a class that shares a priority, while
    the line is busy: in which order they come."""
    with IPRoute() as netlink:
        netlink.link("add", ifname="va", kind="veth", peer={"ifname": "vb"})
        indices = [netlink.link_lookup(ifname=name)[0] for name in ("va", "vb")]
        shape(netlink, indices[0], rate_bps=5_000_000, queue_packets=150, mtu=1500, serves_classes=True)
        _bring_up(netlink, indices)
        out, into = (socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for _ in range(2))
        out.bind(("va", 0))
        into.bind(("vb", 0))
        for end, option in ((out, _SO_SNDBUFFORCE), (into, _SO_RCVBUFFORCE)):
            end.setsockopt(socket.SOL_SOCKET, option, 4 << 20)
        into.settimeout(1)
        # What a class may send of its own goes first; then nothing is saved any more, and the line is behind.
        order = [(dscp, ipv6) for ipv6 in (False, True) for dscp in (15, 12, 10, 8)]
        warm = [*order, *[(46, False)] * 30]
        sent = [*warm, *(each for each in order for _ in range(30))]
        frames = []
        for number, (dscp, ipv6) in enumerate(sent):
            address = bytes(16 if ipv6 else 4)
            head = encode_envelope(Envelope(bytes(6), bytes(6), address, address, tos=dscp << 2 | 2), 1400)
            frames.append(head + number.to_bytes(2, "big") + bytes(1398))
        for frame in frames:
            out.send(frame)
        queues = open_queues()
        waiting, reading = read_waiting(queues), read_qdisc(netlink, indices[0])
        came: list[tuple[int, int]] = []
        while len(came) < len(sent):
            frame = into.recv(2000)
            if len(frame) > 1400:  # the kernel talks too
                came.append((read_dscp(frame), int.from_bytes(frame[-1400:-1398], "big")))
    late = [dscp for dscp, number in came if number >= len(warm)]
    in_order = late == sorted(late, key=layer_class_of)
    numbers = [[number for found, number in came if found == dscp] for dscp in (8, 10, 12, 15)]
    assert reading is not None
    told = reading.rate_bps, reading.queue_packets, reading.serves_classes, reading.drops
    return f"{told} {150 < waiting[indices[0]] <= len(sent)} {in_order} {numbers == [sorted(each) for each in numbers]}"


class TestKernel:
    pytestmark = [*needs_root, pytest.mark.programs]

    def test_rate_and_queue_are_read_back_from_slow_to_beyond_32_bits(self) -> None:
        assert run_isolated(_shape_and_change) == (True, "None [(64000, 7), (100000000, 7), (40000000000, 7)]")

    def test_without_a_burst_frames_leave_one_by_one(self) -> None:
        assert run_isolated(_passed_at_once) == (True, "[1, 4]")

    def test_of_many_interfaces_only_what_has_class_and_queue_is_told(self) -> None:
        assert run_isolated(_only_complete_ones) == (True, "[[7, None], [7, 9], [False, True], [False, True]]")

    def test_layer_classes_are_served_strictly(self) -> None:
        assert run_isolated(_serve_classes) == (True, "(5000000, 150, True, 0) True True True")

    @pytest.mark.skipif(shutil.which("tc") is None, reason="needs iproute2")
    def test_tc_tells_the_same(self) -> None:
        done, told = run_isolated(_as_tc_tells)
        assert done, told
        assert "class htb 1:10 root leaf 10: prio 0 rate 20Mbit ceil 20Mbit burst 50000b cburst 50000b" in told
        assert "qdisc htb 1: root refcnt" in told
        assert "default 0x10" in told
        assert "qdisc pfifo 10: parent 1:10 limit 77p" in told
