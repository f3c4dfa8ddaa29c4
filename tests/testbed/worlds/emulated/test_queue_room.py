"""What the kernel keeps in front of a link."""

from __future__ import annotations

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
