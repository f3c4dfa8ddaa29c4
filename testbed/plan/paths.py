"""Which links each connection of a plan takes: the switches' tables, walked as a frame would walk them."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from switch_nodes.config import LeafLinks, SwitchConfig
from switch_nodes.forwarding.equal_cost import choose_port
from switch_nodes.steering.rules import FLOOD
from switch_nodes.steering.steer import steering_rules
from switch_nodes.steering.table import FlowTable, fields_of
from testbed.plan.background import PlannedFlow
from testbed.plan.lookups import lookup_of, sources_of
from testbed.plan.model import Plan
from topologies import Direction, Link, Topology
from workloads.collectives.kinds import ring_kind, sent_share
from workloads.config import HostConfig, WorkerConfig
from workloads.rc.transport import RELIABLE, frame_of_flow
from workloads.wire import Envelope
from workloads.wire.places import DPORT

__all__ = [
    "ELEMENT_BYTES",
    "LinkUse",
    "booked_shares",
    "data_flows",
    "data_paths",
    "data_volumes",
    "flow_paths",
    "most_connections",
    "most_under_way",
    "overbooked",
    "tenant_paths",
]

ELEMENT_BYTES = 4
"""of every dtype that there is"""
_ROCE = RELIABLE.udp_port
LinkUse = tuple[str, Direction]
"""(link, direction)"""
_newest: deque[tuple[Topology, dict[tuple[str, int], Link]]] = deque(maxlen=2)
"""topologies and their exits"""


def flow_paths(
    plan: Plan, source: str, envelope: Envelope, dport: int = _ROCE, root: int = 0
) -> Iterator[tuple[LinkUse, ...]]:
    """The paths from host `source` to the host that `envelope` names, as links in order.

    A path goes through the accelerator where rules steer its flow there. There are several paths where switches spray,
    all taken equally often. A path ends early at a switch that has no entry for the flow, and where it would go in
    circles.

    `dport`: destination port of its UDP packets. The source port of TCP is not known, so that any of several equal
    paths may be the right one. `root`: the spine that a leaf takes for what it sums, or the number of the tree of what
    is sent to a parameter server. What a worker sends to switches that sum in two tiers goes on to their root.
    """
    topology = plan.scenario.topology
    exits = _exits(topology)
    configs = {config.name: config for config in plan.switches}

    @cache
    def frame() -> bytes:
        """For switches that look at more than the address of the host."""
        found = frame_of_flow(envelope)
        return found[: DPORT.start] + dport.to_bytes(2, "big") + found[DPORT.stop :]

    def onwards(
        here: str, out: int, path: tuple[LinkUse, ...], passed: frozenset[tuple[str, int]]
    ) -> Iterator[tuple[LinkUse, ...]]:
        link = exits.get((here, out))
        if link is None:
            yield path
            return
        direction = Direction.UP if link.a == here else Direction.DOWN
        path = (*path, (link.name, direction))
        here = link.b if direction is Direction.UP else link.a
        came = link.b_port if direction is Direction.UP else link.a_port
        config = configs.get(here)
        # A switch that steers is passed twice: it leads data to its accelerator by one port and gets it back by
        # another.
        visit = here, came if config is not None and config.steering is not None else -1
        if config is None or visit in passed:
            yield path
            return
        planned = _planned_exits(config, envelope)
        ports = planned[root : root + 1] if planned else _exits_of(config, came, frame, envelope.dst_mac)
        if not ports:
            yield path
        for port in ports:
            yield from onwards(here, port, path, passed | {visit})

    return onwards(source, 0, (), frozenset())


def _planned_exits(config: SwitchConfig, envelope: Envelope) -> Sequence[int]:
    """Ports by which a switch that sums sends this on, by spine or by tree; empty: it goes as anything does."""
    links = _boundary(config, envelope)
    if links is not None:
        return links.uplinks
    for job, members in zip(config.jobs, lookup_of(config).members, strict=True):
        to_server = job.server is not None and job.server.mac == envelope.dst_mac
        if to_server and job.adds and envelope.src_mac in members:
            return [-1 if tree is None else tree.up for tree in job.trees]
        if job.leaves and job.levels is not None and job.levels.own is not None:
            own = job.levels.racks[job.levels.own]
            if any(job.members[rank].mac == envelope.src_mac for rank in own):
                return (job.leaves[job.levels.own].port,)
    return ()


def _boundary(config: SwitchConfig, envelope: Envelope) -> LeafLinks | None:
    """When this is what a leaf sends up in place of its rack's packets."""
    for ring in config.rings:
        if isinstance(ring.links, LeafLinks) and ring.members[-1].ip == envelope.src_ip:
            return ring.links if ring.links.successor_ip == envelope.dst_ip else None
    return None


def _exits_of(config: SwitchConfig, came: int, frame: Callable[[], bytes], mac: bytes) -> Sequence[int]:
    """The ports, several where it sprays, by which a switch sends a frame for host `mac` that came in by `came`. Empty:
    not known."""
    if config.steering is not None:
        rule = FlowTable(steering_rules(config.steering)).find(fields_of(came, frame()))
        if rule is None or FLOOD in rule.outputs or not rule.outputs:
            return ()
        return (choose_port(rule.outputs, frame(), config.flow_salt),)
    known = lookup_of(config)
    ports = known.groups.get(mac)
    if ports is None:
        return known.ports.get(mac, ())
    return ports if config.spray else (choose_port(ports, frame(), config.flow_salt),)


def data_flows(plan: Plan) -> Mapping[LinkUse, float]:
    """How many connections send their data over each link, by direction; links without any are left out. Where a switch
    aggregates, what it sends to a host counts as the data of that host's connection, and what it sends towards a
    parameter server counts once. Messages that are summed by several spines, each by one, count as that share at each.
    """
    return _add_up(plan, lambda worker: 1.0)


def data_volumes(plan: Plan) -> Mapping[LinkUse, float]:
    """Bytes of frames with data that each link must carry in the whole run, by direction, when nothing is sent twice:
    counted as `data_flows` counts connections.
    """
    return _add_up(plan, _volume)


def _add_up(plan: Plan, weigh: Callable[[HostConfig], float]) -> Mapping[LinkUse, float]:
    found: defaultdict[LinkUse, float] = defaultdict(float)
    for part in plan.parts:
        ways = defaultdict[int, set[tuple[int, LinkUse]]](set)
        """what is in sums, by number among several equal ways"""
        for _, _, worker, envelope in _senders(part):
            paths = [
                _unsummed(part, worker.name, path, ways[number])
                for number, path in enumerate(_paths(part, worker.name, envelope))
            ]
            for use, times in Counter(use for path in paths for use in path).items():
                found[use] += weigh(worker) * times / len(paths)
    return found


def _volume(worker: HostConfig) -> float:
    """Bytes of frames that one connection of a worker (or of one of its phases) sends."""
    group, workload, framing = worker.collective, worker.workload, worker.framing
    times = sent_share(group.kind, group.size, group.rank)
    size = workload.elements * ELEMENT_BYTES * workload.iterations * times / len(worker.sends)
    return size * framing.frame_bytes / framing.payload_bytes


def _unsummed(
    plan: Plan, source: str, path: tuple[LinkUse, ...], summed: set[tuple[int, LinkUse]]
) -> tuple[LinkUse, ...]:
    """The path without links that carry this worker's data in the sum of others, which are in `summed` already: those
    behind the first switch that sums for its parameter server."""
    known = sources_of(plan)
    job = known.job_of.get(source)
    sums = set() if job is None else known.sums.get(job, set())
    kept, inside = [], False
    for use in path:
        link = plan.scenario.topology.link(use[0])
        inside = inside or (link.a if use[1] is Direction.UP else link.b) in sums
        if not inside:
            kept.append(use)
        elif job is not None and (job, use) not in summed:
            summed.add((job, use))
            kept.append(use)
    return tuple(kept) if known.adds_up else path


def data_paths(plan: Plan) -> Iterator[tuple[HostConfig, tuple[LinkUse, ...]]]:
    """(worker in a phase, path) of everything that carries a gradient of one protocol away."""
    for _, _, worker, envelope in _senders(plan):
        for path in _paths(plan, worker.name, envelope):
            yield worker, path


def tenant_paths(plan: Plan) -> Iterator[tuple[PlannedFlow, list[tuple[LinkUse, ...]]]]:
    """Of each flow of other tenants: the paths that it may take."""
    for flow in plan.background:
        yield flow, list(flow_paths(plan, flow.source, flow.config.envelope, flow.config.dport))


def most_under_way(plan: Plan) -> Mapping[LinkUse, float]:
    """Bytes of frames with data that may be unanswered at once on their way over each link. What switches sum counts as
    one connection."""
    return _most_at_once(plan, _window_bytes)


def most_connections(plan: Plan) -> Mapping[LinkUse, float]:
    """Connections that send their data over each link at once, counted likewise."""
    return _most_at_once(plan, lambda worker: 1.0)


def _most_at_once(plan: Plan, weigh: Callable[[HostConfig], float]) -> Mapping[LinkUse, float]:
    """Steps follow one another, so the one counts in which it is most."""
    found = defaultdict[LinkUse, float](float)
    for part in plan.parts:
        steps = defaultdict[int, defaultdict[LinkUse, float]](lambda: defaultdict(float))
        ways = defaultdict[int, set[tuple[int, LinkUse]]](set)
        for step, _, worker, envelope in _senders(part):
            paths = _paths(part, worker.name, envelope)
            for number, path in enumerate(paths):
                for use in _unsummed(part, worker.name, path, ways[number]):
                    steps[step][use] += weigh(worker) / len(paths)
        for use in {use for counted in steps.values() for use in counted}:
            found[use] += max(counted[use] for counted in steps.values())
    return found


def _window_bytes(worker: HostConfig) -> float:
    """Of the frames that a worker may have under way on one connection: its window, and no more than its gradient. The
    cap of IRN follows from timers, and is not asked here."""
    framing, whole = worker.framing, worker.workload.elements * ELEMENT_BYTES
    if isinstance(worker, WorkerConfig):
        group, packets = worker.collective, worker.to_successor.window_packets
        if ring_kind(group.kind).in_messages:
            packets = min(packets, group.window_messages * group.message_packets)
        size, most = packets * framing.payload_bytes, whole * sent_share(group.kind, group.size, group.rank)
    else:
        block = getattr(worker, "elements", framing.payload_bytes // ELEMENT_BYTES) * ELEMENT_BYTES
        size, most = getattr(worker, "window", 1 << 32) * block, whole
    return min(size, most) * framing.frame_bytes / framing.payload_bytes


def booked_shares(plan: Plan) -> Mapping[LinkUse, float]:
    """What may be sent over each link at once, other tenants' data included, in parts of its rate. Steps follow one
    another, so each is looked at for itself; the connections of a host in one step share its link. Any step of one
    protocol may meet any one of another."""
    topology, coming = plan.scenario.topology, Counter[LinkUse]()
    for part in plan.parts:
        coming.update(_most_coming(part))
    for flow, paths in tenant_paths(plan):
        rate = topology.link(paths[0][0][0]).shape.rate_bps if paths[0] else 0
        for use in {use for path in paths for use in path}:
            coming[use] += min(rate, flow.config.rate_bps or rate)
    return {use: rate / topology.link(use[0]).shape.rate_bps for use, rate in coming.items()}


def overbooked(plan: Plan) -> frozenset[LinkUse]:
    """Links that may be sent more data than their rate: queues there may overflow, and only the scenario is to
    blame."""
    return frozenset(use for use, share in booked_shares(plan).items() if share > 1)


def _most_coming(plan: Plan) -> Mapping[LinkUse, int]:
    """Bits per second that the hosts of one protocol may send over each link, in the step in which it is most."""
    steps: dict[int, Counter[LinkUse]] = {}
    raised, summed = not plan.servers and sources_of(plan).adds_up, set[tuple[int, LinkUse]]()
    for step, share, worker, envelope in _senders(plan):
        paths = _paths(plan, worker.name, envelope)
        rate = plan.scenario.topology.link(paths[0][0][0]).shape.rate_bps // share if paths[0] else 0
        if raised:  # no worker's packet passes a switch that sums
            paths = [_unsummed(plan, worker.name, path, summed) for path in paths]
        phase = steps.setdefault(step, Counter())
        for use in {use for path in paths for use in path}:
            phase[use] += rate
    most = Counter[LinkUse]()
    for phase in steps.values():
        most |= phase
    return most


def _paths(plan: Plan, source: str, envelope: Envelope) -> list[tuple[LinkUse, ...]]:
    """All that the packets of one connection take."""
    roots = max((len(_planned_exits(config, envelope)) for config in plan.switches), default=0)
    return [path for root in range(max(1, roots)) for path in flow_paths(plan, source, envelope, root=root)]


def _senders(plan: Plan) -> Iterator[tuple[int, int, HostConfig, Envelope]]:
    """(step, connections that the worker has in it, worker in that phase, envelope) of everything that carries a
    gradient away: of every worker, on every ring."""
    for worker in plan.workers:
        if isinstance(worker, WorkerConfig):
            steps = [phase.step for phase in worker.phases] or [0]
            together = Counter(steps)
            for step, part in zip(steps, worker.parts, strict=True):
                yield step, together[step], part, part.to_successor.envelope
        else:
            for envelope in worker.sends:
                yield 0, 1, worker, envelope


def _exits(topology: Topology) -> dict[tuple[str, int], Link]:
    """By node and port. A plan is asked for hundreds of paths, all through one topology."""
    for known, exits in _newest:
        if known is topology:
            return exits
    found = {(link.a, link.a_port): link for link in topology.links}
    found |= {(link.b, link.b_port): link for link in topology.links}
    _newest.append((topology, found))
    return found
