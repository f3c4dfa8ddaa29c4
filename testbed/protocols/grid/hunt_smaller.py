"""What is simpler than a schedule of GRID, faults left alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from testbed.hunt.contract import Hunted
from testbed.hunt.plans import plan_of
from testbed.hunt.shrink_hosts import renamed
from testbed.hunt.shrink_jobs import with_less_to_send
from testbed.scenario.keys.job import Straggler
from testbed.scenario.model import Job, Routing, Scenario
from topologies import rack, spine_leaf
from topologies.assembly import Cable, assemble, host, switch
from workloads.errors import ScenarioError

__all__ = ["smaller_grid"]

_SEEDS = (1, 2, 3)
_PLAIN_PLANNER = "switchml"
"""knows the least: the nearest switch sums all"""
_LEAST_WORKERS = 1


def smaller_grid(scenario: Scenario, protocol: Hunted) -> Iterator[Scenario]:
    """Fewer workers, switches, iterations and blocks; smaller windows and less memory; a plainer plan. Each with some
    other seeds as well: faults know datagrams by their bytes, so that a smaller job meets other dice."""
    for smaller in _smaller(scenario):
        for seed in (scenario.seed, *(seed for seed in _SEEDS if seed != scenario.seed)):
            candidate = replace(smaller, seed=seed)
            if _has_plan(candidate):
                yield candidate


def _has_plan(scenario: Scenario) -> bool:
    try:
        plan_of(scenario)
    except ScenarioError:
        return False
    return True


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    yield from _fewer_workers(scenario)
    if len(scenario.topology.switches) > 1 and scenario.topology.kind in ("spine_leaf", "custom"):
        yield _in_one_rack(scenario)
    for job in _smaller_job(scenario.job, scenario.transport.path_mtu):
        yield replace(scenario, job=job)
    if scenario.transport.path_mtu != 256:
        yield _narrower(scenario)
    yield from _plainer_switch(scenario)
    assert scenario.routing is not None, "GRID follows a plan"
    for routing in _plainer_routing(scenario.routing, scenario):
        yield replace(scenario, routing=routing)


def _fewer_workers(scenario: Scenario) -> Iterator[Scenario]:
    """One host less; what is about it goes with it."""
    job, names = scenario.job, [node.name for node in scenario.ranks]
    for rank, gone in enumerate(names) if len(names) > _LEAST_WORKERS else ():
        left = tuple(name for name in names if name != gone)
        fewer = replace(job, hosts=left, straggler=_without_rank(job.straggler, rank))
        smaller = _without_host(replace(scenario, job=fewer), gone)
        if smaller is not None:
            yield smaller


def _without_rank(late: Straggler | None, gone: int) -> Straggler | None:
    """The straggler when rank `gone` is not there any more."""
    if late is None or late.rank == gone:
        return None
    return replace(late, rank=late.rank - (late.rank > gone))


def _without_host(scenario: Scenario, gone: str) -> Scenario | None:
    """None: nothing is known of how such a topology grows smaller."""
    topology = scenario.topology
    hosts = [node.name for node in topology.hosts if node.name != gone]
    if len(hosts) < 2:
        return None
    moved = {name: f"h{number}" for number, name in enumerate(hosts, 1)}
    switches = {node.name: node.name for node in topology.switches}
    homes = {link.a: link.b for link in topology.links if link.a in moved}
    shapes = {f"{moved[a]}-{b}": topology.link(f"{a}-{b}").shape for a, b in homes.items()}
    links = {f"{a}-{b}": f"{moved[a]}-{b}" for a, b in homes.items()}
    if topology.kind == "rack":
        fewer = rack(len(hosts), scenario.link, shapes)
    elif topology.kind == "spine_leaf":
        leaves = [node.name for node in topology.nodes if node.part == "leaf"]
        counts = [sum(homes[name] == leaf for name in hosts) for leaf in leaves]
        if not all(counts):
            return None
        spines = sum(node.part == "spine" for node in topology.nodes)
        trunks = {link.name: link.shape for link in topology.links if link.a in leaves}
        links |= {name: name for name in trunks}
        fewer = spine_leaf(counts, spines, scenario.link, None, {**shapes, **trunks})
    elif topology.kind == "custom":
        cables = [Cable(moved[name], homes[name], shapes[f"{moved[name]}-{homes[name]}"]) for name in hosts]
        trunk = [link for link in topology.links if link.a in switches]
        links |= {link.name: link.name for link in trunk}
        cables += [Cable(link.a, link.b, link.shape) for link in trunk]
        fewer = assemble("custom", [*map(host, range(1, len(hosts) + 1)), *map(switch, switches)], cables)
    else:
        return None
    return _of(scenario, renamed(scenario, fewer, moved, links, switches), moved)


def _in_one_rack(scenario: Scenario) -> Scenario:
    """Several switches become one; faults between switches go, those of a switch are the one's."""
    topology = scenario.topology
    hosts = [node.name for node in topology.hosts]
    links = {link.name: f"{link.a}-s1" for link in topology.links if link.a in hosts}
    switches, same = {node.name: "s1" for node in topology.switches}, {name: name for name in hosts}
    smaller = renamed(scenario, rack(len(hosts), scenario.link), same, links, switches)
    assert smaller.routing is not None, "GRID follows a plan"
    alone = replace(smaller, routing=replace(smaller.routing, capacities=()))
    plain = replace(alone, switch=replace(alone.switch, commodity="soft"))
    return _of(scenario, plain, same)


def _of(before: Scenario, smaller: Scenario, names: Mapping[str, str]) -> Scenario:
    """`smaller`, with the job of the hosts that are left under these names."""
    assert smaller.routing is not None, "GRID follows a plan"
    server, hosts = names[before.job.server], tuple(names[node.name] for node in before.ranks)
    routing = replace(smaller.routing, servers=(server,))
    return replace(smaller, job=replace(before.job, hosts=hosts, server=server), routing=routing)


def _smaller_job(job: Job, room: int) -> Iterator[Job]:
    if job.straggle_rank is not None:
        yield replace(job, straggler=None)
    if job.workload != "synthetic":
        yield replace(job, workload="synthetic")
    if job.dtype != "int32":
        yield replace(job, dtype="int32")
    yield from with_less_to_send(job, room)


def _narrower(scenario: Scenario) -> Scenario:
    """Blocks of 256 bytes, as many as before."""
    room, job = scenario.transport.path_mtu, scenario.job
    before = (-(-job.size_bytes // room) - 1) * room
    job = replace(job, size_bytes=before // room * 256 + min(job.size_bytes - before, 256))
    return replace(scenario, job=job, transport=replace(scenario.transport, path_mtu=256))


def _plainer_switch(scenario: Scenario) -> Iterator[Scenario]:
    switch = scenario.switch
    if switch.commodity != "soft":
        yield replace(scenario, switch=replace(switch, commodity="soft"))
    for memory in sorted({1, switch.memory // 2, switch.memory - 1}):
        if 1 <= memory < switch.memory:
            yield replace(scenario, switch=replace(switch, memory=memory))


def _plainer_routing(routing: Routing, scenario: Scenario) -> Iterator[Routing]:
    plain = Routing(routing.servers)
    plainer = replace(routing, planner=_PLAIN_PLANNER)
    if routing != plainer:
        yield plainer
    if routing.mode != plain.mode:
        yield replace(routing, mode=plain.mode, pace=plain.pace)
    elif routing.pace != plain.pace:
        yield replace(routing, pace=plain.pace)
    for name, _ in routing.capacities if scenario.switch.commodity == "soft" else ():
        yield replace(routing, capacities=tuple(item for item in routing.capacities if item[0] != name))
    ample = 100 * max(link.shape.rate_bps for link in scenario.topology.links)
    if routing.capacity_bps < ample:
        yield replace(routing, capacity_bps=ample)
    if routing.bucket_ns < plain.bucket_ns:
        yield replace(routing, bucket_ns=plain.bucket_ns)
    if routing.on_collision != plain.on_collision:
        yield replace(routing, on_collision=plain.on_collision)
