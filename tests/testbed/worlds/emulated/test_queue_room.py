"""What the kernel keeps in front of a link."""

from __future__ import annotations

from unittest.mock import MagicMock

import pytest

from switch_nodes.dataplane import EmulatedClock
from testbed.worlds.emulated.network import Network
from testbed.worlds.emulated.queue_room import room, serves_classes
from topologies import LinkShape, rack


def test_the_kernel_neither_limits_nor_orders_frames_of_nodes_that_do_it_themselves() -> None:
    topology = rack(2, LinkShape(rate_bps=10**8, queue_packets=8, priority="layers"))
    link = topology.links[0]
    for name, frames, classes in (("h1", 8, False), ("s1", 16, True)):
        node = topology.node(name)
        assert (room(node, link, lossless=False), serves_classes(node, link, lossless=False)) == (frames, classes)
        assert room(node, link, lossless=True) > 500
        assert not serves_classes(node, link, lossless=True)


@pytest.mark.mininet
def test_a_pfc_frame_passes_the_kernel_right_behind_the_frame_that_it_follows() -> None:
    """A node releases a frame with its last bit. The burst holds one more frame, and does not where HTB is to space
    frames that come one by one."""
    shape = LinkShape(rate_bps=10**8, mtu=1500)
    topology = rack(2, shape)
    for lossless in (False, True):
        network = Network(topology, MagicMock(), "tag", clock=EmulatedClock(50), exact=True, lossless=lossless)
        burst = network.kept(topology.links[0], "s1").burst_bytes
        assert (burst >= 2 * (shape.mtu + 14)) is lossless
