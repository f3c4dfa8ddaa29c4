"""What the ports of nodes know about the kernel's queues and links: queues that mark, trim or know classes, and the
wires that frames come in by."""

from __future__ import annotations

from collections.abc import Callable

from switch_nodes.dataplane import EgressMarking, ModelledQueue, ModelledWire
from testbed.faults.model import RateChange
from testbed.scenario.model import Scenario
from testbed.scenario.transports import transports_of
from testbed.worlds.emulated.dilation import clock_of, kernel_shape
from testbed.worlds.emulated.schedule import effective_rate
from testbed.worlds.queue_drops import QueueDrops
from topologies import Direction, Link, Role
from workloads.machine import Buffer, Event

__all__ = ["make_marking", "make_wires"]


def make_marking(
    scenario: Scenario, switch: str, tell: Callable[[int, Event], None], *, exact: bool
) -> EgressMarking | None:
    """None where no link of the switch marks, trims or knows classes. `tell`: (now, event). `exact`: frames come one by
    one, as wires carry them, and find the queue that the link would have; else the kernel's, which a burst passes by.
    """
    queues, places, drops = {}, {}, QueueDrops(transports_of(scenario))
    for port, link, entering in scenario.topology.ports(switch):
        shape = link.shape
        if shape.ecn_threshold_packets is not None or shape.trims or shape.knows_classes:
            leaving = Direction.DOWN if entering is Direction.UP else Direction.UP
            rates = _rates(scenario, link, leaving, exact=exact)
            places[port] = link.name, str(leaving)
            queues[port] = ModelledQueue(
                rates,
                shape.ecn_threshold_packets,
                shape.queue_packets,
                shape.reserve_packets,
                low_until=shape.drop_low_above_packets,
                serves_classes=shape.serves_classes,
                knows_classes=shape.knows_classes,
            )

    def refused(port: int, frame: Buffer, waiting: int, now: int, early: bool) -> None:
        tell(now, drops.event(*places[port], frame, waiting, early=early))

    return EgressMarking(queues, refused) if queues else None


def make_wires(scenario: Scenario, node: str) -> dict[int, ModelledWire]:
    """What comes in by the ports of a node, by port."""
    return {
        port: ModelledWire(
            [(at, rate_bps) for at, rate_bps, _ in _rates(scenario, link, entering, exact=True)],
            paced=scenario.topology.node(link.a if entering is Direction.UP else link.b).role is Role.HOST,
        )
        for port, link, entering in scenario.topology.ports(node)
    }


def _rates(scenario: Scenario, link: Link, direction: Direction, *, exact: bool) -> list[tuple[int, int, int]]:
    """(from when, bit/s, bytes of burst), of the whole run, as the world will set them. They exclude the little that
    the kernel lets pass at once where frames come one by one."""
    base, faults, clock = link.shape.rate_bps, scenario.faults, clock_of(scenario)
    times = {0}
    for fault in faults:
        if isinstance(fault, RateChange) and link.name in fault.links and direction in fault.directions:
            times |= {at for at in (fault.window.start_ns, fault.window.stop_ns) if at is not None}
    rates = [(at, effective_rate(faults, link.name, direction, at, base)) for at in sorted(times)]
    kept = [(at, kernel_shape(clock, rate, link.shape.mtu, exact=exact)) for at, rate in rates]
    return [(at, shape.emulated_bps, 0 if exact else shape.burst_bytes) for at, shape in kept]
