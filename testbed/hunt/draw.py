"""Schedules out of a seed: racks, jobs, transports and links; `draw_faults` adds the trouble.

Small on purpose: a hello and a few messages of a few packets. What breaks a protocol of windows breaks it in a small
one, and a hundred thousand small runs meet more interleavings than a hundred large ones.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TypeVar

from testbed.hunt.draw_fabric import FABRIC, RACK, draw_fabric
from testbed.hunt.draw_faults import draw_faults, is_sensible
from testbed.hunt.draw_link import draw_shape, other_shape
from testbed.hunt.draw_pfc import PFC, with_pfc
from testbed.hunt.plans import with_timers
from testbed.hunt.protocols import hunted_in, hunted_of
from testbed.hunt.recipes import FABRIC_RECIPES, RECIPES
from testbed.hunt.schedule import Schedule
from testbed.hunt.survival import RESERVE, may_fail, travel_ns, unsurvivable
from testbed.hunt.tape import draw_value
from testbed.scenario.geometry import INA_HEADER_BYTES, packet_bytes
from testbed.scenario.keys.job import Straggler
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from testbed.scenario.protocols.names import DEFAULT_PROGRAM
from topologies import LinkShape, Topology, rack
from workloads.rc.numbers import psn_of, rnr_wait_ns
from workloads.rc.recovery import rto_ns

__all__ = ["TRACE_EVERY", "draw_schedule", "draw_traced", "draw_transport", "link_shape", "with_timeout"]

T = TypeVar("T")

TRACE_EVERY = 8
"""schedules per traced one: a traced schedule records the steps of the tables"""
_AS_TRACED = 0.5
_FOLLOWS_RECIPE = 0.6
"""share of the traced ones"""
_TIME_LIMIT_NS = 60_000_000_000
_MOST_CONTRIBUTIONS = 64
"""packets of all hosts together, unless the dice want a large one"""
_MOST_FRAMES = 160
"""frames that enter or leave switches of a fabric when nothing is lost, unless the dice want a large one"""
_MOST_WAITS = 24
"""RNR timers in a row"""
_LENGTHS = {RACK: {1: 18, 2: 25, 3: 22, 4: 15, 5: 10, 6: 10}, FABRIC: {1: 38, 2: 34, 3: 16, 4: 8, 5: 2, 6: 2}}
"""packets of a message: short ones where there are few, so that windows go round"""
_WORKLOADS = {"synthetic": 50, "extreme": 10, "special": 40}
_LATE = 0.12
"""share of those whose receives may be posted late, so that senders meet RNR NAKs"""
_IRN = 0.3
"""share of those whose hosts use IRN"""
_PLAIN_IRN = 0.6
"""of those, without RACK"""
_MTUS = {256: 84, 512: 7, 1024: 5, 2048: 2, 4096: 2}
_QUEUES = {1000: 90, 16: 6, 6: 4}
_NEWER = {
    ", rto_low_ns=None, rto_high_ns=None": "", ", preset='paper'": "", "gain=None": "gain=0.00390625",
    "recovery_steps=None": "recovery_steps=5",
}  # fmt: skip
"""what keys look like now, and what they looked like when the recovery was first drawn: old seeds mean the schedules
that they meant"""


def draw_schedule(
    seed: int,
    number: int,
    base: Scenario | None = None,
    program: str = DEFAULT_PROGRAM,
    kind: str = RACK,
    recovery: str = "",
) -> Schedule:
    """Schedule `number` of hunt `seed`. With `base`: that scenario with other faults and another seed. Otherwise
    everything is drawn, over a topology of `kind` or for the datagram protocol of that name, and `program` runs on the
    switches. Of kind `pfc`, it is schedule `number` of racks with PFC around it, if its links allow that. `recovery`:
    of all drawn rings, in place of the drawn one."""
    if kind == PFC:
        plain = draw_schedule(seed, number, None, program, RACK, recovery)
        paused = with_pfc(plain.scenario, Random(f"lossless hunt {seed} {number}"))
        return plain if paused is None else Schedule(number, paused)
    draw = Random(f"hunt {seed} {number}" if kind == RACK else f"{kind} hunt {seed} {number}")
    traced = number % TRACE_EVERY == 0
    return Schedule(number, _drawn(draw, f"hunt-{seed}-{number}", traced, base, program, kind, recovery))


def draw_traced(
    draw: Random, seed: int, number: int, base: Scenario | None, program: str, kind: str, recovery: str
) -> Schedule:
    """As `draw_schedule`, from other dice, and traced whatever its number. Half of these schedules are drawn as
    untraced ones are: with fewer recipes and forgeries."""
    as_traced = draw.random() < _AS_TRACED
    scenario = _drawn(draw, f"hunt-{seed}-{number}", as_traced, base, program, kind, recovery)
    return Schedule(number, replace(scenario, trace=True))


def _drawn(
    draw: Random, name: str, traced: bool, base: Scenario | None, program: str, kind: str, recovery: str
) -> Scenario:
    # What comes next must be drawn in this order for ever, or old seeds mean other schedules.
    run_seed = draw.getrandbits(62)
    base = None if base is None else with_timers(base)
    hunted = hunted_of(kind) if base is None else hunted_in(base)
    if hunted is not None:
        scenario = hunted.hunt.draw(draw, hunted, base, program, traced=traced, seed=run_seed)
        return replace(scenario, name=name, seed=run_seed, trace=traced)
    scenario = _calm(draw, program, kind, recovery) if base is None else _free_of_faults(base)
    scenario = replace(scenario, name=name, seed=run_seed, world="simulated", trace=traced, capture=True, source="")
    if base is None:
        scenario = with_timeout(draw, scenario)
    if traced and base is None and draw.random() < _FOLLOWS_RECIPE:
        cooked = draw.choice(RECIPES if kind == RACK else FABRIC_RECIPES)(draw, scenario)
        if is_sensible(cooked) and (may_fail(cooked) or not unsurvivable(cooked)):
            return cooked
    return draw_faults(draw, scenario)


def _weighted(draw: Random, weights: dict[T, int]) -> T:
    return draw.choices(list(weights), list(weights.values()))[0]


def _free_of_faults(base: Scenario) -> Scenario:
    """With time enough to recover: a file's own limit is for its own faults."""
    return replace(base, faults=(), time_limit_ns=max(base.time_limit_ns, _TIME_LIMIT_NS))


def _calm(draw: Random, program: str, kind: str, recovery: str) -> Scenario:
    if kind == FABRIC:
        return _calm_fabric(draw, program, recovery)
    hosts = _weighted(draw, {2: 26, 3: 26, 4: 20, 5: 10, 6: 7, 7: 5, 8: 6})
    mtu = _weighted(draw, _MTUS)
    most = _MOST_CONTRIBUTIONS * _weighted(draw, {1: 95, 3: 5}) * 256 // mtu
    job = _job(draw, max(2, most // hosts), mtu, kind)
    shape = link_shape(draw, mtu, _QUEUES)
    overrides = {f"h{draw.randint(1, hosts)}-s1": other_shape(draw, shape)} if draw.random() < 0.25 else {}
    return _assembled(draw, program, rack(hosts, shape, overrides), shape, mtu, job, recovery)


def _calm_fabric(draw: Random, program: str, recovery: str) -> Scenario:
    mtu = _weighted(draw, _MTUS)
    shape = link_shape(draw, mtu, _QUEUES)
    topology = draw_fabric(draw, shape)
    hosts, leaves = len(topology.hosts), sum(node.part == "leaf" for node in topology.nodes)
    # A packet and its ACK enter and leave one switch; a boundary's, three.
    most = _MOST_FRAMES * _weighted(draw, {1: 94, 4: 6}) // (4 * hosts + 8 * leaves) * 256 // mtu
    job = _job(draw, max(3, most), mtu, FABRIC)
    # A rack's sum that clamps is refused; credit by the ACK alone lets a boundary's sender run ahead of its own leaf.
    dtype, credit = (
        "int32" if job.dtype == "int32sat" else job.dtype,
        "received" if job.credit == "acked" else job.credit,
    )
    return _assembled(draw, program, topology, shape, mtu, replace(job, dtype=dtype, credit=credit), recovery)


def _assembled(
    draw: Random, program: str, topology: Topology, shape: LinkShape, mtu: int, job: Job, recovery: str
) -> Scenario:
    hosts = len(topology.hosts)
    return Scenario(
        name="hunt",
        topology=topology,
        link=shape,
        transport=draw_transport(draw, mtu, recovery),
        switch=SwitchOptions(program=program, release=_weighted(draw, {"order": 85, "asap": 15})),
        job=replace(job, straggler=Straggler(draw.randrange(hosts), 1)) if draw.random() < 0.08 else job,
        time_limit_ns=_TIME_LIMIT_NS,
    )


def _job(draw: Random, packets: int, mtu: int, kind: str) -> Job:
    """At most about `packets` packets per host."""
    length, window = _weighted(draw, _LENGTHS[kind]), draw.choice((1, 1, 2, 2, 2, 3, 4))
    iterations = _weighted(draw, {1: 70, 2: 22, 3: 8})
    messages = max(1, min(draw.randint(2, 8), packets // (length * iterations)))
    room = length * mtu - INA_HEADER_BYTES
    last = room if draw.random() < 0.3 else draw.randrange(4, room + 1, 4)
    dtype = draw_value(draw, {"float32": 45, "int32": 40, "int32sat": 15})
    return Job(
        size_bytes=(messages - 1) * room + last,
        dtype=dtype,
        workload=draw_value(draw, _WORKLOADS),
        op=draw_value(draw, {"sum": 84, "max": 8, "xor": 8}),
        iterations=iterations,
        message_packets=length,
        window_messages=window,
        credit=_weighted(draw, {"both": 70, "received": 15, "acked": 15}),
        hello=draw.random() < 0.8,
    )


def _with_recovery(transport: Transport, recovery: str) -> Transport:
    """IRN for a part of all schedules, for some of them with RACK, unless the recovery is fixed. Drawn from what is
    drawn already, so that nothing else of a schedule depends on it."""
    known = repr(replace(transport, timeout_code=15, rto_ns=10_000_000))
    for now, before in _NEWER.items():
        known = known.replace(now, before)
    share = Random(known).random() / _IRN
    drawn = recovery or ("gbn" if share >= 1 else "irn" if share < _PLAIN_IRN else "irn-rack")
    if drawn == "gbn":
        return transport
    return replace(transport, recovery=drawn, verb="write", receive_late_ns=0)


def draw_transport(draw: Random, mtu: int, recovery: str) -> Transport:
    """`recovery`: of all connections; empty: it is drawn."""
    near_wrap = psn_of(-draw.randrange(1, 40))
    late = draw.random() < _LATE
    drawn = Transport(
        path_mtu=mtu,
        verb=draw.choice(("write", "send")),
        retry_count=_weighted(draw, {7: 75, 6: 13, 5: 9, 0: 1, 1: 1, 3: 1}),
        rnr_retry=draw.choice((0, 1, 7)) if late and draw.random() < 0.3 else 7,
        rnr_timer_code=draw.randint(1, 8),
        ack_every=draw.choice((1, 2, 4, 16)),
        start_psn=_weighted(draw, {near_wrap: 60, None: 20, 0: 10, (1 << 23) - draw.randrange(20): 10}),
        receive_late_ns=1 if late else 0,
    )
    return _with_recovery(drawn, recovery)


def link_shape(draw: Random, mtu: int, queues: dict[int, int]) -> LinkShape:
    """For RoCE packets of `mtu` bytes of payload. `queues`: lengths with weights."""
    need, _ = packet_bytes(Transport(path_mtu=mtu))
    return draw_shape(draw, need, queues)


def with_timeout(draw: Random, scenario: Scenario) -> Scenario:
    """`scenario` with an RTO, and with the times that are drawn as shares of it."""
    wanted = draw.choice((8, 8, 12, 24)) * travel_ns(scenario)
    code = next(code for code in range(1, 32) if (rto_ns(code) or 0) >= wanted)
    rto = rto_ns(code) or 0
    transport, job = replace(scenario.transport, timeout_code=code), scenario.job
    share = max(1, transport.retry_count - RESERVE) * rto // 4
    if transport.receive_late_ns:
        late = draw.randint(1, share)
        timers = [code for code in range(1, 17) if rnr_wait_ns(code) <= share] or [1]
        transport = replace(transport, receive_late_ns=late, rnr_timer_code=draw.choice(timers))
        if len(scenario.topology.switches) > 1:  # each time it is over, a packet crosses the fabric for nothing
            most = _MOST_WAITS * rnr_wait_ns(transport.rnr_timer_code)
            transport = replace(transport, receive_late_ns=min(late, most))
    if job.straggler is not None:
        job = replace(job, straggler=replace(job.straggler, delay_ns=draw.randint(1, share)))
    return replace(scenario, transport=transport, job=job)
