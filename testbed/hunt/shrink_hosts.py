"""The same schedule on fewer hosts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from testbed.faults.model import Fault, NodeFault, PacketFault, RateChange
from testbed.hunt.draw_fabric import smaller_fabrics
from testbed.scenario.model import Scenario
from topologies import Topology, rack

__all__ = ["fewer_hosts", "on_rack", "on_rack_behind", "over"]


def fewer_hosts(scenario: Scenario) -> Iterator[Scenario]:
    """Of one job over all hosts."""
    topology, hosts = scenario.topology, len(scenario.topology.hosts)
    if topology.kind == "spine_leaf":
        yield from (over(scenario, fewer) for fewer in smaller_fabrics(topology, scenario.link))
    if topology.kind != "rack":
        return
    for fewer in sorted({2, hosts // 2, hosts - 1}):
        if 2 <= fewer < hosts:
            yield on_rack(scenario, fewer)


def on_rack(scenario: Scenario, hosts: int) -> Scenario:
    """On the first hosts of its rack."""
    shapes = {link.name: link.shape for link in scenario.topology.links[:hosts]}
    return over(scenario, rack(hosts, scenario.link, shapes))


def on_rack_behind(scenario: Scenario, gone: int) -> Scenario:
    """Without the first `gone` hosts of its rack: the others, and what is about them, move to their places."""
    topology = scenario.topology
    names = [host.name for host in topology.hosts]
    moved = dict(zip(names[gone:], names, strict=False))
    links = {link.name: link for link in topology.links}
    places = {name: f"{moved[link.a]}-{link.b}" for name, link in links.items() if link.a in moved}
    shapes = {places[name]: links[name].shape for name in places}
    faults: list[Fault] = []
    for fault in scenario.faults:
        if isinstance(fault, PacketFault | RateChange):
            left = tuple(places[link] for link in fault.links if link in places)
            if left:
                faults.append(replace(fault, links=left))
        elif not isinstance(fault, NodeFault) or fault.node not in names:
            faults.append(fault)
        elif fault.node in moved:
            faults.append(replace(fault, node=moved[fault.node]))
    job, late = scenario.job, scenario.job.straggle_rank
    if late is not None:
        job = (
            replace(job, straggle_rank=late - gone) if late >= gone else replace(job, straggle_rank=None, straggle_ns=0)
        )
    fewer = rack(len(names) - gone, scenario.link, shapes)
    return replace(scenario, topology=fewer, faults=tuple(faults), job=job)


def over(scenario: Scenario, topology: Topology) -> Scenario:
    """Faults, and a straggler, as far as what they are about is left."""
    hosts = len(topology.hosts)
    links, nodes = {link.name for link in topology.links}, {node.name for node in topology.nodes}
    faults: list[Fault] = []
    for fault in scenario.faults:
        if isinstance(fault, PacketFault | RateChange):
            left = tuple(link for link in fault.links if link in links)
            if left:
                faults.append(replace(fault, links=left))
        elif not isinstance(fault, NodeFault) or fault.node in nodes:
            faults.append(fault)
    job = scenario.job
    if job.straggle_rank is not None and job.straggle_rank >= hosts:
        job = replace(job, straggle_rank=None, straggle_ns=0)
    return replace(scenario, topology=topology, faults=tuple(faults), job=job)
