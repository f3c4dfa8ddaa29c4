"""A spanning tree of the switches: where frames for all, or for an unknown destination, may go without circling."""

from __future__ import annotations

from collections import deque

from topologies.graph import Role, Topology

__all__ = ["spanning_ports"]


def spanning_ports(topology: Topology) -> dict[str, tuple[int, ...]]:
    """By switch, its ports on the tree, ascending; ports to hosts always are. Breadth-first from the switch that stands
    last among the nodes (a spine or core where there is one). Each part of a graph that is not connected has its own
    tree."""
    switches = [node.name for node in topology.nodes if node.role is Role.SWITCH]
    ports: dict[str, set[int]] = {name: set() for name in switches}
    beside: dict[str, list[tuple[int, str, int]]] = {name: [] for name in switches}
    for link in topology.links:
        for here, port, far, far_port in ((link.a, link.a_port, link.b, link.b_port),
                                          (link.b, link.b_port, link.a, link.a_port)):  # fmt: skip
            if here in ports and far in ports:
                beside[here].append((port, far, far_port))
            elif here in ports:
                ports[here].add(port)
    reached: set[str] = set()
    for root in reversed(switches):
        if root in reached:
            continue
        reached.add(root)
        waiting = deque([root])
        while waiting:
            here = waiting.popleft()
            for port, far, far_port in beside[here]:
                if far not in reached:
                    reached.add(far)
                    ports[here].add(port)
                    ports[far].add(far_port)
                    waiting.append(far)
    return {name: tuple(sorted(found)) for name, found in ports.items()}
