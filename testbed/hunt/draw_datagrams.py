"""Schedules of datagram protocols: several jobs beside each other, little memory, links; `draw_datagram_faults` adds the trouble.

A block takes a contribution of each worker and a result for each, so the jobs are as small as a hundred thousand of them
must be; windows may still be larger than the memory, and gradients shorter than the windows.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TypeVar

from testbed.hunt.datagram_recipes import DATAGRAM_RECIPES
from testbed.hunt.draw_datagram_faults import draw_datagram_faults
from testbed.hunt.draw_link import draw_shape, other_shape
from testbed.hunt.protocols import Protocol
from testbed.hunt.survival_datagrams import must_end_ns, travel_ns
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from topologies import rack
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES

__all__ = ["draw_datagram_schedule"]

T = TypeVar("T")

_ETHERNET = 14
_COPIES = {1: 46, 2: 30, 3: 12, 4: 12}
_WORKERS = {1: 6, 2: 42, 3: 28, 4: 24}
_MTUS = {256: 90, 512: 6, 1024: 4}
_WINDOWS = {1: 14, 2: 22, 3: 16, 4: 16, 6: 10, 8: 10, 12: 5, 16: 7}
_INDICES = {1: 14, 2: 18, 3: 14, 4: 16, 6: 12, 8: 12, 16: 14}
"""that a job gets, where the memory is large enough"""
_QUEUES = {1000: 82, 16: 8, 6: 6, 3: 4}
_MOST_CONTRIBUTIONS = 64
"""of all workers together, unless the dice want a large one"""
_FOLLOWS_RECIPE = 0.25
"""share of the traced ones"""
_LEAST_RTO_NS = 200_000
_MOST_MEMORY = 64


def draw_datagram_schedule(
    draw: Random, protocol: Protocol | None, base: Scenario | None, program: str, *, traced: bool
) -> Scenario:
    """With `base`: that scenario with other faults. Else all of it is drawn for `protocol`, with `program` on the switches, and
    the time limit is when it must have ended."""
    if base is not None or protocol is None:
        assert base is not None, "something is hunted in"
        return draw_datagram_faults(draw, replace(base, faults=(), world="simulated", source=""))
    calm = _calm(draw, protocol, program)
    if traced and draw.random() < _FOLLOWS_RECIPE:
        scenario = draw.choice(DATAGRAM_RECIPES)(draw, calm)
    else:
        scenario = draw_datagram_faults(draw, calm)
    end = must_end_ns(scenario)
    assert end is not None, "no fault is drawn that has no end"
    return replace(scenario, time_limit_ns=end)


def _weighted(draw: Random, weights: dict[T, int]) -> T:
    return draw.choices(list(weights), list(weights.values()))[0]


def _calm(draw: Random, protocol: Protocol, program: str) -> Scenario:
    copies, workers = _weighted(draw, _COPIES), _weighted(draw, _WORKERS)
    hosts = max(2, copies * workers)  # a rack of one host is none
    mtu = _weighted(draw, _MTUS)
    shape = draw_shape(draw, AGGREGATION_OVERHEAD_BYTES - _ETHERNET + mtu, _QUEUES)
    overrides = {f"h{draw.randint(1, hosts)}-s1": other_shape(draw, shape)} if draw.random() < 0.25 else {}
    most = _MOST_CONTRIBUTIONS * _weighted(draw, {1: 95, 3: 5}) // hosts
    scenario = Scenario(
        name="hunt",
        topology=rack(hosts, shape, overrides),
        link=shape,
        world="simulated",
        transport=Transport(path_mtu=mtu),
        switch=SwitchOptions(program=program, memory=_memory(draw, protocol.values_per_index * copies)),
        job=_job(draw, protocol, copies, most, mtu),
        capture=False,
    )
    scenario = _with_timeout(draw, scenario)
    if draw.random() < 0.12:
        late = draw.randint(1, draw.choice((1, 4, 16)) * scenario.transport.rto_ns)
        job = replace(scenario.job, straggle_rank=draw.randrange(hosts), straggle_ns=late)
        scenario = replace(scenario, job=job)
    return scenario


def _memory(draw: Random, least: int) -> int:
    """`least`: values that an index for each job takes. What is left over serves nobody."""
    return min(_MOST_MEMORY, least * _weighted(draw, _INDICES) + draw.randrange(least))


def _job(draw: Random, protocol: Protocol, copies: int, packets: int, mtu: int) -> Job:
    """About `packets` packets per worker at most."""
    iterations = _weighted(draw, {1: 58, 2: 30, 3: 12})
    dtype, window = _weighted(draw, dict(protocol.dtypes)), _weighted(draw, _WINDOWS)
    room = max(1, packets // iterations)
    if dtype == "float32":  # exponents go ahead by a window
        window = max(1, min(window, room // 2))
        room = max(1, room - window)
    blocks = max(draw.randint(1, room), draw.randint(1, room))
    last = mtu if draw.random() < 0.3 else draw.randrange(4, mtu + 1, 4)
    return Job(
        collective=protocol.name,
        size_bytes=(blocks - 1) * mtu + last,
        dtype=dtype,
        iterations=iterations,
        copies=copies,
        window_packets=window,
    )


def _with_timeout(draw: Random, scenario: Scenario) -> Scenario:
    """From hasty, where every packet is sent several times, to patient."""
    rto = round(travel_ns(scenario) * draw.choice((0.2, 0.6, 1, 2, 2, 4)))
    return replace(scenario, transport=replace(scenario.transport, rto_ns=max(_LEAST_RTO_NS, rto)))
