"""The same schedule on fewer hosts, or on fewer switches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from testbed.faults.model import Fault, NodeFault, PacketFault, RateChange
from testbed.hunt.draw_fabric import smaller_fabrics
from testbed.scenario.model import Job, Scenario
from topologies import Topology, rack, spine_leaf

__all__ = ["fewer_hosts", "in_one_rack", "moved_together", "on_hosts", "renamed"]

_LEAST_RANKS = 2


def fewer_hosts(scenario: Scenario) -> Iterator[Scenario]:
    """Of one job. Its hosts, flows of other tenants and slow receivers that are not there any more are left out."""
    topology, hosts = scenario.topology, len(scenario.topology.hosts)
    if topology.kind == "spine_leaf":
        yield from _all_over(scenario, smaller_fabrics(topology, scenario.link))
    if topology.kind != "rack":
        return
    counts = [fewer for fewer in sorted({2, hosts // 2, hosts - 1}) if 2 <= fewer < hosts]
    yield from _all_over(scenario, (_of_rack(scenario, fewer) for fewer in counts))


def _of_rack(scenario: Scenario, hosts: int) -> Topology:
    """The first hosts of a rack."""
    return rack(hosts, scenario.link, {link.name: link.shape for link in scenario.topology.links[:hosts]})


def _all_over(scenario: Scenario, topologies: Iterable[Topology]) -> Iterator[Scenario]:
    """Over each of these networks where two ranks are left, or more."""
    for topology in topologies:
        fewer = _over(scenario, topology)
        if fewer is not None:
            yield fewer


def _over(scenario: Scenario, topology: Topology) -> Scenario | None:
    """What is not there any more has no faults, does not straggle, and neither sends nor receives. None: fewer than two
    hosts of the job are left."""
    names = [node.name for node in topology.nodes]
    job = scenario.job
    job = replace(job, hosts=tuple(name for name in job.hosts if name in names))
    ranks = len(job.hosts) if scenario.job.hosts else len(topology.hosts)
    if ranks < _LEAST_RANKS:
        return None
    if job.straggle_rank is not None and job.straggle_rank >= ranks:
        job = replace(job, straggler=None)
    same = {link.name: link.name for link in topology.links}
    faults = _faults(scenario.faults, same, dict(zip(names, names, strict=True)))
    flows = tuple(flow for flow in scenario.background if flow.source in names and flow.target in names)
    pfc = scenario.pfc
    if pfc is not None:
        pfc = replace(pfc, receivers=tuple(pair for pair in pfc.receivers if pair[0] in names))
    return replace(scenario, topology=topology, faults=faults, job=job, background=flows, pfc=pfc)


def _faults(faults: Collection[Fault], links: Mapping[str, str], nodes: Mapping[str, str]) -> tuple[Fault, ...]:
    """As far as what they are about is left, under its new name."""
    left: list[Fault] = []
    for fault in faults:
        if isinstance(fault, PacketFault | RateChange):
            there = tuple(dict.fromkeys(links[link] for link in fault.links if link in links))
            if there:
                left.append(replace(fault, links=there))
        elif not isinstance(fault, NodeFault):
            left.append(fault)
        elif fault.node in nodes:
            left.append(replace(fault, node=nodes[fault.node]))
    return tuple(left)


def moved_together(scenario: Scenario) -> Scenario:
    """Without the hosts that no job needs: the others move to their places, and what is about them with them."""
    needed = {name for job in scenario.jobs for name in (*job.hosts, job.server)}
    names = [host.name for host in scenario.topology.hosts if host.name in needed]
    names += [host.name for host in scenario.topology.hosts if host.name not in needed][: max(0, 2 - len(names))]
    return on_hosts(scenario, names)


def on_hosts(scenario: Scenario, kept: Collection[str]) -> Scenario:
    """A schedule of several jobs, in a rack or in two levels, on some of its hosts, which jobs need all of."""
    topology = scenario.topology
    hosts = [host.name for host in topology.hosts if host.name in kept]
    moved = {name: f"h{number}" for number, name in enumerate(hosts, 1)}
    if topology.kind == "rack":
        links = {f"{name}-s1": f"{moved[name]}-s1" for name in hosts}
        shapes = {new: topology.link(old).shape for old, new in links.items()}
        fewer = rack(len(hosts), scenario.link, shapes)
        return renamed(scenario, fewer, moved, links, {"s1": "s1"})
    if len({link.b for link in topology.links if link.a in moved}) < 2:
        return on_hosts(in_one_rack(scenario), kept)
    homes = {link.a: link.b for link in topology.links if link.a in moved}
    counts = [sum(homes[name] == f"leaf{leaf}" for name in hosts) for leaf in range(1, _leaves(topology) + 1)]
    leaves = {f"leaf{old}": f"leaf{new}" for new, old in enumerate((at for at, n in enumerate(counts, 1) if n), 1)}
    spines = [node.name for node in topology.nodes if node.part == "spine"]
    links = {f"{name}-{homes[name]}": f"{moved[name]}-{leaves[homes[name]]}" for name in hosts}
    links |= {f"{old}-{spine}": f"{new}-{spine}" for old, new in leaves.items() for spine in spines}
    shapes = {new: topology.link(old).shape for old, new in links.items()}
    fewer = spine_leaf([count for count in counts if count], len(spines), scenario.link, None, shapes)
    return renamed(scenario, fewer, moved, links, {**leaves, **{spine: spine for spine in spines}})


def in_one_rack(scenario: Scenario) -> Scenario:
    """Two levels become one; faults between switches go, those of a leaf are the switch's."""
    hosts = [host.name for host in scenario.topology.hosts]
    links = {link.name: f"{link.a}-s1" for link in scenario.topology.links if link.a in hosts}
    switches = {node.name: "s1" for node in scenario.topology.nodes if node.part in ("leaf", "edge")}
    return renamed(scenario, rack(len(hosts), scenario.link), {name: name for name in hosts}, links, switches)


def _leaves(topology: Topology) -> int:
    return sum(node.part == "leaf" for node in topology.nodes)


def renamed(
    scenario: Scenario,
    topology: Topology,
    hosts: Mapping[str, str],
    links: Mapping[str, str],
    switches: Mapping[str, str],
) -> Scenario:
    """Over `topology`, with all nodes and links under their new names there; what has none is left out."""

    def moved(job: Job) -> Job:
        return replace(job, hosts=tuple(hosts[name] for name in job.hosts), server=hosts.get(job.server, ""))

    last = topology.hosts[-1].name if scenario.job.server else ""
    return replace(
        scenario,
        topology=topology,
        faults=_faults(scenario.faults, links, {**hosts, **switches}),
        job=replace(scenario.job, server=last),
        jobs=tuple(moved(job) for job in scenario.jobs),
    )
