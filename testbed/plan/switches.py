"""From a scenario to the configuration of every switch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from switch_nodes.config import LeafLinks, RingConfig, RingMember, SpineLinks, SwitchConfig
from switch_nodes.forwarding.equal_cost import salt_of
from switch_nodes.kinds import sums
from testbed.plan.accelerated import accelerator_config, commodity_config
from testbed.plan.pairs import receive_va
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.known import protocol_of
from topologies import Node, attachment
from topologies.racks import racks_of
from topologies.routing import next_hops, spanning_ports
from workloads.config import IRN_HELD, ArithmeticSpec

__all__ = ["RING_ID", "leaf_sizes", "plan_switches"]

RING_ID = 1


def plan_switches(scenario: Scenario, arithmetic: ArithmeticSpec) -> tuple[SwitchConfig, ...]:
    topology = scenario.topology
    # Programs that serve jobs are told of those, not of a ring (`testbed/plan/jobs.py`).
    sums_rings = sums(scenario.switch.program) and protocol_of(scenario.job.protocol).repairs_losses()
    alone, beside = len(topology.switches) == 1, attachment(topology)
    fabric = _fabric_rings(scenario, arithmetic) if sums_rings and not alone and beside is None else {}
    sprays = topology.multipath == "spray"
    ways, trees = next_hops(topology), spanning_ports(topology)
    configs = []
    for switch in topology.switches:
        towards = {host: ways[switch.name, host.name] for host in topology.hosts if (switch.name, host.name) in ways}
        rings = (_ring(scenario, arithmetic, towards),) if alone and sums_rings else fabric.get(switch.name, ())
        config = SwitchConfig(
            name=switch.name,
            program=scenario.switch.program,
            ports=len(list(topology.ports(switch.name))),
            macs=tuple((host.mac, ports[0]) for host, ports in towards.items() if len(ports) == 1),
            groups=tuple((host.mac, ports) for host, ports in towards.items() if len(ports) > 1),
            flow_salt=salt_of(switch.name, scenario.seed if sprays else 0),
            spray=sprays,
            flood_ports=None if alone else trees[switch.name],
            rings=rings,
            release=scenario.switch.release,
            gate=scenario.switch.gate,
            trace=scenario.trace,
        )
        if beside and switch.name == beside.commodity:
            config = commodity_config(scenario, beside, config)
        elif beside and switch.name == beside.accelerator:
            config = accelerator_config(scenario, beside, config, _ring(scenario, arithmetic, towards))
        configs.append(config)
    return tuple(configs)


def leaf_sizes(switches: Iterable[SwitchConfig]) -> tuple[int, ...]:
    """Workers at each leaf of the ring of all ranks; empty: one switch sums."""
    rings = (switch.rings[0] for switch in switches if switch.rings)
    return tuple(len(ring.members) for ring in rings if isinstance(ring.links, LeafLinks))


def _fabric_rings(scenario: Scenario, arithmetic: ArithmeticSpec) -> Mapping[str, tuple[RingConfig, ...]]:
    """Of every leaf and spine, by name."""
    fabric = racks_of(scenario.topology, scenario.ranks)
    ranks = {host.name: rank for rank, host in enumerate(scenario.ranks)}
    members = [
        tuple(
            RingMember(ranks[host.name], host.ip, port) for host, port in zip(rack.hosts, rack.host_ports, strict=True)
        )
        for rack in fabric.racks
    ]
    firsts = [rack[0].ip for rack in members]
    behind = firsts[1:] + firsts[:1]
    whole = replace(_ring(scenario, arithmetic, {}), members=())
    rings: dict[str, tuple[RingConfig, ...]] = {}
    for index, rack in enumerate(fabric.racks):
        links = LeafLinks(len(ranks), rack.uplinks, replace(members[index - 1][-1], port=-1), behind[index])
        rings[rack.leaf.name] = (replace(whole, members=members[index], links=links),)
    for number, spine in enumerate(fabric.spines):
        boundaries = tuple(
            replace(own[-1], port=rack.spine_ports[number]) for own, rack in zip(members, fabric.racks, strict=True)
        )
        spine_links = SpineLinks(len(ranks), tuple(behind), number, len(fabric.spines))
        rings[spine.name] = (replace(whole, members=boundaries, links=spine_links),)
    return rings


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
        receive_vas=tuple(receive_va(rank) for rank in range(len(scenario.ranks)))
        if scenario.transport.speaks_irn
        else (),
        tells_held=scenario.transport.recovery == IRN_HELD,
    )
