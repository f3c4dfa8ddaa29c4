"""From a plan of gradient routes to the entries of every switch's table."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from switch_nodes.routes.layout import PlannedRoute
from topologies import Node, Topology
from topologies.routing import next_hops
from topologies.routing.gradients import Merge, RoutingPlan, Stream
from workloads.errors import ScenarioError

__all__ = ["GROUP_IP", "GROUP_MAC", "aggregator_ip", "aggregator_mac", "routes_of"]

GROUP_IP = bytes((239, 77, 0, 1))
"""results for all workers (RFC 2365: administratively scoped)"""
GROUP_MAC = bytes.fromhex("01005e4d0001")
"""of that group (RFC 1112)"""
_Key = tuple[bytes | None, bytes]
_Table = dict[_Key, PlannedRoute]


def aggregator_ip(node: int) -> bytes:
    """Of switch `node`, counted from 1: behind all addresses that hosts get."""
    return bytes((10, 77, 254, node))


def aggregator_mac(node: int) -> bytes:
    return bytes.fromhex("02494e41fe00")[:5] + bytes((node,))


def routes_of(plan: RoutingPlan, nodes: Mapping[str, int]) -> Mapping[str, tuple[PlannedRoute, ...]]:
    """By switch. `nodes`: ids by switch. Raises ScenarioError for a plan that needs several ways between two
    addresses."""
    topology = plan.problem.topology
    (server,) = (topology.node(name) for name in plan.problem.servers)
    tables: dict[str, _Table] = {switch.name: {} for switch in topology.switches}
    parts: tuple[Stream | Merge, ...] = (*plan.streams, *plan.merges)
    for part in parts:
        if len(part.routes) != 1:
            sender = part.worker if isinstance(part, Stream) else part.switch
            raise ScenarioError(
                f"planner {plan.planner} splits what {sender} sends over {len(part.routes)} ways, which no table of "
                "addresses can",
                key="routing.planner", allowed="geryon, shortest, switchml, atp, atp-unmerged, atp-whole, grid, "
                                               "grid-exact, grid-rounded, grid-eq1, goat, inart",
            )  # fmt: skip
    for stream in sorted(plan.streams, key=lambda stream: stream.node != stream.server):
        target = server.ip if stream.node == stream.server else aggregator_ip(nodes[stream.node])
        source = topology.node(stream.worker)
        _lay(
            tables,
            topology,
            stream.routes[0].nodes,
            stream.routes[0].links,
            source.ip,
            target,
            f"{stream.worker}-{stream.node}",
        )
    for merge in plan.merges:
        _lay_merge(tables, topology, plan, merge, nodes, server)
    _lay_results(tables, topology, server, [topology.node(name) for name in plan.problem.workers])
    # What no plan foresees goes by shortest ways: RATE packets and single results to a worker, and to the server the
    # sums that workers give it when it started anew. At a switch with an entry of a worker's own that way goes on.
    ways = next_hops(topology)
    for end in (*map(topology.node, plan.problem.workers), server):
        for name, table in tables.items():
            if ports := ways.get((name, end.name)):
                _put(table, PlannedRoute(f"to-{end.name}", end.ip, ports[:1]))
    return {name: tuple(table.values()) for name, table in tables.items()}


def _lay_merge(
    tables: Mapping[str, _Table],
    topology: Topology,
    plan: RoutingPlan,
    merge: Merge,
    nodes: Mapping[str, int],
    server: Node,
) -> None:
    """Sums, and what goes around the sum of a switch: the same way, unless its worker has one of its own from there."""
    (route,) = merge.routes
    own = aggregator_ip(nodes[merge.switch])
    _lay(tables, topology, route.nodes, route.links, own, server.ip, f"{merge.switch}-{server.name}", first=0)
    for worker in plan.fan_in[merge.switch, merge.server]:
        source = topology.node(worker).ip
        _lay(tables, topology, route.nodes, route.links, source, server.ip, f"{worker}-{server.name}", first=0)


def _lay(
    tables: Mapping[str, _Table],
    topology: Topology,
    way: Sequence[str],
    links: Sequence[str],
    source: bytes,
    target: bytes,
    name: str,
    first: int = 1,
) -> None:
    """Entries along a way, from its node `first` to the last but one. What is there already leads there, too."""
    for place in range(first, len(way) - 1):
        link = topology.link(links[place])
        port = link.a_port if link.a == way[place] else link.b_port
        _put(tables[way[place]], PlannedRoute(name, target, (port,), source))


def _lay_results(tables: Mapping[str, _Table], topology: Topology, server: Node, workers: Iterable[Node]) -> None:
    """A tree of shortest ways from the server to all workers: a copy over each link that leads to some."""
    before, waiting = {server.name: ("", -1)}, deque([server.name])
    leaving: dict[str, set[int]] = {}
    switches = set(tables)
    while waiting:
        here = waiting.popleft()
        for port, link, _ in sorted(topology.ports(here), key=lambda entry: entry[0]):
            far = link.b if link.a == here else link.a
            if far not in before and (here in switches or here == server.name):
                before[far] = here, port
                waiting.append(far)
    for worker in workers:
        here = worker.name
        while before[here][0] and before[here][0] != server.name:
            here, port = before[here]
            leaving.setdefault(here, set()).add(port)
    for switch, ports in leaving.items():
        _put(tables[switch], PlannedRoute("results", GROUP_IP, tuple(sorted(ports))))


def _put(table: _Table, route: PlannedRoute) -> None:
    table.setdefault((route.src_ip, route.dst_ip), route)
