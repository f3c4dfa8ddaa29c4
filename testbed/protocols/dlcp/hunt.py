"""Schedules of DLCP jobs: how much may be missing, who serves, a rack or a fabric that forwards; the trouble is added
by `draw_datagram_faults`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import TypeVar

from testbed.faults.model import NodeFault
from testbed.hunt.contract import Hunted
from testbed.hunt.draw_datagram_faults import draw_datagram_faults
from testbed.hunt.draw_datagrams import with_limit, with_times
from testbed.hunt.draw_fabric import draw_levels
from testbed.hunt.draw_link import draw_shape
from testbed.hunt.kinds import DatagramHunt
from testbed.hunt.shrink_jobs import with_less_to_send
from testbed.protocols.dlcp.keys import DlcpKeys
from testbed.scenario.keys.job import Straggler
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from topologies import LinkShape, Topology
from workloads.dlcp.config import OVER
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES
from workloads.wire.envelope import ETHERNET

__all__ = ["HUNT", "draw_dlcp_schedule", "smaller_dlcp"]

_T = TypeVar("_T")
_ETHERNET = ETHERNET.size
_MTUS = {256: 90, 512: 6, 1024: 4}
_QUEUES = {1000: 82, 16: 8, 6: 6, 3: 4}
_WINDOWS = {1: 14, 2: 22, 3: 16, 4: 16, 6: 10, 8: 10, 16: 12}
_HOSTS = {2: 30, 3: 40, 4: 30}
_BOUNDS = {0.0: 20, 0.05: 10, 0.1: 10, 0.25: 20, 0.5: 30, 0.9: 10}
"""weights of the tolerated shares: flows are short, so that small shares tolerate no loss"""
_OVER = dict(zip(OVER, (30, 30, 40), strict=True))
_LATE = 0.3
"""share of these in which somebody is late by about as long as slots wait"""
_DTYPES_IN_PARTS = {"float32": 60, "int32": 40}
_IMPORTANT = (0.0, 0.25, 0.5, 1.0)
_ITERATIONS = {1: 46, 2: 34, 3: 20}
_TWO_LEVELS, _SPRAYS = 0.5, 0.5
_TWO_JOBS = 0.25
_MOST_CONTRIBUTIONS = 60
_SEEDS = (1, 2, 3)


def draw_dlcp_schedule(
    draw: Random, protocol: Hunted, base: Scenario | None, program: str, *, traced: bool, seed: int
) -> Scenario:
    """As `testbed.hunt.draw_datagrams`."""
    if base is not None:
        return with_limit(draw_datagram_faults(draw, replace(base, faults=(), world="simulated", source="")))
    return with_limit(draw_datagram_faults(draw, _calm(draw, protocol, program)))


def _weighted(draw: Random, weights: Mapping[_T, int]) -> _T:
    return draw.choices(list(weights), list(weights.values()))[0]


def _calm(draw: Random, protocol: Hunted, program: str) -> Scenario:
    mtu = _weighted(draw, _MTUS)
    keys = DlcpKeys(
        over=_weighted(draw, _OVER),
        loss_bound=_weighted(draw, _BOUNDS),
        important=draw.choice(_IMPORTANT),
    )
    jobs = _jobs(draw, protocol, keys, mtu)
    shape = draw_shape(draw, AGGREGATION_OVERHEAD_BYTES - _ETHERNET + mtu, _QUEUES)
    scenario = Scenario(
        name="hunt",
        topology=_topology(draw, sum(len(job.hosts) for job in jobs), shape),
        link=shape,
        world="simulated",
        transport=Transport(path_mtu=mtu),
        switch=SwitchOptions(
            program="dlcp" if keys.adds else program,
            memory=len(jobs) * draw.choice((1, 2, 3, 4, 8, 16)) if keys.adds else SwitchOptions().memory,
        ),
        job=Job(protocol=protocol.name, own=keys),
        jobs=jobs,
        capture=False,
    )
    timed = with_times(draw, scenario)
    waits_ns = 0
    if keys.adds:
        waits_ns = max(1000, round(timed.transport.chosen_rto_ns * draw.choice((0.01, 0.1, 0.5, 1, 3, 10))))
        keys = replace(keys, slot_timer_ns=waits_ns)
    jobs = tuple(replace(job, own=keys, arrival_ns=0) for job in timed.jobs)  # `arrival` is no key of theirs
    if keys.adds and draw.random() < _LATE:  # slots wait, and copies meet them
        late = Straggler(draw.randrange(len(jobs[0].hosts)), draw.randint(1, 2 * waits_ns))
        jobs = (replace(jobs[0], straggler=late), *jobs[1:])
    return replace(timed, job=replace(timed.job, own=keys), jobs=jobs)


def _jobs(draw: Random, protocol: Hunted, keys: DlcpKeys, mtu: int) -> tuple[Job, ...]:
    """Roles are dealt out to hosts at random: hosts of one job may be in several racks."""
    sizes = [_weighted(draw, _HOSTS) for _ in range(2 if draw.random() < _TWO_JOBS else 1)]
    names = [f"h{number}" for number in range(1, sum(sizes) + 1)]
    draw.shuffle(names)
    jobs = []
    for index, size in enumerate(sizes):
        iterations = _weighted(draw, _ITERATIONS)
        dtypes = _DTYPES_IN_PARTS if keys.adds or keys.rings else protocol.dtypes
        room = max(1, _MOST_CONTRIBUTIONS // (sum(sizes) * iterations))
        blocks = max(draw.randint(1, room), draw.randint(1, room))
        last = mtu if draw.random() < 0.3 else draw.randrange(4, mtu + 1, 4)
        jobs.append(
            Job(
                protocol=protocol.name, name=f"job{index + 1}", number=index + 1, seed_offset=index, own=keys,
                dtype=_weighted(draw, dtypes), iterations=iterations,
                workload=draw.choice(("synthetic", "extreme", "special")),
                size_bytes=(blocks - 1) * mtu + last, window_packets=_weighted(draw, _WINDOWS),
                hosts=tuple(names[:size]),
            )
        )  # fmt: skip
        del names[:size]
    return tuple(jobs)


def _topology(draw: Random, hosts: int, shape: LinkShape) -> Topology:
    """A rack, or leaves of at least one host each under one or two spines, which may spray."""
    topology = draw_levels(draw, hosts, shape, _TWO_LEVELS)
    sprays = len(topology.switches) > 1 and draw.random() < _SPRAYS
    return replace(topology, multipath="spray") if sprays else topology


def smaller_dlcp(scenario: Scenario, protocol: Hunted) -> Iterator[Scenario]:
    """One job of two, fewer iterations and packets, smaller windows. Each with some other seeds as well: faults know
    datagrams by their bytes."""
    for smaller in _smaller(scenario):
        yield smaller
        yield from (replace(smaller, seed=seed) for seed in _SEEDS if seed != scenario.seed)


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Smaller versions of a schedule. A host that a fault names stays."""
    jobs = scenario.jobs
    struck = {fault.node for fault in scenario.faults if isinstance(fault, NodeFault)}
    for index, job in enumerate(jobs):
        before, behind = jobs[:index], jobs[index + 1 :]
        others = {host for other in (*before, *behind) for host in other.hosts}
        if len(jobs) > 1 and not others & struck:
            yield replace(scenario, jobs=(job,))
        if job.straggler is not None:
            yield replace(scenario, jobs=(*before, replace(job, straggler=None), *behind))
        if len(job.hosts) > 2 and job.hosts[0] not in struck:
            fewer = replace(job, hosts=job.hosts[1:], straggler=None)
            yield replace(scenario, jobs=(*before, fewer, *behind))
        for less in with_less_to_send(job, scenario.transport.path_mtu):
            yield replace(scenario, jobs=(*before, less, *behind))
    for memory in sorted({len(jobs), scenario.switch.memory // 2}) if jobs and scenario.jobs[0].own.adds else ():
        if len(jobs) <= memory < scenario.switch.memory:
            yield replace(scenario, switch=replace(scenario.switch, memory=memory))


class _DlcpHunt(DatagramHunt):
    def draw(
        self, dice: Random, hunted: Hunted, base: Scenario | None, program: str, *, traced: bool, seed: int
    ) -> Scenario:
        return draw_dlcp_schedule(dice, hunted, base, program, traced=traced, seed=seed)

    def smaller(self, scenario: Scenario, hunted: Hunted) -> Iterator[Scenario]:
        return smaller_dlcp(scenario, hunted)


HUNT = _DlcpHunt(
    {"float32": 40, "int32": 40, "int32sat": 20},
    frames_each_way=2,  # of a vector: its packets; acknowledgements without and with LAST
    vectors=6,  # of a ring of four; over a server 2
    waits=3,  # and one more where the server leaves out a sum of several
    backs_off=True,
    tells_overflow=False,
)
