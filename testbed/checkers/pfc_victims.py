"""Victims of head-of-line blocking: flows that a pause held up although what was congested is not on their path."""

from __future__ import annotations

from collections import defaultdict

from testbed.checkers.context import CheckContext
from testbed.history.pfc_events import FlowsPaused, LinkPaused
from testbed.plan.paths import data_paths, tenant_paths
from topologies import Direction, Topology, format_ip

__all__ = ["victims_of"]


def victims_of(context: CheckContext) -> list[tuple[str, str, str, int]]:
    """(flow, `LINK DIRECTION` where it waited, what was congested, ns that its frames waited there in sum). Of each
    link, what was congested for the longest time counts."""
    roots: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for pause in (record.event for record in context.events(LinkPaused)):
        roots[f"{pause.link} {pause.direction}"][pause.root] += pause.until_ns - pause.since_ns
    paths, found = _paths(context), []
    for event in (record.event for record in context.events(FlowsPaused)):
        place = f"{event.link} {event.direction}"
        if not roots[place]:
            continue
        root = max(roots[place], key=lambda each: (roots[place][each], each))
        for flow, waited in event.waited_ns.items():
            if flow in paths and not _is_on(root, paths[flow], flow, context.plan.scenario.topology):
                found.append((flow, place, root, waited))
    return sorted(found, key=lambda each: (-each[3], each))


def _is_on(root: str, path: set[str], flow: str, topology: Topology) -> bool:
    """Whether a flow goes to what is congested: a link of its path, its receiver, or a switch whose slots it fills."""
    if root in path:
        return True
    name = root.rpartition(" ")[2]
    if root.startswith(("storm of ", "receiver ")):
        return flow.partition(">")[2] == format_ip(topology.node(name).ip)
    ends = {end for use in path for link in [topology.link(use.partition(" ")[0])] for end in (link.a, link.b)}
    return name in ends and not root.endswith((" up", " down"))


def _paths(context: CheckContext) -> dict[str, set[str]]:
    """`LINK DIRECTION` of all paths that a flow may take, by `srcip>dstip`."""
    topology, found = context.plan.scenario.topology, defaultdict[str, set[str]](set)
    ways = [path for part in context.plan.parts for _, path in data_paths(part)]
    ways += [path for _, several in tenant_paths(context.plan) for path in several]
    for path in ways:
        if not path:
            continue
        first, last = topology.link(path[0][0]), topology.link(path[-1][0])
        source = first.a if path[0][1] is Direction.UP else first.b
        target = last.b if path[-1][1] is Direction.UP else last.a
        flow = f"{format_ip(topology.node(source).ip)}>{format_ip(topology.node(target).ip)}"
        found[flow] |= {f"{link} {direction}" for link, direction in path}
    return dict(found)
