"""From a scenario to the configuration of every switch."""

from __future__ import annotations

from collections.abc import Mapping

from switch_nodes.config import RingConfig, RingMember, SwitchConfig
from switch_nodes.flows import salt_of
from testbed.scenario.model import Scenario
from topologies import Node
from topologies.routing import next_hops, spanning_ports
from workloads.config import ArithmeticSpec

__all__ = ["RING_ID", "plan_switches"]

RING_ID = 1


def plan_switches(scenario: Scenario, arithmetic: ArithmeticSpec) -> tuple[SwitchConfig, ...]:
    topology = scenario.topology
    ways, trees = next_hops(topology), spanning_ports(topology)
    alone = len(topology.switches) == 1
    configs = []
    for switch in topology.switches:
        towards = {host: ways[switch.name, host.name] for host in topology.hosts if (switch.name, host.name) in ways}
        # Where there are several switches, none of them sees a whole ring.
        rings = (_ring(scenario, arithmetic, towards),) if alone and scenario.switch.program != "forward" else ()
        configs.append(
            SwitchConfig(
                name=switch.name,
                program=scenario.switch.program,
                ports=len(list(topology.ports(switch.name))),
                macs=tuple((host.mac, ports[0]) for host, ports in towards.items() if len(ports) == 1),
                groups=tuple((host.mac, ports) for host, ports in towards.items() if len(ports) > 1),
                flow_salt=salt_of(switch.name),
                flood_ports=None if alone else trees[switch.name],
                rings=rings,
                release=scenario.switch.release,
                gate=scenario.switch.gate,
                trace=scenario.trace,
            )
        )
    return tuple(configs)


def _ring(scenario: Scenario, arithmetic: ArithmeticSpec, towards: Mapping[Node, tuple[int, ...]]) -> RingConfig:
    """All hosts of the job, at the one switch."""
    members = [(host, towards[host]) for host in scenario.ranks if host in towards]
    return RingConfig(
        RING_ID,
        tuple(RingMember(rank, host.ip, ports[0]) for rank, (host, ports) in enumerate(members)),
        arithmetic,
        scenario.job.message_packets,
        scenario.job.window_messages,
        scenario.transport.path_mtu,
    )
