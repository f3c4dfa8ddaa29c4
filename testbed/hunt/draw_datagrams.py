"""Schedules of datagram protocols: several jobs at a time, little memory, links. `draw_datagram_faults` adds the
trouble.

A block takes a contribution of each worker and a result for each. A hunt runs a hundred thousand schedules, so that
jobs must be small. Windows may still be larger than the memory, and gradients shorter than the windows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import TypeVar

from testbed.faults.healing import heals_at
from testbed.faults.model import Kill
from testbed.hunt.contract import Hunted
from testbed.hunt.datagram_recipes import datagram_recipes
from testbed.hunt.draw_datagram_faults import draw_datagram_faults
from testbed.hunt.draw_datagram_jobs import draw_jobs, draw_knobs
from testbed.hunt.draw_fabric import draw_levels
from testbed.hunt.draw_link import draw_shape
from testbed.hunt.plans import plan_of
from testbed.hunt.survival_datagrams import all_must_finish, excused, must_end_ns, travel_ns
from testbed.scenario.keys.job import Straggler
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES
from workloads.wire.envelope import ETHERNET

__all__ = ["draw_datagram_schedule", "with_limit", "with_times"]

T = TypeVar("T")

_ETHERNET = ETHERNET.size
_MTUS = {256: 90, 512: 6, 1024: 4}
_QUEUES = {1000: 82, 16: 8, 6: 6, 3: 4}
_FOLLOWS_RECIPE = 0.25
"""share of the traced ones"""
_TWO_LEVELS = 0.3
"""share of those that may have them"""
_LEAST_RTO_NS = 200_000
_INDICES = {1: 18, 2: 24, 3: 16, 4: 14, 6: 10, 8: 9, 16: 9}
"""indices that a job gets where the memory is large enough, with weights"""
_MOST_MEMORY = 64
_TIMEOUTS = 40
"""RTO that a run goes on after the last kill where no worker need finish"""
_LONGEST_WAIT = 50_000
"""RTO that a job may wait for the dead while others need their time: it sends again in each"""


def draw_datagram_schedule(
    draw: Random,
    protocol: Hunted,
    base: Scenario | None,
    program: str,
    *,
    traced: bool,
    seed: int,
    change: Callable[[Random, Scenario], Scenario] | None = None,
) -> Scenario:
    """With `base`: that scenario with other faults. Else all of it is drawn for `protocol`, with `program` on the
    switches. The time limit is when it must have ended. `seed`: of the run, which nothing here depends on. `change`:
    what a protocol changes before times and faults are drawn."""
    if base is not None:
        return with_limit(draw_datagram_faults(draw, replace(base, faults=(), world="simulated", source="")))
    calm = _calm(draw, protocol, program)
    calm = with_times(draw, calm if change is None else change(draw, calm))
    if traced and draw.random() < _FOLLOWS_RECIPE:
        return with_limit(draw.choice(datagram_recipes(protocol))(draw, calm))
    return with_limit(draw_datagram_faults(draw, calm))


def with_limit(scenario: Scenario) -> Scenario:
    """`scenario` with its time limit: the time by which it must have ended.

    The hunt kills no node if other workers could then wait too long.
    """
    end = must_end_ns(scenario)
    assert end is not None, "no fault is drawn that has no end"
    if all_must_finish(scenario):
        return replace(scenario, time_limit_ns=end)
    plan = plan_of(scenario)
    waiting, living = excused(plan), tuple(fault for fault in scenario.faults if not isinstance(fault, Kill))
    if waiting == {worker.name for worker in plan.workers}:
        late = max(
            (heals_at(fault) or fault.window.start_ns for fault in scenario.faults if isinstance(fault, Kill)),
            default=0,
        )
        end = min(end, late + _TIMEOUTS * scenario.transport.chosen_rto_ns)
    elif waiting and living != scenario.faults and end > _LONGEST_WAIT * scenario.transport.chosen_rto_ns:
        return with_limit(replace(scenario, faults=living))
    return replace(scenario, time_limit_ns=end)


def _weighted(draw: Random, weights: dict[T, int]) -> T:
    return draw.choices(list(weights), list(weights.values()))[0]


def _calm(draw: Random, protocol: Hunted, program: str) -> Scenario:
    mtu = _weighted(draw, _MTUS)
    jobs, hosts = draw_jobs(draw, protocol, mtu)
    shape = draw_shape(draw, AGGREGATION_OVERHEAD_BYTES - _ETHERNET + mtu, _QUEUES)
    least = protocol.values_per_index * len(jobs)
    scenario = Scenario(
        name="hunt",
        topology=draw_levels(draw, hosts, shape, _TWO_LEVELS if protocol.spans_racks else 0.0),
        link=shape,
        world="simulated",
        transport=Transport(path_mtu=mtu),
        switch=SwitchOptions(program=program, memory=_memory(draw, least)),
        job=Job(protocol=protocol.name, server=f"h{hosts}" if protocol.server else ""),
        jobs=jobs,
        capture=False,
    )
    if protocol.server:
        scenario = replace(scenario, transport=replace(scenario.transport, aimd=draw.random() < 0.6))
        knobs = draw_knobs(draw, protocol)
        scenario = replace(scenario, switch=replace(scenario.switch, knobs=knobs))
    return scenario


def with_times(draw: Random, scenario: Scenario) -> Scenario:
    """The timeout, from hasty, where every packet is sent several times, to patient; stragglers and late arrivals."""
    travel = travel_ns(scenario)
    rto = max(_LEAST_RTO_NS, round(travel * draw.choice((0.1, 0.3, 0.7, 1, 2, 2, 4))))
    jobs = []
    for job in scenario.jobs:
        if draw.random() < 0.1:
            late = draw.randint(1, draw.choice((1, 4, 16)) * rto)
            job = replace(job, straggler=Straggler(draw.randrange(len(job.hosts)), late))
        if len(scenario.jobs) > 1 and draw.random() < 0.2:
            job = replace(job, arrival_ns=draw.randrange(4 * travel))
        jobs.append(job)
    return replace(scenario, transport=replace(scenario.transport, rto_ns=rto), jobs=tuple(jobs))


def _memory(draw: Random, least: int) -> int:
    """Values in the memory of a switch. `least`: values that one index for each job takes. No job uses the
    remainder."""
    return min(_MOST_MEMORY, least * _weighted(draw, _INDICES) + draw.randrange(least))
