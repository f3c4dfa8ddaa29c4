"""Schedules for all-reduces between the hosts, over RC connections and plain switches: hosts, sizes, recoveries and
links; `draw_faults` adds the trouble, within what `survival` allows. The time limit is when all must have ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from testbed.faults.model import Forge
from testbed.hunt.contract import Hunted
from testbed.hunt.draw import draw_transport, link_shape, with_timeout
from testbed.hunt.draw_fabric import draw_fabric
from testbed.hunt.draw_faults import FORGED_ANSWERS, draw_faults
from testbed.hunt.draw_link import other_shape
from testbed.hunt.shrink_hosts import fewer_hosts
from testbed.hunt.tape import draw_value
from testbed.reading.sections import Section
from testbed.scenario.keys.job import Straggler
from testbed.scenario.model import Job, Scenario, SwitchOptions
from testbed.scenario.protocols.own_code import require
from topologies import rack
from workloads.collectives.operations import BARRIER, OPERATIONS
from workloads.ownvalues import instances
from workloads.rc.numbers import rnr_wait_ns
from workloads.rc.recovery import rto_ns

__all__ = ["draw_pairs_schedule", "smaller_pairs"]

_HOSTS = {2: 22, 3: 24, 4: 24, 5: 12, 6: 8, 7: 5, 8: 5}
"""powers of two and what lies between, where ranks beyond the last power fold in and out; many cost the square"""
_MTUS = {256: 80, 512: 8, 1024: 12}
_QUEUES = {1000: 1}
"""queues that never drop a packet because they are full: several peers send to one host at once, and the argument about
trouble does not count such drops"""
_OVER_SPINES = 0.25
_MOST_PACKETS = 16
"""of a gradient, unless the dice want a large one"""
_MOST_WAITS = 24
"""for a receive: after each, every peer of a host sends a packet for nothing"""
_ELEMENT = 4
_TIME_LIMIT_NS = 60_000_000_000
_MOST_NS = 60 * _TIME_LIMIT_NS
"""the longest time limit of a scenario"""
_OPS = {"sum": 80, "max": 10, "xor": 10}


def draw_pairs_schedule(
    draw: Random, protocol: Hunted, base: Scenario | None, program: str, *, traced: bool, seed: int
) -> Scenario:
    """As `testbed.hunt.draw_datagrams`."""
    calm = _calm(draw, protocol, program) if base is None else replace(base, faults=(), world="simulated", source="")
    drawn = draw_faults(draw, calm)
    # What a switch that sums keeps from receivers, a plain one passes on, and a queue pair dies of it by right.
    kept = tuple(item for item in drawn.faults if not isinstance(item, Forge) or item.what in FORGED_ANSWERS)
    faulty = replace(drawn, faults=kept)
    return replace(faulty, time_limit_ns=min(_MOST_NS, max(_TIME_LIMIT_NS, _longest_ns(faulty))))


def _longest_ns(scenario: Scenario) -> int:
    """Until when it must have ended, however slow: every message is held up for as long as its queue pair bears, one
    after the other."""
    job, transport = scenario.job, scenario.transport
    packets = len(scenario.ranks) * (job.size_bytes // transport.path_mtu + 1)
    messages = 4 * len(scenario.ranks) * job.iterations * packets
    rto = rto_ns(transport.chosen_timeout_code) or 0
    return messages * rto * (transport.retry_count + 1)


def _weighted(draw: Random, weights: dict[int, int]) -> int:
    return draw.choices(list(weights), list(weights.values()))[0]


def _calm(draw: Random, protocol: Hunted, program: str) -> Scenario:
    mtu = _weighted(draw, _MTUS)
    shape = link_shape(draw, mtu, _QUEUES)
    if draw.random() < _OVER_SPINES:
        topology = draw_fabric(draw, shape)
    else:
        hosts = _weighted(draw, _HOSTS)
        overrides = {f"h{draw.randint(1, hosts)}-s1": other_shape(draw, shape)} if draw.random() < 0.25 else {}
        topology = rack(hosts, shape, overrides)
    ranks = len(topology.hosts)
    scenario = Scenario(
        name="hunt",
        topology=topology,
        link=shape,
        world="simulated",
        transport=draw_transport(draw, mtu, ""),
        switch=SwitchOptions(program),
        job=_job(draw, protocol, ranks, mtu),
        time_limit_ns=_TIME_LIMIT_NS,
    )
    timed = with_timeout(draw, scenario)
    most = _MOST_WAITS * rnr_wait_ns(timed.transport.rnr_timer_code)
    late = min(timed.transport.receive_late_ns, most)
    return replace(timed, transport=replace(timed.transport, receive_late_ns=late))


def _own_keys(protocol: Hunted, draw: Random) -> Section | None:
    ask = protocol.hunt.draw_keys
    found: Section | None = require(ask, ask(draw), instances("a Section, or None", Section, type(None)))
    return found


def _job(draw: Random, protocol: Hunted, ranks: int, mtu: int) -> Job:
    """An element for each rank at least; parts that end inside a packet, and parts of one element."""
    most = _MOST_PACKETS * draw.choices((1, 3), (94, 6))[0] * mtu // _ELEMENT
    elements = draw.choice(
        (ranks, draw.randint(ranks, 4 * ranks), draw.randint(ranks, most), draw.randint(ranks, most))
    )
    job = Job(
        protocol=protocol.name,
        own=_own_keys(protocol, draw),
        size_bytes=_ELEMENT * elements,
        dtype=draw_value(draw, protocol.dtypes),
        op=draw_value(draw, _OPS),
        iterations=draw.choices((1, 2, 3), (55, 35, 10))[0],
        workload=draw.choice(("synthetic", "extreme", "special")),
        message_packets=draw.choice((1, 2, 8)),
        straggler=Straggler(draw.randrange(ranks), 1) if draw.random() < 0.12 else None,
    )
    name = draw.choice(protocol.operations)
    operation = OPERATIONS[name]
    if BARRIER in protocol.operations and not operation.sums and draw.random() < 0.25:
        job = replace(job, size_bytes=draw.choice((0, 1, 999, draw.randint(1, most))))
    root = draw.randrange(ranks) if operation.has_root else 0
    return replace(job, operation=name, root=root, op=job.op if operation.sums else "sum")


def smaller_pairs(scenario: Scenario, protocol: Hunted) -> Iterator[Scenario]:
    """Fewer hosts, iterations and elements, and own keys as they come; each rank keeps an element to sum."""
    for fewer_of in fewer_hosts(scenario):
        root = min(scenario.job.root, len(fewer_of.topology.hosts) - 1)
        yield replace(fewer_of, job=replace(fewer_of.job, root=root))
    job, ranks = scenario.job, len(scenario.topology.hosts)
    if job.root:
        yield replace(scenario, job=replace(job, root=0))
    if job.own is not None and job.own != type(job.own)():
        yield replace(scenario, job=replace(job, own=type(job.own)()))
    if job.iterations > 1:
        yield replace(scenario, job=replace(job, iterations=1))
        yield replace(scenario, job=replace(job, iterations=job.iterations - 1))
    elements = job.size_bytes // _ELEMENT
    for fewer in sorted({ranks, elements // 2, elements - 1}):
        if ranks <= fewer < elements:
            yield replace(scenario, job=replace(job, size_bytes=_ELEMENT * fewer))
    if scenario.transport.path_mtu > 256:
        yield replace(scenario, transport=replace(scenario.transport, path_mtu=256))
