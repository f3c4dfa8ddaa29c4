import shutil
import subprocess

import pytest
from pyroute2 import IPRoute

from testbed.doctor.isolation import run_isolated
from testbed.kernel.shaping import burst_bytes, change_rate, read_qdisc, read_qdiscs, shape
from tests.support.emulated import needs_root


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


class TestKernel:
    pytestmark = [*needs_root, pytest.mark.programs]

    def test_rate_and_queue_are_read_back_from_slow_to_beyond_32_bits(self) -> None:
        assert run_isolated(_shape_and_change) == (True, "None [(64000, 7), (100000000, 7), (40000000000, 7)]")

    def test_of_many_interfaces_only_what_has_class_and_queue_is_told(self) -> None:
        assert run_isolated(_only_complete_ones) == (True, "[[7, None], [7, 9], [False, True], [False, True]]")

    @pytest.mark.skipif(shutil.which("tc") is None, reason="needs iproute2")
    def test_tc_tells_the_same(self) -> None:
        done, told = run_isolated(_as_tc_tells)
        assert done, told
        assert "class htb 1:10 root leaf 10: prio 0 rate 20Mbit ceil 20Mbit burst 50000b cburst 50000b" in told
        assert "qdisc htb 1: root refcnt" in told
        assert "default 0x10" in told
        assert "qdisc pfifo 10: parent 1:10 limit 77p" in told
