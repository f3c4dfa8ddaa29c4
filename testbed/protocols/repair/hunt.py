"""Schedules of repair jobs: a code, its nodes, a rack or a fabric that combines or only forwards; the trouble is added
by `draw_datagram_faults`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import TypeVar

from switch_nodes.kinds import sums
from switch_nodes.repair.tables import SLOT_TABLE
from testbed.hunt.contract import Hunted
from testbed.hunt.draw_datagram_faults import draw_datagram_faults
from testbed.hunt.draw_datagrams import with_limit, with_times
from testbed.hunt.draw_fabric import draw_levels
from testbed.hunt.draw_link import draw_shape
from testbed.hunt.kinds import DatagramHunt
from testbed.hunt.shrink_jobs import with_less_to_send
from testbed.protocols.parts.hunt_server_steps import ONE_SIZE
from testbed.protocols.repair.keys import RepairKeys
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from workloads.repair.config import OPS
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES
from workloads.wire.envelope import ETHERNET

__all__ = ["HUNT", "draw_repair_schedule", "smaller_repair"]

_T = TypeVar("_T")
_ETHERNET = ETHERNET.size
_MTUS = {256: 90, 512: 6, 1024: 4}
_QUEUES = {1000: 82, 16: 8, 6: 6, 3: 4}
_WINDOWS = {1: 14, 2: 22, 3: 16, 4: 16, 6: 10, 8: 10, 16: 12}
_CODES = {
    ("rs", 3, 2, 2): 20, ("rs", 4, 3, 3): 20, ("rs", 6, 4, 4): 20, ("rs", 5, 1, 1): 6, ("rs", 9, 5, 5): 6,
    ("mbr", 4, 2, 3): 8, ("msr", 4, 2, 3): 8, ("msr", 5, 3, 4): 4,
}  # fmt: skip
_FORWARDS = 0.15
"""share of Reed-Solomon's in which no switch combines; other codes never are combined"""
_TWO_LEVELS = 0.5
_TWO_JOBS = 0.25
_MOST_CONTRIBUTIONS = 72
_SEEDS = (1, 2, 3)


def draw_repair_schedule(
    draw: Random, protocol: Hunted, base: Scenario | None, program: str, *, traced: bool, seed: int
) -> Scenario:
    """As `testbed.hunt.draw_datagrams`."""
    if base is not None:
        return with_limit(draw_datagram_faults(draw, replace(base, faults=(), world="simulated", source="")))
    return with_limit(draw_datagram_faults(draw, _calm(draw, protocol, program)))


def _weighted(draw: Random, weights: dict[_T, int]) -> _T:
    return draw.choices(list(weights), list(weights.values()))[0]


def _calm(draw: Random, protocol: Hunted, program: str) -> Scenario:
    mtu, keys = _weighted(draw, _MTUS), _keys(draw)
    if keys.code != "rs" or draw.random() < _FORWARDS:
        program = "forward"
    jobs = _jobs(draw, protocol, keys, mtu)
    hosts = max(2, sum(len(job.hosts) for job in jobs))
    shape = draw_shape(draw, AGGREGATION_OVERHEAD_BYTES - _ETHERNET + mtu, _QUEUES)
    scenario = Scenario(
        name="hunt",
        topology=draw_levels(draw, hosts, shape, _TWO_LEVELS),
        link=shape,
        world="simulated",
        transport=Transport(path_mtu=mtu),
        switch=SwitchOptions(program=program, memory=len(jobs) * draw.choice((1, 2, 2, 3, 4, 8, 16))),
        job=Job(protocol=protocol.name, own=keys),
        jobs=jobs,
        capture=False,
    )
    timed = with_times(draw, scenario)
    return replace(timed, jobs=tuple(replace(job, arrival_ns=0) for job in timed.jobs))  # no key of theirs


def _keys(draw: Random) -> RepairKeys:
    code, n, k, d = _weighted(draw, _CODES)
    nodes = draw.sample(range(n), d + 1)
    return RepairKeys(code, n, k, d, nodes[0], tuple(nodes[1:]), draw.choice(OPS))


def _jobs(draw: Random, protocol: Hunted, keys: RepairKeys, mtu: int) -> tuple[Job, ...]:
    """Roles are dealt out to hosts at random: donors of one job may be in several racks."""
    count = 2 if draw.random() < _TWO_JOBS else 1
    size, alpha = keys.donors_wanted + 1, keys.share.code.alpha
    names = [f"h{number}" for number in range(1, count * size + 1)]
    draw.shuffle(names)
    jobs = []
    for index in range(count):
        iterations = _weighted(draw, {1: 58, 2: 30, 3: 12})
        room = max(1, _MOST_CONTRIBUTIONS // (count * size * iterations))
        blocks = max(draw.randint(1, room), draw.randint(1, room))
        last = mtu if draw.random() < 0.3 else draw.randrange(4, mtu + 1, 4)
        jobs.append(
            Job(
                protocol=protocol.name, name=f"job{index + 1}", number=index + 1, seed_offset=index, own=keys,
                dtype=_weighted(draw, dict(protocol.dtypes)), iterations=iterations,
                size_bytes=alpha * ((blocks - 1) * mtu + last), window_packets=_weighted(draw, _WINDOWS),
                hosts=tuple(names[index * size : (index + 1) * size]),
            )
        )  # fmt: skip
    return tuple(jobs)


def smaller_repair(scenario: Scenario, protocol: Hunted) -> Iterator[Scenario]:
    """One job of two, fewer iterations and blocks, smaller windows, less memory: the code stays, and so do its donors.
    Each with some other seeds as well: faults know datagrams by their bytes."""
    for smaller in _smaller(scenario):
        yield smaller
        yield from (replace(smaller, seed=seed) for seed in _SEEDS if seed != scenario.seed)


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    jobs = scenario.jobs
    for index, job in enumerate(jobs):
        if len(jobs) > 1:
            yield replace(scenario, jobs=(job,))
        if job.straggler is not None:
            yield replace(scenario, jobs=(*jobs[:index], replace(job, straggler=None), *jobs[index + 1 :]))
        alpha = job.own.share.code.alpha
        for less in with_less_to_send(replace(job, size_bytes=job.size_bytes // alpha), scenario.transport.path_mtu):
            whole = replace(less, size_bytes=less.size_bytes * alpha)
            yield replace(scenario, jobs=(*jobs[:index], whole, *jobs[index + 1 :]))
    switch = scenario.switch
    for memory in sorted({len(jobs), switch.memory // 2}) if jobs and sums(switch.program) else ():
        if len(jobs) <= memory < switch.memory:
            yield replace(scenario, switch=replace(switch, memory=memory))


class _RepairHunt(DatagramHunt):
    def draw(
        self, dice: Random, hunted: Hunted, base: Scenario | None, program: str, *, traced: bool, seed: int
    ) -> Scenario:
        return draw_repair_schedule(dice, hunted, base, program, traced=traced, seed=seed)

    def smaller(self, scenario: Scenario, hunted: Hunted) -> Iterator[Scenario]:
        return smaller_repair(scenario, hunted)


HUNT = _RepairHunt(
    {"int32": 80, "float32": 20},
    SLOT_TABLE.steps,
    dict.fromkeys(("slot filling/mismatch", "slot sent/mismatch", "slot done/mismatch"), ONE_SIZE),
    frames_each_way=2,  # data or their sum, and acknowledgements
)
