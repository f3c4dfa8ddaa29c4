"""Which ports of an emulated switch mark, and what is known about the queues below them."""

from __future__ import annotations

from collections.abc import Iterable

from switch_nodes.dataplane import EgressMarking, ModelledQueue
from testbed.faults.model import Fault, RateChange
from testbed.kernel.shaping import burst_bytes
from testbed.scenario.model import Scenario
from testbed.worlds.emulated.schedule import effective_rate
from topologies import Direction, Link

__all__ = ["make_marking"]


def make_marking(scenario: Scenario, switch: str) -> EgressMarking | None:
    """None where no link of the switch marks."""
    queues = {}
    for port, link, entering in scenario.topology.ports(switch):
        threshold = link.shape.ecn_threshold_packets
        if threshold is not None:
            leaving = Direction.DOWN if entering is Direction.UP else Direction.UP
            rates = _rates(scenario.faults, link, leaving)
            queues[port] = ModelledQueue(rates, threshold, link.shape.queue_packets)
    return EgressMarking(queues) if queues else None


def _rates(faults: Iterable[Fault], link: Link, direction: Direction) -> list[tuple[int, int, int]]:
    """(from when, bit/s, bytes of burst), of the whole run: as the world will set them."""
    base, faults = link.shape.rate_bps, tuple(faults)
    times = {0}
    for fault in faults:
        if isinstance(fault, RateChange) and link.name in fault.links and direction in fault.directions:
            times |= {at for at in (fault.window.start_ns, fault.window.stop_ns) if at is not None}
    rates = [(at, effective_rate(faults, link.name, direction, at, base)) for at in sorted(times)]
    # The kernel keeps bytes per second.
    return [(at, rate // 8 * 8, burst_bytes(rate, link.shape.mtu)) for at, rate in rates]
