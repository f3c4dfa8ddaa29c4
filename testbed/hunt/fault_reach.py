"""What a fault does to a packet on its way, whatever the protocol."""

from __future__ import annotations

from testbed.faults.model import Delay, Fault, PacketFault, Reorder
from testbed.scenario.model import Scenario

__all__ = ["equal_ways", "hold_ns", "tiers"]


def tiers(scenario: Scenario, fault: PacketFault) -> int:
    """Kinds of links: those of hosts, and between switches those of each pair of parts."""
    parts = {node.name: node.part for node in scenario.topology.switches}
    links = map(scenario.topology.link, fault.links)
    return len({(parts[link.a], parts[link.b]) if link.a in parts else None for link in links})


def equal_ways(scenario: Scenario, fault: PacketFault) -> int:
    """Over how many switches of an upper tier a packet may go, on links of the fault; 1 at least."""
    switches = {node.name for node in scenario.topology.switches}
    links = map(scenario.topology.link, fault.links)
    return max(1, len({link.b for link in links if {link.a, link.b} <= switches}))


def hold_ns(fault: Fault) -> int:
    """The longest, on one link."""
    if isinstance(fault, Delay):
        return fault.delay_ns + fault.jitter_ns
    return fault.delay_ns if isinstance(fault, Reorder) else 0
