"""The quick reader of queues, against pyroute2's, in a network namespace of its own."""

import socket
import struct
import time

import pytest
from pyroute2 import IPRoute

from testbed.doctor.isolation import run_isolated
from testbed.kernel.links import read_links
from testbed.kernel.queues import open_queues, read_waiting
from testbed.kernel.shaping import LEAVES, shape
from tests.support.emulated import needs_root

pytestmark = needs_root


def _fill_and_read() -> str:
    with IPRoute() as netlink:
        netlink.link("add", ifname="va", kind="veth", peer={"ifname": "vb"})
        indices = [netlink.link_lookup(ifname=name)[0] for name in ("va", "vb")]
        for index in indices:
            shape(netlink, index, rate_bps=8_000, queue_packets=50, mtu=1500)
            netlink.link("set", index=index, state="up")
        while not all(read_links(netlink)[index].operational for index in indices):
            time.sleep(0.001)  # until the kernel has handled the carrier, it drops what is sent
        out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        out.bind(("va", 0))
        frame = b"\xff" * 12 + struct.pack("!H", 0x88B5) + bytes(1000)
        for _ in range(20):
            out.send(frame)
        queues = open_queues()
        quick = [read_waiting(queues) for _ in range(2)][-1]
        slow = {
            message["index"]: message.get_attr("TCA_STATS2").get_attr("TCA_STATS_QUEUE")["qlen"]
            for message in netlink.get_qdiscs()
            if message["handle"] in LEAVES
        }
    assert quick == slow, (quick, slow)
    assert set(quick) == set(indices)
    return "some wait" if 10 < quick[indices[0]] <= 20 and quick[indices[1]] < 10 else f"{quick}"


def test_frames_that_wait_are_those_that_pyroute2_tells() -> None:
    assert run_isolated(_fill_and_read) == (True, "some wait")


@pytest.mark.parametrize("links", [60])
def test_an_answer_of_several_parts_is_read_to_its_end(links: int) -> None:
    def read() -> str:
        with IPRoute() as netlink:
            for number in range(links):
                netlink.link("add", ifname=f"a{number}", kind="veth", peer={"ifname": f"b{number}"})
                index = netlink.link_lookup(ifname=f"a{number}")[0]
                shape(netlink, index, rate_bps=1_000_000, queue_packets=5, mtu=1500)
        queues = open_queues()
        return " ".join(str(len(read_waiting(queues))) for _ in range(2))

    assert run_isolated(read) == (True, f"{links} {links}")
