"""Which links each connection of a plan takes: the switches' tables, walked as a frame would walk them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from switch_nodes.flows import choose_port
from testbed.plan import Plan
from topologies import Direction, Link, Topology
from workloads.wire import Bth, Envelope, Opcode, Packet, encode_packet

__all__ = ["LinkUse", "data_flows", "flow_path", "overbooked"]

LinkUse = tuple[str, Direction]
"""(link, direction)"""


def flow_path(plan: Plan, source: str, envelope: Envelope) -> tuple[LinkUse, ...]:
    """From host `source` to the host that `envelope` names, in the order of the links. Ends early at a switch that has no
    entry for it, and before a switch that it has passed."""
    topology = plan.scenario.topology
    exits = _exits(topology)
    configs = {config.name: config for config in plan.switches}
    frame = encode_packet(Packet(envelope, Bth(Opcode.SEND_ONLY, 0, 0)))
    path: list[LinkUse] = []
    here, out, passed = source, 0, set[str]()
    while (link := exits.get((here, out))) is not None:
        direction = Direction.UP if link.a == here else Direction.DOWN
        path.append((link.name, direction))
        here = link.b if direction is Direction.UP else link.a
        config = configs.get(here)
        if config is None or here in passed:
            break
        passed.add(here)
        ports = dict(config.groups).get(envelope.dst_mac)
        port = dict(config.macs).get(envelope.dst_mac) if ports is None else choose_port(ports, frame, config.flow_salt)
        if port is None:
            break
        out = port
    return tuple(path)


def data_flows(plan: Plan) -> Mapping[LinkUse, int]:
    """How many connections send their data over each link, by direction; links without any are left out. Where a switch
    aggregates, what it sends to a host counts as the data of that host's connection."""
    return Counter(
        use for worker in plan.workers for envelope in worker.sends for use in flow_path(plan, worker.name, envelope)
    )


def overbooked(plan: Plan) -> frozenset[LinkUse]:
    """Links that may be sent more data than their rate: queues there may overflow, and only the scenario is to blame."""
    topology = plan.scenario.topology
    coming: Counter[LinkUse] = Counter()
    for worker in plan.workers:
        for envelope in worker.sends:
            path = flow_path(plan, worker.name, envelope)
            rate = topology.link(path[0][0]).shape.rate_bps if path else 0
            for use in path:
                coming[use] += rate
    return frozenset(use for use, rate in coming.items() if rate > topology.link(use[0]).shape.rate_bps)


def _exits(topology: Topology) -> dict[tuple[str, int], Link]:
    """By node and port."""
    found = {(link.a, link.a_port): link for link in topology.links}
    return found | {(link.b, link.b_port): link for link in topology.links}
