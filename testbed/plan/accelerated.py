"""The switches of a rack with an accelerator: flow rules for the commodity switch, the ring for the accelerator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from switch_nodes.config import CarrierChange, RingConfig, RingMember, SwitchConfig
from switch_nodes.kinds import sums
from switch_nodes.steering.layout import HostEntry, SteeredEdge, SteeringConfig
from testbed.faults.model import Kill, LinkDown, Match
from testbed.scenario.model import Scenario
from topologies import Attachment, Node

__all__ = ["DATA_DSCP", "accelerator_config", "commodity_config", "edge_ports"]

DATA_DSCP = 26
"""of the INA data of a job, and of nothing else: AF31, which RoCE networks often give to their data. ACKs and NAKs have
0; CNPs commonly 48"""
_REACTION_NS = 50_000_000
"""from the moment a link goes down, or comes up, to other rules: a port's own detection and a message to a controller.
What is sent in between is lost on the link"""


def edge_ports(size: int, ports: int) -> tuple[int, ...]:
    """The accelerator's port of each ring edge, by rank: in turn, so that the ports differ by one edge at most."""
    return tuple(rank % ports for rank in range(size))


def commodity_config(scenario: Scenario, found: Attachment, base: SwitchConfig) -> SwitchConfig:
    """The configuration of a commodity switch with an accelerator. `base`: its configuration without accelerator.

    The ports of the accelerator leave the flooding tree.
    """
    topology = scenario.topology
    ports = tuple(link.a_port for link in found.links)
    where = dict(base.macs) | dict(base.groups)
    entries = tuple(HostEntry(host.name, host.mac, _ports(where[host.mac])) for host in topology.hosts)
    edges: tuple[SteeredEdge, ...] = ()
    if sums(scenario.switch.program):
        ranks = scenario.ranks
        through = edge_ports(len(ranks), len(ports))
        edges = tuple(
            SteeredEdge(f"{host.name}-{peer.name}", host.ip, peer.ip, _ports(where[host.mac]), ports[through[rank]])
            for rank, (host, peer) in enumerate(zip(ranks, (*ranks[1:], ranks[0]), strict=True))
        )
    return replace(
        base,
        program="steer",
        rings=(),
        flood_ports=tuple(port for port in range(base.ports) if port not in ports),
        steering=SteeringConfig(entries, edges, ports, DATA_DSCP),
        carrier=tuple(_carrier(scenario, found)),
    )


def accelerator_config(scenario: Scenario, found: Attachment, base: SwitchConfig, ring: RingConfig) -> SwitchConfig:
    """All it does towards the host of rank k leaves by the port of edge k. It floods and learns nothing: its one
    neighbour is the commodity switch, by several links."""
    hosts: Sequence[Node] = scenario.ranks
    links = [link.b_port for link in found.links]
    through = [links[port] for port in edge_ports(len(hosts), len(links))]
    members = tuple(RingMember(rank, host.ip, through[rank]) for rank, host in enumerate(hosts))
    aggregates = sums(scenario.switch.program)
    return replace(
        base,
        macs=tuple((host.mac, port) for host, port in zip(hosts, through, strict=True)),
        groups=(),
        rings=(replace(ring, members=members),) if aggregates else (),
        flood_ports=(),
        hairpin=True,
    )


def _ports(found: int | tuple[int, ...]) -> tuple[int, ...]:
    return (found,) if isinstance(found, int) else found


def _carrier(scenario: Scenario, found: Attachment) -> Iterable[CarrierChange]:
    """What the scenario's faults do to the carrier of the commodity switch's ports. A link that is down in one
    direction has no carrier at either end (remote fault, IEEE 802.3 clause 46). A dead node has no carrier on any of
    its links. A node that stands still keeps it."""
    ends = {(link.name, name): link for link in scenario.topology.links for name in (link.a, link.b)}
    dark: list[tuple[int, int | None, int]] = []
    for name, link in ((name, link) for (name, end), link in ends.items() if end == found.commodity):
        port = link.a_port if link.a == found.commodity else link.b_port
        far = link.b if link.a == found.commodity else link.a
        for fault in scenario.faults:
            if isinstance(fault, LinkDown) and name in fault.links and fault.rate == 1 and fault.match == Match():
                start, stop = fault.window.start_ns, fault.window.stop_ns
                for turn in range(fault.count):
                    later = turn * fault.period_ns
                    dark.append((start + later, None if stop is None else stop + later, port))
            elif isinstance(fault, Kill) and fault.node == far:
                dark.append((fault.window.start_ns, fault.window.stop_ns, port))
    return _changes(dark)


def _changes(dark: Iterable[tuple[int, int | None, int]]) -> list[CarrierChange]:
    """When the switch acts on them, by time, from times without carrier (start, stop, port) that may overlap."""
    steps = sorted(
        step
        for start, stop, port in dark
        for step in ((start, port, 1), *(() if stop is None else ((stop, port, -1),)))
    )
    depth: dict[int, int] = {}
    changes = []
    for at_ns, port, step in steps:
        before = depth.get(port, 0)
        depth[port] = before + step
        if (before == 0) != (depth[port] == 0):
            changes.append(CarrierChange(at_ns + _REACTION_NS, port, depth[port] == 0))
    return changes
