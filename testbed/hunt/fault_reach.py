"""What a fault does to a packet on its way, whatever the protocol."""

from __future__ import annotations

from testbed.faults.model import Delay, Fault, PacketFault, Reorder
from testbed.scenario.model import Scenario

__all__ = ["hold_ns", "tiers"]


def tiers(scenario: Scenario, fault: PacketFault) -> int:
    """1 or 2: links of hosts, links between switches."""
    hosts = {node.name for node in scenario.topology.hosts}
    return len({scenario.topology.link(link).a in hosts for link in fault.links})


def hold_ns(fault: Fault) -> int:
    """The longest, on one link."""
    if isinstance(fault, Delay):
        return fault.delay_ns + fault.jitter_ns
    return fault.delay_ns if isinstance(fault, Reorder) else 0
