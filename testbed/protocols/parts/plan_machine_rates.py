"""Machines of several workers, as the cost models know them."""

from __future__ import annotations

from testbed.plan.model import Plan
from topologies import machine_groups
from workloads.costs import EqualMachines

__all__ = ["machine_rates"]


def machine_rates(plan: Plan) -> EqualMachines:
    """With the rates that framing leaves of the slowest link inside a machine, and of the slowest between them; without
    latencies."""
    topology, framing = plan.scenario.topology, plan.workers[0].framing
    share = framing.payload_bytes / framing.frame_bytes
    groups, hosts = machine_groups(topology), {host.name for host in topology.hosts}
    inside = min(link.shape.rate_bps for link in topology.links if link.a in hosts)
    between = min(link.shape.rate_bps for link in topology.links if link.a not in hosts)
    return EqualMachines(len(hosts), len(groups[0]), between * share, inside * share, 0.0)
