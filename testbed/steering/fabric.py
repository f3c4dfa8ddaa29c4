"""The commodity switches of a network and what each of them shall hold, given which ports are dead. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from switch_nodes.config import SwitchConfig
from switch_nodes.steering.layout import HostEntry, SteeringConfig
from switch_nodes.steering.steer import falls_back, steering_rules
from testbed.steering.entries import Table, make_table
from topologies import Topology
from topologies.routing import next_hops, spanning_ports

__all__ = ["Fabric", "Port", "make_fabric"]

Port = tuple[str, int]
"""(switch, port from 0)"""


@dataclass(frozen=True, slots=True)
class CommoditySwitch:
    name: str
    datapath: int
    """its number in OpenFlow, from 1"""
    ports: int
    salt: int
    steering: SteeringConfig


@dataclass(frozen=True, slots=True)
class Fabric:
    topology: Topology
    switches: tuple[CommoditySwitch, ...]

    def by_datapath(self, datapath: int) -> CommoditySwitch | None:
        return next((switch for switch in self.switches if switch.datapath == datapath), None)

    def falls_back(self, switch: CommoditySwitch, dead: Collection[Port]) -> bool:
        return falls_back(switch.steering, _of(switch, dead))

    def tables(self, dead: Collection[Port]) -> dict[str, Table]:
        """By switch. A link with a dead port at either end carries nothing. Routes and the flooding tree avoid it, at
        every switch. Where equal ports remain, flows share those. To a host that nothing leads to, frames are dropped.
        """
        alive = tuple(
            link
            for link in self.topology.links
            if (link.a, link.a_port) not in dead and (link.b, link.b_port) not in dead
        )
        living = replace(self.topology, links=alive)
        ways, trees = next_hops(living), spanning_ports(living)
        tables = {}
        for switch in self.switches:
            steering = switch.steering
            hosts = tuple(
                HostEntry(host.name, host.mac, ways.get((switch.name, host.name), ())) for host in self.topology.hosts
            )
            rules = steering_rules(replace(steering, hosts=hosts), _of(switch, dead))
            flood = [port for port in trees[switch.name] if port not in steering.accelerator_ports]
            tables[switch.name] = make_table(rules, flood, switch.salt)
        return tables


def _of(switch: CommoditySwitch, dead: Collection[Port]) -> frozenset[int]:
    return frozenset(port for name, port in dead if name == switch.name)


def make_fabric(topology: Topology, configs: Collection[SwitchConfig]) -> Fabric:
    """`configs`: of the switches that are steered; those of program forward have no accelerator."""
    numbers = {node.name: number for number, node in enumerate(topology.switches, start=1)}
    return Fabric(
        topology,
        tuple(
            CommoditySwitch(
                config.name,
                numbers[config.name],
                config.ports,
                config.flow_salt,
                config.steering or SteeringConfig(()),
            )
            for config in configs
        ),
    )
